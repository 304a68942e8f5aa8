"""Kurita's direction of ILPS: are one group's words likelier than another's, given an attribute, than without it?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tiltmeter.benchmarks.kit.association import Contrast, WordSet
from tiltmeter.families.associations.facts import Facts, Floats, fact
from tiltmeter.measures.ilps_kurita import ilps_kurita
from tiltmeter.probes.templates import GROUP, TemplateProbe
from tiltmeter.probes.views import Query

LOST = "a word that the vocabulary cannot spell, or a template that does not fit"
MEASURE = "ilps_kurita"


def ask_kurita(probe: TemplateProbe, contrasts: Sequence[Contrast]) -> Facts:
    """One row per attribute of each set; above 0 is towards the first group. For masked models."""
    facts = Facts()
    for contrast in contrasts:
        label = f"{contrast.first.category}-{contrast.second.category}"
        facts.rows += [
            fact(
                "kurita", label, test=contrast.name, set=label, category=contrast.name, text=word, quantity=MEASURE,
                value=value, usable=bool(np.isfinite(value)), reason=None if np.isfinite(value) else LOST,
            )
            for word, value in zip(contrast.attributes, differences(probe, contrast).tolist(), strict=True)
        ]  # fmt: skip
    return facts


def differences(probe: TemplateProbe, contrast: Contrast) -> Floats:
    """The increased log-probability of the first group minus the second's, per attribute: the mean over templates."""
    questions: list[tuple[int, list[Query]]] = []
    for template in contrast.templates:
        sides = [_first_pieces(probe, group, template) for group in (contrast.first, contrast.second)]
        for at, attribute in enumerate(contrast.attributes):
            masked = [probe.masked(template, None, given, 1, GROUP) for given in (attribute, None)]
            queries = [
                query._replace(columns=query.columns * len(tokens), tokens=tokens)
                for tokens in sides
                for query in masked
                if query and tokens
            ]
            if len(queries) == 4:
                questions.append((at, queries))
    values = iter(probe.read([query for _, queries in questions for query in queries]))
    total, count = np.zeros(len(contrast.attributes)), np.zeros(len(contrast.attributes))
    for at, _ in questions:  # probabilities of a group's words are summed inside the logarithm
        sums = [np.logaddexp.reduce(next(values), keepdims=True) for _ in range(4)]
        total[at] += float(ilps_kurita(*sums))
        count[at] += 1
    return np.asarray(np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0), dtype=np.float64)


def _first_pieces(probe: TemplateProbe, group: WordSet, template: str) -> tuple[int, ...]:
    """The first word piece of each of a group's words, as the paper reads them."""
    pieces = (probe.pieces(word, template, GROUP) for word in group.examples)
    return tuple(dict.fromkeys(tokens[0] for tokens in pieces if tokens))
