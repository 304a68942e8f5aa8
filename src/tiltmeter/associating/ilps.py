"""ILPS: what a group's presence adds to the log-probability of attributes, per group, and its variance over a domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from tiltmeter.associating._rows import Floats, Found, Row, correct, estimate_row, interval, reasons_text
from tiltmeter.associating.domains import domain_row
from tiltmeter.benchmarks._association import FEWEST, AssociationBenchmark, Group, Polarity, WordSet
from tiltmeter.group_estimating import Settings
from tiltmeter.measures.ilps import ilps as mean_increase
from tiltmeter.probes.embeddings import Advance
from tiltmeter.probes.templates import ATTRIBUTE, TemplateProbe
from tiltmeter.probes.views import Query
from tiltmeter.resampling import generator
from tiltmeter.significance import sign_flip_p


def ilps(
    probe: TemplateProbe,
    benchmark: AssociationBenchmark,
    groups: Sequence[Group],
    settings: Settings,
    advance: Advance | None = None,
) -> Found:
    """Every group against both poles of every set of attributes; the group's score in the papers is the second pole's."""
    found = Found()
    measure = "ilps" if probe.model.kind == "masked" else "ilps_causal"
    poles = [(polarity, pole) for polarity in benchmark.polarities for pole in (polarity.b, polarity.a)]
    asks = _masked_asks if probe.model.kind == "masked" else _causal_asks
    asked = [[list(asks(probe, benchmark, group, pole)) for group in groups] for _, pole in poles]
    # All in one go: a pass then serves every group, and the prior is asked once.
    values = iter(probe.read([query for some in asked for one in some for _, pair in one for query in pair], advance))
    for (polarity, pole), some in zip(poles, asked, strict=True):
        increases = {
            group.name: _increases(probe, [at for at, _ in one], values, len(pole.examples))
            for group, one in zip(groups, some, strict=True)
        }
        _report(found, measure, groups, (polarity, pole), increases, settings)
        wanted = len(benchmark.templates) * len(pole.examples) * sum(len(group.words) for group in groups)
        found.notes += +Counter({"templates that could not be asked": wanted - sum(map(len, some))})
    return found


def _report(
    found: Found,
    measure: str,
    groups: Sequence[Group],
    asked: tuple[Polarity, WordSet],
    increases: dict[str, Floats],
    settings: Settings,
) -> None:
    """Rows of one pole: every group, corrected together, then the domains."""
    polarity, pole = asked
    scorer = f"{polarity.name}:{pole.category}"
    rows = [_group_row(measure, group, scorer, increases[group.name], settings) for group in groups]
    correct(rows)
    found.rows += rows
    for domain in dict.fromkeys(group.domain for group in groups):
        named = [group.name for group in groups if group.domain == domain]
        scores = np.stack([increases[name] for name in named])
        found.rows.append(domain_row(domain, scorer, scores, settings))
    found.facts += [
        {"test": polarity.name, "set": name, "category": pole.category, "text": word, "quantity": measure, "value": value}
        for name, values in increases.items()
        for word, value in zip(pole.examples, values.tolist(), strict=True)
    ]


def _group_row(measure: str, group: Group, scorer: str, increases: Floats, settings: Settings) -> Row:
    """A group's mean over attributes. The attributes are drawn anew for the interval, their signs flipped for p."""
    there = increases[np.isfinite(increases)]
    lost = Counter(
        {
            "an attribute or group that the vocabulary cannot spell, or a template that does not fit": len(increases)
            - len(there)
        }
    )
    row = estimate_row(measure, "group", group.name, scorer, n=len(there), **reasons_text(+lost))
    if len(there) < FEWEST:
        return row | {"note": f"refused: {len(there)} usable attributes; {FEWEST} are the least"}
    rng = generator(settings.seed, measure, scorer, group.name)
    draws = there[rng.integers(0, len(there), (settings.resamples, len(there)))].mean(axis=1)
    value = float(mean_increase(there, np.zeros_like(there)))
    return row | {"value": value, "p": sign_flip_p(there, rng), **interval(draws, settings.confidence)}


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
    """As many masks as the attribute has pieces; in the prior the group is one mask, however long it is."""
    for template in benchmark.templates:
        for at, attribute in enumerate(pole.examples):
            pieces = probe.pieces(attribute, template, ATTRIBUTE)
            prior = probe.masked(template, None, None, len(pieces), ATTRIBUTE) if pieces else None
            for word in group.words if prior else ():
                given = probe.masked(template, word, None, len(pieces), ATTRIBUTE)
                if given and prior:
                    yield at, (given._replace(tokens=pieces), prior._replace(tokens=pieces))


def _causal_asks(probe: TemplateProbe, benchmark: AssociationBenchmark, group: Group, pole: WordSet) -> Asked:
    """The rest of the sentence from the attribute on, given the group, and given a neutral word in its place."""
    for template in benchmark.templates:
        for at, attribute in enumerate(pole.examples):
            prior = probe.causal(template, benchmark.neutral, attribute)
            for word in group.words if prior else ():
                given = probe.causal(template, word, attribute)
                if given and prior and given.tokens == prior.tokens:
                    yield at, (given, prior)
