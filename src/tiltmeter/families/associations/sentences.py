"""Associations in whole sentences (BEC-Pro): does a profession make a word for men likelier than one for women?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from tiltmeter.benchmarks.kit.association import MaskedSentence
from tiltmeter.families.associations.facts import Facts, fact
from tiltmeter.families.associations.kurita import MEASURE as DIFFERENCE
from tiltmeter.measures.ilps import ilps
from tiltmeter.probes.templates import TemplateProbe
from tiltmeter.probes.views import Query

LOST = "a word that the vocabulary cannot spell, or a sentence that does not fit"
SEVERAL = "words of several pieces, of which the first was scored"
INCREASE = "ilps"
SIDES = ("male", "female")


def ask_sentences(probe: TemplateProbe, sentences: Sequence[MaskedSentence]) -> Facts:
    """For every attribute the mean increase of either side's words, and the difference of the two. For masked models."""
    facts, increases = Facts(), _increases(probe, sentences)
    sets = dict.fromkeys((sentence.set, sentence.attribute) for sentence in sentences)
    for of_set, attribute in sets:
        means = [_mean(increases[side, of_set, attribute]) for side in SIDES]
        for side, value in zip(SIDES, means, strict=True):
            facts.rows.append(_row("ilps", of_set, INCREASE, attribute, value, domain="gender", test=of_set, set=side))
        label, value = "-".join(SIDES), means[0] - means[1]
        facts.rows.append(_row("kurita", label, DIFFERENCE, attribute, value, test=of_set, set=label))
    lost = len(sentences) - sum(map(len, increases.values()))
    several = {one.word for one in sentences if len(probe.pieces(one.word, one.sentence, "[MASK]")) > 1}
    facts.notes += +Counter({f"sentences not queried: {LOST}": lost, SEVERAL: len(several)})
    return facts


def _row(kind: str, scorer: str, quantity: str, attribute: str, value: float, **place: str) -> dict[str, object]:
    is_finite = bool(np.isfinite(value))
    return fact(
        kind, scorer, category=place["test"], text=attribute, quantity=quantity, value=value, usable=is_finite,
        reason=None if is_finite else LOST, **place,
    )  # fmt: skip


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def _increases(probe: TemplateProbe, sentences: Sequence[MaskedSentence]) -> dict[tuple[str, str, str], list[float]]:
    """Side, set and attribute → the increases of all sentences that could be queried."""
    questions: list[tuple[MaskedSentence, tuple[Query, Query]]] = []
    for sentence in sentences:
        pieces = probe.pieces(sentence.word, sentence.sentence, "[MASK]")
        given, prior = (probe.first_mask(text, pieces) for text in (sentence.sentence, sentence.prior))
        if given and prior:
            questions.append((sentence, (given, prior)))
    values = iter(probe.read([query for _, pair in questions for query in pair]))
    increases: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for sentence, _ in questions:
        increases[sentence.side, sentence.set, sentence.attribute].append(float(ilps(next(values), next(values))))
    return increases
