"""Kurita's direction of ILPS: are one group's words likelier than another's, given an attribute, than without it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tiltmeter.associating._rows import Floats, Found, Row, correct, estimate_row, interval, reasons_text
from tiltmeter.benchmarks._association import FEWEST, Contrast, WordSet
from tiltmeter.group_estimating import Settings
from tiltmeter.measures.ilps_kurita import ilps_kurita
from tiltmeter.probes.templates import GROUP, TemplateProbe
from tiltmeter.probes.views import Query
from tiltmeter.resampling import generator
from tiltmeter.significance import sign_flip_p


def kurita(probe: TemplateProbe, contrasts: Sequence[Contrast], settings: Settings) -> Found:
    """One row per set of attributes; above 0 is towards the first group. For masked models."""
    found = Found()
    for contrast in contrasts:
        found.rows.append(_row(probe, contrast, settings, found))
    correct(found.rows)
    return found


def _row(probe: TemplateProbe, contrast: Contrast, settings: Settings, found: Found) -> Row:
    """The attributes are drawn anew for the interval, their signs flipped for p."""
    values = differences(probe, contrast)
    label = f"{contrast.first.category}-{contrast.second.category}"
    there = values[np.isfinite(values)]
    lost = +Counter({"a word that the vocabulary cannot spell, or a template that does not fit": len(values) - len(there)})
    row = estimate_row("ilps_kurita", "attributes", contrast.name, label, n=len(there), **reasons_text(lost))
    found.facts += [
        {
            "test": contrast.name,
            "set": label,
            "category": contrast.name,
            "text": word,
            "quantity": "ilps_kurita",
            "value": value,
        }
        for word, value in zip(contrast.attributes, values.tolist(), strict=True)
    ]
    if len(there) < FEWEST:
        return row | {"note": f"refused: {len(there)} usable attributes; {FEWEST} are the least"}
    rng = generator(settings.seed, "kurita", contrast.name)
    draws = there[rng.integers(0, len(there), (settings.resamples, len(there)))].mean(axis=1)
    return row | {"value": float(there.mean()), "p": sign_flip_p(there, rng), **interval(draws, settings.confidence)}


def differences(probe: TemplateProbe, contrast: Contrast) -> Floats:
    """The increased log-probability of the first group less the second's, one per attribute: the mean over templates."""
    asked: list[tuple[int, list[Query]]] = []
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
                asked.append((at, queries))
    values = iter(probe.read([query for _, queries in asked for query in queries]))
    total, count = np.zeros(len(contrast.attributes)), np.zeros(len(contrast.attributes))
    for at, _ in asked:  # probabilities of a group's words are summed inside the logarithm
        sums = [np.logaddexp.reduce(next(values), keepdims=True) for _ in range(4)]
        total[at] += float(ilps_kurita(*sums))
        count[at] += 1
    return np.asarray(np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0), dtype=np.float64)


def _first_pieces(probe: TemplateProbe, group: WordSet, template: str) -> tuple[int, ...]:
    """The first word piece of each of a group's words, as the paper reads them."""
    pieces = (probe.pieces(word, template, GROUP) for word in group.examples)
    return tuple(dict.fromkeys(one[0] for one in pieces if one))
