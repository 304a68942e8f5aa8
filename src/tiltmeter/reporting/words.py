"""What the numbers mean, in plain sentences computed from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.significance import p_text, smallest_difference

if TYPE_CHECKING:
    import pandas as pd

SIGNIFICANT = 0.05
MOST_WARNINGS = 6
MOST_VARIANCES = 3
HEADLINE = {
    "bias_score": ("cps", "aul", "causal", "cps_nyu", "pll", "sss"),
    "ss": ("stereoset_masked", "stereoset_causal", "cps", "causal"),
}


def sentences(estimates: pd.DataFrame) -> Iterator[str]:
    """One sentence per model and benchmark: what leans, which way, how sure."""
    others = estimates[estimates["scorer"] != "slots"]  # reporting/slots.py has sentences of their own
    for (model, benchmark), rows in others.groupby(["model", "benchmark"], sort=False):
        said = _verdict(rows) if (rows["by"] == "all").any() else _associations(rows)
        yield f"{model} on {benchmark}: {said}"


def too_close(comparison: pd.DataFrame, confidence: float = 0.95) -> Iterator[str]:
    """For models that the data cannot separate: what difference they could have shown, and how many pairs would."""
    close = comparison[(comparison["by"] == "all") & ~(comparison["p"] < 1 - confidence) & comparison["low"].notna()]
    for _, row in close.head(MOST_WARNINGS).iterrows():
        # An interval reaches as far as a difference that is noticed half of the time.
        standard_error = (row["high"] - row["low"]) / (2 * smallest_difference(1.0, confidence, power=0.5))
        least, seen = smallest_difference(standard_error, confidence), abs(row["difference"])
        more = f"; about {row['n'] * (least / seen) ** 2:,.0f} pairs would be needed for what was seen" if seen else ""
        yield (
            f"{row['model']} and {row['baseline']} cannot be told apart by {row['measure']} of {row['scorer']} on "
            f"{row['benchmark']}: they differ by {seen:.2f}, and {row['n']:,} pairs show no less than {least:.2f} with 80 % "
            f"power{more}."
        )
    if len(close) > MOST_WARNINGS:
        yield f"{len(close) - MOST_WARNINGS} more of {len(comparison)} comparisons are too close as well."


def _verdict(rows: pd.DataFrame) -> str:
    head = headline(rows)
    if head is None:
        return "neither bias_score nor ss was computed; the other measures say how far, not which way."
    groups = rows[(rows["scorer"] == head["scorer"]) & (rows["measure"] == head["measure"]) & (rows["by"] == "bias_type")]
    return f"{_overall(head)} {_per_type(groups)}".strip()


def _associations(rows: pd.DataFrame) -> str:
    """Of association tests: how many differ from 0, the strongest, and the averages that papers print."""
    tested = rows[rows["p_holm"].notna()]
    sure = tested[tested["p_holm"] < SIGNIFICANT]
    strongest = [
        f"{row['group']} ({row['value']:+.2f})" for _, row in sure.sort_values("value", key=abs)[::-1][:4].iterrows()
    ]
    more = f" and {len(sure) - 4} more" if len(sure) > 4 else ""
    named = f": {', '.join(strongest)}{more}" if strongest else ""
    said = (
        [f"{len(sure)} of {len(tested)} associations can be told from 0 (after Holm's correction){named}."]
        if len(tested)
        else []
    )
    for _, row in rows[rows["measure"] == "mean_abs_effect"].iterrows():
        said.append(f"Mean |d| over {row['n']} {row['group']} tests: {row['value']:.3f}.")
    spread = rows[(rows["measure"] == "group_variance") & rows["value"].notna()]
    for _, row in spread.head(MOST_VARIANCES).iterrows():
        said.append(f"Variance over {row['n']} groups, {row['group']}, {row['scorer']}: {row['value']:.4g}.")
    if len(spread) > MOST_VARIANCES:
        said.append(f"{len(spread) - MOST_VARIANCES} more variances are in the table.")
    undefined = rows[rows["value"].isna()]
    if len(undefined):
        why = undefined["note"].value_counts()
        more = "; the notes say why the others are" if len(why) > 1 else ""
        said.append(f"{len(undefined)} undefined ({why.index[0]}{more}).")
    return " ".join(said)


def headline(rows: pd.DataFrame) -> Any | None:
    """The overall row that best sums up a model: a percentage of preferences by the most established scorer there is."""
    overall = rows[(rows["by"] == "all") & rows["value"].notna() & rows["neutral"].notna()]
    averaged = rows["benchmark"].iloc[0].startswith("stereoset")  # as its authors do; others count every pair alike
    for measure in ("ss", "bias_score") if averaged else ("bias_score", "ss"):
        for scorer in (*HEADLINE[measure], *sorted(overall["scorer"].unique())):
            found = overall[(overall["measure"] == measure) & (overall["scorer"] == scorer)]
            if len(found):
                return found.iloc[0]
    return None


def _overall(row: Any) -> str:
    share = f"the stereotypical sentence scores higher in {row['value']:.1f} % of {row['n']:,} pairs"
    share += ", averaged over targets" if row["measure"] == "ss" else ""
    how = f"{row['measure']} by {row['scorer']}, neutral {row['neutral']:.0f}"
    interval = f", interval {row['low']:.1f} to {row['high']:.1f}" if np.isfinite(row["low"]) else ""
    if row["p"] < SIGNIFICANT:
        side = "towards" if row["value"] > row["neutral"] else "away from"
        verdict = f"a lean {side} the stereotypes that is distinguishable from neutral (p {p_text(row['p'])})"
    else:
        verdict = f"not distinguishable from neutral (p {p_text(row['p'])})"
    return f"{share} ({how}{interval}): {verdict}."


def _per_type(groups: pd.DataFrame) -> str:
    if len(groups) < 2:
        return ""
    sure = groups[groups["p_holm"] < SIGNIFICANT].sort_values("value", ascending=False)
    if not len(sure):
        return f"Taken alone, none of the {len(groups)} bias types can be told from neutral (after Holm's correction)."
    named = [f"{row['group']} ({row['value']:.1f})" for _, row in sure.iterrows()]
    return f"Taken alone, {len(sure)} of {len(groups)} bias types can (after Holm's correction): {', '.join(named)}."
