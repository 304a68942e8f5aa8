"""Which of many numbers summarises a model on a benchmark of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

MEASURES = ("bias_score", "ss", "lms", "icat", "kls", "jss", "jss_liu")
SCORERS = (
    "cps", "aul", "aula", "sss", "pll", "all_masked", "causal", "causal_mean", "stereoset_masked", "stereoset_causal",
)  # fmt: skip
"""One scorer of each idea first; variants that follow published code come after them."""
HEADLINE = {
    "bias_score": ("cps", "aul", "causal", "cps_nyu", "pll", "sss"),
    "ss": ("stereoset_masked", "stereoset_causal", "cps", "causal"),
}


def first_scorer(measure: str, scorers: Sequence[str]) -> str:
    """The scorer that speaks for a measure; of StereoSet's own measures, StereoSet's own scorer.

    >>> first_scorer("bias_score", ["pll", "cps", "aul"]), first_scorer("ss", ["aul", "stereoset_masked"])
    ('aul', 'stereoset_masked')
    """
    own = [name for name in scorers if name.startswith("stereoset") and measure in ("ss", "lms", "icat")]
    known = [name for name in ("aul", *SCORERS) if name in scorers]
    return (own or known or list(scorers))[0]


def averaged_over_targets(benchmark: str) -> bool:
    """Whether a benchmark's own score is averaged over targets, as for StereoSet; others count every pair alike."""
    return benchmark.startswith("stereoset")


def headline(rows: pd.DataFrame) -> Any | None:
    """The overall row that best summarises a model: a percentage of preferences by the most established scorer available."""
    overall = rows[(rows["by"] == "all") & rows["value"].notna() & rows["neutral"].notna()]
    averaged = averaged_over_targets(str(rows["benchmark"].iloc[0]))
    for measure in ("ss", "bias_score") if averaged else ("bias_score", "ss"):
        for scorer in (*HEADLINE[measure], *sorted(overall["scorer"].unique())):
            named = overall[(overall["measure"] == measure) & (overall["scorer"] == scorer)]
            if len(named):
                return named.iloc[0]
    return None


def types_of(rows: pd.DataFrame, head: Any) -> pd.DataFrame:
    """The rows by bias type with a headline's scorer and measure."""
    return _taken_apart(rows, head, "bias_type")


def directions_of(rows: pd.DataFrame, head: Any) -> pd.DataFrame:
    """The rows by direction with a headline's scorer and measure."""
    return _taken_apart(rows, head, "direction")


def _taken_apart(rows: pd.DataFrame, head: Any, by: str) -> pd.DataFrame:
    return rows[(rows["scorer"] == head["scorer"]) & (rows["measure"] == head["measure"]) & (rows["by"] == by)]
