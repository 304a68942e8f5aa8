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
MOST_NAMED = 4
DIFFERENCE = "|difference|"
HEADLINE = {
    "bias_score": ("cps", "aul", "causal", "cps_nyu", "pll", "sss"),
    "ss": ("stereoset_masked", "stereoset_causal", "cps", "causal"),
}


def sentences(estimates: pd.DataFrame) -> Iterator[str]:
    """One sentence per model and benchmark: what leans, which way, how sure."""
    others = estimates[estimates["scorer"] != "slots"]  # reporting/slots.py has sentences of their own
    for (model, benchmark), rows in others.groupby(["model", "benchmark"], sort=False):
        said = " ".join(verdict(rows)) if (rows["by"] == "all").any() else _associations(rows)
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


def verdict(rows: pd.DataFrame) -> list[str]:
    """Of one model on one benchmark of pairs: the lean, then the parts, the directions and the other scorers."""
    head = headline(rows)
    if head is None:
        return ["neither bias_score nor ss was computed; the other measures say how far, not which way."]
    alike = rows[rows["measure"] == head["measure"]]
    said = (_overall(head), _per_type(types_of(rows, head)), _per_direction(rows, head), _by_other_scorers(alike, head))
    return [one for one in said if one]


def types_of(rows: pd.DataFrame, head: Any) -> pd.DataFrame:
    """The bias types of what a headline is about."""
    return rows[(rows["scorer"] == head["scorer"]) & (rows["measure"] == head["measure"]) & (rows["by"] == "bias_type")]


def _associations(rows: pd.DataFrame) -> str:
    """Of association tests: how many find something, the strongest, and the averages that papers print."""
    tested = rows[rows["p_holm"].notna()]
    expecting = tested["by"] == "test"  # X against Y is asked one way only, as published
    said = [*_found(tested[expecting], "tests find the association they look for (one-sided p,")]
    said += _reversed(tested[expecting])
    said += _found(tested[~expecting], "associations can be told from 0 (p")
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


def _found(tested: pd.DataFrame, what: str) -> Iterator[str]:
    if not len(tested):
        return
    sure = tested[tested["p_holm"] < SIGNIFICANT].sort_values("value", key=abs)[::-1]
    several = tested["scorer"].nunique() > 1
    strongest = [
        f"{row['group']}{' by ' + row['scorer'] if several else ''} ({row['value']:+.2f})"
        for _, row in sure[:MOST_NAMED].iterrows()
    ]
    more = f" and {len(sure) - MOST_NAMED} more" if len(sure) > MOST_NAMED else ""
    named = f": {', '.join(strongest)}{more}" if strongest else ""
    yield f"{len(sure)} of {len(tested)} {what} after Holm's correction){named}."


def _reversed(tested: pd.DataFrame) -> Iterator[str]:
    """A one-sided p near 1 must not hide an association that is strong the other way round."""
    below = tested[tested["high"] < 0]
    if len(below):
        named = ", ".join(f"{row['group']} ({row['value']:+.2f})" for _, row in below[:MOST_NAMED].iterrows())
        more = f" and {len(below) - MOST_NAMED} more" if len(below) > MOST_NAMED else ""
        yield f"The other way round, with an interval wholly below 0: {named}{more}."


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
    share += f" ({row['n_missing']:,} more are missing)" if row.get("n_missing", 0) > 0 else ""
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
    """Which bias types lean, and which way: leans of opposite ways cancel in the overall number."""
    if len(groups) < 2:
        return ""
    sure = groups[groups["p_holm"] < SIGNIFICANT].sort_values("value", ascending=False)
    if not len(sure):
        return f"Taken alone, none of the {len(groups)} bias types can be told from neutral (after Holm's correction)."
    above = sure["value"] > sure["neutral"]
    ways = ((sure[above], "towards the stereotypes"), (sure[~above], "away from the stereotypes"))
    named = [f"{_listed(rows)} {way}" for rows, way in ways if len(rows)]
    return (
        f"Taken alone, {len(sure)} of {len(groups)} bias types can be told from neutral (after Holm's correction): "
        f"{'; '.join(named)}."
    )


def _listed(rows: pd.DataFrame) -> str:
    return ", ".join(f"{row['group']} ({row['value']:.1f})" for _, row in rows.iterrows())


def _per_direction(rows: pd.DataFrame, head: Any) -> str:
    gap = direction_gap(rows, head)
    if gap is None:
        return ""
    ours = rows[(rows["scorer"] == head["scorer"]) & (rows["measure"] == head["measure"]) & (rows["by"] == "direction")]
    value = dict(zip(ours["group"], ours["value"], strict=True))
    return (
        f"Stereotypes about disadvantaged groups are preferred in {value['disadvantaged']:.1f} % of pairs, about advantaged "
        f"ones in {value['advantaged']:.1f} %: not alike (difference {gap['value']:.1f}, p {p_text(gap['p'])})."
    )


def direction_gap(rows: pd.DataFrame, head: Any) -> Any | None:
    """The difference between stereotypes about advantaged and about disadvantaged groups, where one can be told."""
    ours = rows[(rows["scorer"] == head["scorer"]) & (rows["measure"] == head["measure"]) & (rows["by"] == "direction")]
    found = ours[(ours["group"] == DIFFERENCE) & (ours["p"] < SIGNIFICANT)]
    return found.iloc[0] if len(found) else None


def _by_other_scorers(alike: pd.DataFrame, head: Any) -> str:
    """How many of the other scorers say the same: one scorer is one way to ask."""
    others = alike[(alike["by"] == "all") & (alike["scorer"] != head["scorer"]) & alike["p"].notna()]
    sure = others[others["p"] < SIGNIFICANT]
    towards, away = int((sure["value"] > sure["neutral"]).sum()), int((sure["value"] < sure["neutral"]).sum())
    ways = ((towards, "towards the stereotypes"), (away, "away from the stereotypes"))
    told = [f"{n} lean{'s' * (n == 1)} {way}" for n, way in ways if n]
    unsure = len(others) - towards - away
    told += [f"{unsure} cannot be told from neutral"] if unsure else []
    many = f"Of {len(others)} other scorer{'s' * (len(others) > 1)}, "
    return f"{many}{', '.join(told)} (p < {SIGNIFICANT}, each taken alone)." if len(others) else ""
