"""ILPS: what a group's presence adds to the log-probability of attributes, per group, and its variance over a domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiltmeter import catalog
from tiltmeter.benchmarks.kit.association import AssociationBenchmark, Group, WordSet
from tiltmeter.families.associations.domains import domain_estimate
from tiltmeter.families.associations.facts import Facts, Floats, fact
from tiltmeter.families.associations.kurita import MEASURE as DIRECTION
from tiltmeter.families.associations.words import GroupQuestion, words_of
from tiltmeter.families.kit.questions import Question
from tiltmeter.probes.templates import ATTRIBUTE, TemplateProbe
from tiltmeter.probes.views import Query
from tiltmeter.probes.work import Advance
from tiltmeter.stats.design import generator
from tiltmeter.stats.estimates import Difference, Estimate
from tiltmeter.stats.samples import Measured
from tiltmeter.stats.sets import compare_means, estimate_mean
from tiltmeter.stats.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

LOST = "an attribute or group that the vocabulary cannot spell, or a template that does not fit"


def ask_ilps(
    probe: TemplateProbe, benchmark: AssociationBenchmark, groups: Sequence[Group], advance: Advance | None = None
) -> Facts:
    """Asks about every group with both poles of every set of attributes. The papers report the second pole's score."""
    facts = Facts()
    measure = "ilps" if probe.model.kind == "masked" else "ilps_causal"
    poles = [(polarity, pole) for polarity in benchmark.polarities for pole in (polarity.b, polarity.a)]
    asks = _masked_asks if probe.model.kind == "masked" else _causal_asks
    asked = [[list(asks(probe, benchmark, group, pole)) for group in groups] for _, pole in poles]
    # All at once: one pass then answers for every group, and the prior is asked once.
    queries = [query for of_pole in asked for of_group in of_pole for _, pair in of_group for query in pair]
    values = iter(probe.read(queries, advance))
    for (polarity, pole), of_pole in zip(poles, asked, strict=True):
        scorer = f"{polarity.name}:{pole.category}"
        for group, of_group in zip(groups, of_pole, strict=True):
            increases = _increases(probe, [at for at, _ in of_group], values, len(pole.examples))
            facts.rows += [
                fact(
                    "ilps", scorer, domain=group.domain, test=polarity.name, set=group.name, category=pole.category,
                    text=word, quantity=measure, value=value, usable=bool(np.isfinite(value)),
                    reason=None if np.isfinite(value) else LOST,
                )
                for word, value in zip(pole.examples, increases.tolist(), strict=True)
            ]  # fmt: skip
        wanted = len(benchmark.templates) * len(pole.examples) * sum(len(group.words) for group in groups)
        facts.notes += +Counter({"templates that could not be queried": wanted - sum(map(len, of_pole))})
    return facts


class AttributeQuestion(GroupQuestion):
    """A mean over the attributes of one group, or of a direction between two."""

    NOUN = "attribute"

    @property
    def few(self) -> list[tuple[str, int]]:
        """The group with its number of attributes, if that is too small."""
        return [(self.group, n) for _, n in super().few]

    @property
    def values(self) -> Floats:
        """The increases of the attributes."""
        return self.cell.values_of(self.cell.sets[0])

    @property
    def texts(self) -> NDArray[np.object_]:
        """The attributes that have values."""
        return self.cell.columns["text"][self.cell.complete]

    def variance(self, row: Estimate, questions: Sequence[AttributeQuestion], settings: Settings) -> Estimate:
        """Fill in the variance over groups of their means over the attributes that all groups share."""
        texts = dict.fromkeys(text for question in questions for text in question.cell.columns["text"])
        increases = [dict(zip(question.texts, question.values, strict=True)) for question in questions]
        scores = np.array([[values.get(text, np.nan) for text in texts] for values in increases])
        return domain_estimate(row, scores, settings)

    def estimated(self, others: Sequence[Question], settings: Settings) -> list[Measured]:
        """Resample attributes for the interval, and flip their signs for p."""
        label = ("kurita",) if self.by == "attributes" else (self.measure.name, self.cell.scorer)
        rng = generator(settings.seed, *label, self.group)
        return [Measured(estimate_mean(self.blank, self.measure, self.values, rng, settings))]

    def compared(self, row: Difference, theirs: AttributeQuestion, settings: Settings) -> Difference:
        """Resample the same attributes for both models, and flip the signs of their differences for p."""
        rng = generator(settings.seed, "compare", self.measure.name, self.cell.scorer, self.group)
        return compare_means(row, self.measure, np.stack([self.values, theirs.values]).T, rng, settings)


def attribute_questions(rows: pd.DataFrame) -> list[AttributeQuestion]:
    """A mean over the attributes of every set."""
    questions = []
    for words in words_of(rows, ("domain", "set")):
        quantity = str(words.columns["quantity"][0])
        about = ("attributes", words.test) if quantity == DIRECTION else ("group", words.sets[0])
        questions.append(AttributeQuestion(words, catalog.find("measures", quantity), *about))
    return questions


def _increases(probe: TemplateProbe, of: Sequence[int], values: Iterator[Floats], n: int) -> Floats:
    """log P(attribute | group) − log P(attribute | no group), one per attribute: the mean over words and templates."""
    reduce = np.mean if probe.model.kind == "masked" else np.sum  # pieces are one word, a tail is a sentence's rest
    total, count = np.zeros(n), np.zeros(n)
    for at in of:
        given, prior = next(values), next(values)
        total[at] += float(reduce(given) - reduce(prior))
        count[at] += 1
    return np.asarray(np.divide(total, count, out=np.full(n, np.nan), where=count > 0), dtype=np.float64)


Asked = Iterator[tuple[int, tuple[Query, Query]]]


def _masked_asks(probe: TemplateProbe, benchmark: AssociationBenchmark, group: Group, pole: WordSet) -> Asked:
    """Queries with as many masks as the attribute has pieces; in the prior the group is always one mask."""
    for template in benchmark.templates:
        for at, attribute in enumerate(pole.examples):
            pieces = probe.pieces(attribute, template, ATTRIBUTE)
            prior = probe.masked(template, None, None, len(pieces), ATTRIBUTE) if pieces else None
            for word in group.words if prior else ():
                given = probe.masked(template, word, None, len(pieces), ATTRIBUTE)
                if given and prior:
                    yield at, (given._replace(tokens=pieces), prior._replace(tokens=pieces))


def _causal_asks(probe: TemplateProbe, benchmark: AssociationBenchmark, group: Group, pole: WordSet) -> Asked:
    """Queries for the rest of the sentence from the attribute on, given the group or a neutral word in its place."""
    for template in benchmark.templates:
        for at, attribute in enumerate(pole.examples):
            prior = probe.causal(template, benchmark.neutral, attribute)
            for word in group.words if prior else ():
                given = probe.causal(template, word, attribute)
                if given and prior and given.tokens == prior.tokens:
                    yield at, (given, prior)
