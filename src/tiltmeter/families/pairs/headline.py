"""Which of many numbers summarises a model on a benchmark of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tiltmeter import catalog
from tiltmeter.families.kit.detection import ranked
from tiltmeter.families.kit.primary import is_primary
from tiltmeter.families.kit.story import in_order

if TYPE_CHECKING:
    import pandas as pd

MEASURES = ("bias_score", "mean_preference", "ss", "lms", "icat", "kls", "jss", "jss_liu")
SCORERS = (
    "cps", "aul", "aula", "sss", "pll", "all_masked", "causal", "causal_mean", "stereoset_masked", "stereoset_causal",
)  # fmt: skip
"""One scorer of each idea; variants that follow published code come after them."""
HEADLINE = ("bias_score", "ss")
"""The measures that say in which direction a model leans."""
PAPERS = {"stereoset": ("stereoset_masked", "stereoset_causal"), "": ("cps", "causal")}
"""The scorers of the paper of a benchmark, by how its name begins; others are pairs as in CrowS-Pairs."""


def own_scorers(benchmark: str) -> tuple[str, ...]:
    """Return the scorers of a benchmark's own paper.

    >>> own_scorers("stereoset-intrasentence"), own_scorers("crows-pairs")
    (('stereoset_masked', 'stereoset_causal'), ('cps', 'causal'))
    """
    return next(names for begin, names in PAPERS.items() if benchmark.startswith(begin))


def first_scorer(measure: str, scorers: Sequence[str]) -> str:
    """Return the scorer that speaks for a measure where the items are unknown; of StereoSet's measures, StereoSet's own.

    >>> first_scorer("bias_score", ["aul", "cps", "pll"]), first_scorer("lms", ["aul", "stereoset_masked"])
    ('pll', 'stereoset_masked')
    """
    own = [name for name in scorers if name.startswith("stereoset") and measure in ("lms", "icat")]
    return (own or ordered_scorers(scorers, measure))[0]


def ordered_scorers(scorers: Sequence[str], measure: str = "bias_score", data: str = "", kind: str = "") -> list[str]:
    """Order scorers by the evidence that they detect bias, then as listed in `SCORERS`."""
    return ranked(in_order(sorted(set(scorers)), SCORERS), measure, data, kind)


def averaged_over_targets(benchmark: str) -> bool:
    """Return whether a benchmark's own score is averaged over targets, as for StereoSet; others count every pair alike."""
    return benchmark.startswith("stereoset")


def primary_measures(benchmark: str) -> tuple[str, ...]:
    """Return the measures that may speak for a benchmark, its own first."""
    return HEADLINE[::-1] if averaged_over_targets(benchmark) else HEADLINE


def headline(rows: pd.DataFrame) -> Any | None:
    """The overall row that summarises a model: the primary one, else a share of preferences by the best tested scorer."""
    overall = rows[(rows["by"] == "all") & rows["value"].notna() & rows["neutral"].notna()]
    for _, row in overall.iterrows():
        if is_primary(row):
            return row
    for measure in primary_measures(str(rows["benchmark"].iloc[0])):
        named = overall[overall["measure"] == measure]
        if len(named):
            return named[named["scorer"] == first_scorer(measure, list(named["scorer"]))].iloc[0]
    return None


def leaning(rows: pd.DataFrame) -> pd.DataFrame:
    """The tested overall rows of measures that are known here and declare that values above neutral are stereotypical."""
    overall = rows[(rows["by"] == "all") & rows["value"].notna() & rows["neutral"].notna() & rows["p"].notna()]
    known = [name for name in overall["measure"].unique() if name in catalog.names("measures")]
    return overall[overall["measure"].isin([name for name in known if catalog.find("measures", name).spec.leans])]


def types_of(rows: pd.DataFrame, head: Any) -> pd.DataFrame:
    """The rows by bias type with a headline's scorer and measure."""
    return _taken_apart(rows, head, "bias_type")


def directions_of(rows: pd.DataFrame, head: Any) -> pd.DataFrame:
    """The rows by direction with a headline's scorer and measure."""
    return _taken_apart(rows, head, "direction")


def _taken_apart(rows: pd.DataFrame, head: Any, by: str) -> pd.DataFrame:
    return rows[(rows["scorer"] == head["scorer"]) & (rows["measure"] == head["measure"]) & (rows["by"] == by)]
