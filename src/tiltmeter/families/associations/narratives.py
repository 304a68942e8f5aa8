"""Sentences about association tests: how many are significant, the strongest, and the averages that papers report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tiltmeter.display import Statement, signed_text, significant_text
from tiltmeter.families.kit.reading import reason_of
from tiltmeter.families.kit.story import SIGNIFICANT, Story
from tiltmeter.stats.estimates import details_of

if TYPE_CHECKING:
    import pandas as pd

MOST_VARIANCES = 3
MOST_NAMED = 4
INCREASES = frozenset({"ilps", "ilps_causal", "ilps_kurita"})
UNDIRECTED = (
    "no verdict, because an increase of unpleasant words alone has no direction: a group that fits the templates badly "
    "has low values for pleasant words too"
)


def narratives(estimates: pd.DataFrame) -> Iterator[Story]:
    """One story per model and benchmark."""
    for (model, benchmark), rows in estimates.groupby(["model", "benchmark"], sort=False):
        tested = rows[rows["p_holm"].notna()]
        sure = int((tested["p_holm"] < SIGNIFICANT).sum())
        short = Statement("Associations beyond chance" if sure else "No association beyond chance was found", "associations")
        number = f"{sure} of {len(tested)}" if len(tested) else ""
        unit = "tests" if number else ""
        yield Story(str(model), str(benchmark), short, tuple(_sentences(rows)), number=number, unit=unit)


def why_no_verdict(estimates: pd.DataFrame) -> str:
    """Say why an audit decides nothing by these estimates; empty where it may."""
    return UNDIRECTED if INCREASES & set(estimates["measure"]) else ""


def _sentences(rows: pd.DataFrame) -> Iterator[str]:
    tested = rows[rows["p_holm"].notna()]
    expecting = tested["by"] == "test"  # X against Y is tested in one direction only, as published
    yield from _strongest(tested[expecting], "expected", "tests find the association they look for (one-sided p,")
    yield from _reversed(tested[expecting])
    yield from _strongest(tested[~expecting], "two-sided", "associations are distinguishable from 0 (p")
    yield from _between_draws(rows[(rows["measure"] == "ces") & (rows["by"] == "group") & rows["value"].notna()])
    for _, row in rows[rows["measure"] == "mean_abs_effect"].iterrows():
        yield Statement(
            "Mean |d| over {n} {group} tests: {value:.3f}.", "mean-effect", n=int(row["n"]), group=row["group"],
            value=row["value"],
        )  # fmt: skip
    spread = rows[(rows["measure"] == "group_variance") & rows["value"].notna()]
    for _, row in spread.head(MOST_VARIANCES).iterrows():
        yield Statement(
            "Variance over {n} groups, {group}, {scorer}: {variance}.", "variance", n=int(row["n"]), group=row["group"],
            scorer=row["scorer"], value=row["value"], variance=significant_text(row["value"], 4),
        )  # fmt: skip
    if len(spread) > MOST_VARIANCES:
        yield Statement("{n} more variances are in the table.", "more-variances", n=len(spread) - MOST_VARIANCES)
    undefined = rows[rows["value"].isna()]
    if len(undefined):
        why = Counter(reason_of(row) for row in undefined.to_dict("records"))
        more = "; for the others, see the notes" if len(why) > 1 else ""
        reason = why.most_common(1)[0][0]
        yield Statement("{n} undefined ({reason}{more}).", "undefined", n=len(undefined), reason=reason, more=more)


def _between_draws(groups: pd.DataFrame) -> Iterator[str]:
    """Say what the random-effects model of CEAT could estimate; each row's details have V, Q and τ²."""
    known = [tau for row in groups.to_dict("records") if (tau := details_of(row).get("tau2")) is not None]
    if known:
        none = known.count(0)
        single = int((groups["n"] == 1).sum())
        why = "a group of one word cannot have any" if single == len(groups) else "draws differ less than the words do"
        text = f"τ² of CEAT is 0 for {{n}} of {{of}} groups{f' ({why})' if none else ''}."
        yield Statement(text, "no-variance-between-draws", n=none, of=len(known))


def _strongest(tested: pd.DataFrame, code: str, what: str) -> Iterator[str]:
    if not len(tested):
        return
    sure = tested[tested["p_holm"] < SIGNIFICANT].sort_values("value", key=abs)[::-1]
    several = tested["scorer"].nunique() > 1
    strongest = [
        f"{row['group']}{' by ' + row['scorer'] if several else ''} ({signed_text(row['value'], 2)})"
        for _, row in sure[:MOST_NAMED].iterrows()
    ]
    more = f" and {len(sure) - MOST_NAMED} more" if len(sure) > MOST_NAMED else ""
    named = f": {', '.join(strongest)}{more}" if strongest else ""
    text = f"{{n}} of {{of}} {what} after Holm's correction){{named}}."
    yield Statement(text, code, n=len(sure), of=len(tested), named=named, effects=_effects(sure))


def _reversed(tested: pd.DataFrame) -> Iterator[str]:
    """Associations that are strong in the opposite direction, which a one-sided p near 1 would hide."""
    below = tested[tested["high"] < 0]
    if len(below):
        named = ", ".join(f"{row['group']} ({signed_text(row['value'], 2)})" for _, row in below[:MOST_NAMED].iterrows())
        more = f" and {len(below) - MOST_NAMED} more" if len(below) > MOST_NAMED else ""
        text = "In the opposite direction, with an interval entirely below 0: {named}."
        yield Statement(text, "opposite", named=f"{named}{more}", effects=_effects(below))


def _effects(rows: pd.DataFrame) -> dict[str, float]:
    return dict(zip(rows["group"], rows["value"], strict=True))
