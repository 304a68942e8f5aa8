"""Held-out text in sentences and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.families.kit.story import Sheet, Story, value_text

if TYPE_CHECKING:
    import pandas as pd

NAMES = {"pll": "pseudo-perplexity", "causal": "perplexity"}
TITLE = "How well held-out text is predicted"


def narratives(estimates: pd.DataFrame) -> Iterator[Story]:
    """One per model and text; its number is the perplexity."""
    for (model, benchmark), rows in estimates.groupby(["model", "benchmark"], sort=False):
        of = {row["measure"]: row for _, row in rows.iterrows()}
        name = NAMES.get(str(rows["scorer"].iloc[0]), "perplexity")
        known = of.get("perplexity")
        sentences = []
        if known is not None:
            sentences.append(f"The {name} of {known['n']:,} lines is {value_text(known)}; lower is better.")
        if (right := of.get("token_accuracy")) is not None:
            sentences.append(f"The likeliest token is the right one at {value_text(right)} % of the places.")
        if rows["n_missing"].iloc[0]:
            sentences.append(f"{rows['n_missing'].iloc[0]:,} lines could not be asked.")
        there = known is not None and np.isfinite(known["value"])
        number = f"{known['value']:.1f}" if known is not None and there else ""
        yield Story(str(model), str(benchmark), TITLE, tuple(sentences), number=number, unit=name if number else "")


def sheets(estimates: pd.DataFrame) -> Iterator[Sheet]:
    """One table per text."""
    about = "Perplexities of models of different kinds, or with different tokens, cannot be compared."
    for benchmark, rows in estimates.groupby("benchmark", sort=False):
        yield Sheet(str(benchmark), TITLE, rows, rows_are="scorer", by="all", about=about)
