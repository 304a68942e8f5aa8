"""Cells of the honesty bench, and the noise that all families share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MANY = 10_000
"""Units of the samples whose mean value is the truth of a measure without a neutral value."""


@dataclass(frozen=True)
class Cell:
    """One design of one family.

    Attributes:
        kind: `estimate` or `compare`.
        design: Words that the family's module reads: what is measured, distribution, clusters, groups.
        n: Units: pairs, sentences, lines, texts of a group and label, prompts of a group, words, attributes or templates;
            clusters in designs of clusters.
        supported: Large enough that false alarms and coverage are promised.
        batch: Data sets that are estimated at a time.
    """

    family: str
    kind: str
    design: str
    n: int
    supported: bool = True
    batch: int = 20

    @property
    def key(self) -> str:
        """Name of the cell."""
        return f"{self.family} {self.kind} {self.design} n={self.n}"


def noise(rng: np.random.Generator, design: str, size: Any) -> Floats:
    """Draw values of variance 1, about: normal, heavy tails (t, 3), Cauchy, or skewed."""
    if "heavy" in design:
        return np.asarray(rng.standard_t(3, size) / np.sqrt(3))
    if "cauchy" in design:
        return np.asarray(rng.standard_cauchy(size))
    if "skewed" in design:
        return np.asarray(rng.exponential(size=size) - 1)
    return np.asarray(rng.standard_normal(size))


def shared_noise(rng: np.random.Generator, cell: Cell, models: int, shape: tuple[int, ...]) -> Floats:
    """Draw what items have of their own: the same for every two models that are compared, else new for each model."""
    if cell.kind == "estimate":
        return noise(rng, cell.design, (models, *shape))
    return np.repeat(noise(rng, cell.design, (models // 2, *shape)), 2, axis=0)


def cluster_codes(design: str, n: int) -> Ints | None:
    """Number the cluster of each row: n clusters of five, or of 1, 2, 3, 6 and 13 in turn; None without clusters."""
    if "cluster" not in design:
        return None
    sizes = np.resize([1, 2, 3, 6, 13], n) if "unlike" in design else np.full(n, 5)
    return np.repeat(np.arange(n), sizes)


def names_of(letter: str, codes: Any) -> NDArray[np.object_]:
    """Name codes so that their order is that of the names."""
    return np.array([f"{letter}{code:06}" for code in codes], dtype=object)


def items_frame(n: int, extra: Sequence[dict[str, Any]] | None = None, **columns: Any) -> pd.DataFrame:
    """Make the table of n items."""
    texts = ["{}"] * n if extra is None else [json.dumps(one) for one in extra]
    return pd.DataFrame({"benchmark": "b", "item": names_of("i", range(n)), "extra": texts, **columns})


def answer_frame(models: int, items: int, copies: int = 1, **columns: Any) -> pd.DataFrame:
    """Make rows for each model, item and copy (in this order of nesting); columns are flat or one value."""
    model = np.repeat([f"m{n}" for n in range(models)], items * copies).astype(object)
    item = np.tile(np.repeat(names_of("i", range(items)), copies), models)
    flat = {name: np.ravel(value) if isinstance(value, np.ndarray) else value for name, value in columns.items()}
    return pd.DataFrame({"model": model, "benchmark": "b", "item": item, **flat})
