"""The metrics of Cao et al. (2022) by their names, and their Tables 1 to 3 in their form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isnan
from typing import TYPE_CHECKING, NamedTuple

from tiltmeter.display import signed_text

if TYPE_CHECKING:
    import pandas as pd

NAMES = {
    "STEREOSET": r"stereoset-groups( pll| causal)?",
    "CEAT": r"ceat(-labels)? \S*valence",
    "CEAT_TOX": r"ceat(-labels)? \S*toxicity",
    "ILPS": r"ilps(-cao)? valence:unpleasant",
    "TOXD": r"(jigsaw|madlibs) at 0\.5 fpr_variance",
    "HATEX": r"hatexplain at 0\.5 fpr_variance",
    "B-TOX": r"bold toxicity/\S+ score_variance",
    "B-SENT": r"bold sentiment/\S+ score_variance",
    "B-REGARD": r"bold regard/\S+ score_variance",
    "B-STEREO": r"bold(-stereotype)? stereotype/\S+ score_variance",
}
"""Counterpart of each metric here: the benchmark, the scorer or judge, and the measure."""
ABSENT = (("B-REGARD", "religion"),)
"""The regard data says nothing of religion, so the paper leaves it out."""


class Printed(NamedTuple):
    """A table of the paper: which extrinsic metrics stand against which intrinsic ones."""

    extrinsic: tuple[str, ...]
    intrinsic: tuple[str, ...]


TOXIC = ("TOXD", "HATEX", "B-TOX", "B-SENT")
TABLES = {
    "table_1": Printed(TOXIC, ("CEAT", "ILPS")),
    "table_2": Printed(("B-STEREO", "B-REGARD"), ("STEREOSET",)),
    "table_3": Printed(TOXIC, ("CEAT_TOX",)),
}
PAIRS = [(a, b) for table in TABLES.values() for a in table.intrinsic for b in table.extrinsic]


def paper_name(metric: str) -> str | None:
    """Return the paper's name of a metric.

    >>> paper_name("bold sentiment/vader score_variance"), paper_name("crows-pairs aul")
    ('B-SENT', None)
    """
    return next((name for name, form in NAMES.items() if re.fullmatch(form, metric)), None)


def as_in_the_paper(points: pd.DataFrame) -> pd.DataFrame:
    """The scores of the paper's metrics, under its names."""
    named = points.assign(metric=[paper_name(name) or "" for name in points["metric"]])
    absent = [pair in ABSENT for pair in zip(named["metric"], named["domain"], strict=True)]
    kept = named[(named["metric"] != "") & ~named.index.isin(named.index[absent])]
    return kept.drop_duplicates(["model", "metric", "domain"]).reset_index(drop=True)


def printed_tables(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The tables for which there is at least one correlation: r; *: p < .05, **: also Holm-corrected; –: there is none."""
    import pandas as pd

    cells = {(row.domain, row.a, row.b): shown(row.r, row.p, row.p_holm) for row in table.itertuples()}
    domains = list(dict.fromkeys(table["domain"]))
    for name, (extrinsic, intrinsic) in TABLES.items():
        if any((domain, a, b) in cells for domain in domains for a in intrinsic for b in extrinsic):
            columns = {
                f"{domain} · {a}": [cells.get((domain, a, b), "–") for b in extrinsic]
                for domain in domains
                for a in intrinsic
            }
            yield name, pd.DataFrame({"metric": list(extrinsic), **columns})


def shown(r: float, p: float, p_holm: float) -> str:
    """A correlation as a cell.

    >>> shown(0.714, 0.03, 0.2), shown(-0.9, 0.001, 0.01), shown(float("nan"), 1, 1)
    ('+0.71*', '−0.90**', '–')
    """
    return "–" if isnan(r) else f"{signed_text(r, 2)}{'**' if p_holm < 0.05 else '*' if p < 0.05 else ''}"
