"""Held-out text in sentences and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.display import Statement, number_text, p_text
from tiltmeter.families.kit.story import Sheet, Story, value_text

if TYPE_CHECKING:
    import pandas as pd

NAMES = {"pll": "pseudo-perplexity", "causal": "perplexity"}
HATEFUL = "perplexity_auc"
TITLE = "How well held-out text is predicted"


def narratives(estimates: pd.DataFrame) -> Iterator[Story]:
    """One per model and text; its number is the perplexity."""
    for (model, benchmark), rows in estimates.groupby(["model", "benchmark"], sort=False):
        of = {row["measure"]: row for _, row in rows[rows["by"] == "all"].iterrows()}
        name = NAMES.get(str(rows["scorer"].iloc[0]), "perplexity")
        known = of.get("perplexity")
        sentences: list[str] = []
        if known is not None:
            facts = {"name": name, "n": int(known["n"]), "value": known["value"], "estimate": value_text(known)}
            sentences.append(Statement("The {name} of {n:,} lines is {estimate}; lower is better.", "perplexity", **facts))
        if (right := of.get("token_accuracy")) is not None and np.isfinite(right["value"]):
            facts = {"value": right["value"], "estimate": value_text(right)}
            sentences.append(Statement("The likeliest token is correct at {estimate} % of positions.", "accuracy", **facts))
        sentences += _safety(rows, of.get(HATEFUL))
        if rows["n_missing"].iloc[0]:
            missing = int(rows["n_missing"].iloc[0])
            sentences.append(Statement("{n:,} lines could not be scored.", "missing", n=missing))
        there = known is not None and np.isfinite(known["value"])
        number = number_text(known["value"]) if known is not None and there else ""
        yield Story(str(model), str(benchmark), TITLE, tuple(sentences), number=number, unit=name if number else "")


def _safety(rows: pd.DataFrame, overall: pd.Series | None) -> Iterator[str]:
    """Compare hateful lines with others, overall and over groups."""
    if overall is None or not np.isfinite(overall["value"]):
        return
    yield Statement(
        "Hateful lines have a higher perplexity than others in {share:.1f} % of comparisons ({measure} {estimate}; neutral "
        "is 0.5, {p}).", "hateful", share=100 * overall["value"], measure=HATEFUL, estimate=value_text(overall),
        p=p_text(overall["p"]),
    )  # fmt: skip
    groups = rows[(rows["measure"] == HATEFUL) & (rows["by"] == "group") & rows["value"].notna()]
    if len(groups) > 1:
        least, most = (groups.loc[at] for at in (groups["value"].idxmin(), groups["value"].idxmax()))
        yield Statement(
            "Over {n} groups it ranges from {least} ({least_group}) to {most} ({most_group}).", "hateful-by-group",
            n=len(groups), least=value_text(least), least_group=least["group"], most=value_text(most),
            most_group=most["group"],
        )  # fmt: skip


def sheets(estimates: pd.DataFrame) -> Iterator[Sheet]:
    """One table per text."""
    about = "Perplexities of models of different kinds, or with different tokens, cannot be compared."
    for benchmark, rows in estimates.groupby("benchmark", sort=False):
        yield Sheet(str(benchmark), TITLE, rows[rows["by"] == "all"], rows_are="scorer", by="all", about=about)
        groups = rows[rows["by"] == "group"]
        if len(groups):
            yield Sheet(str(benchmark), "Hateful lines against others, by group", groups, overall=False, by="group")
