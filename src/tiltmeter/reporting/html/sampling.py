"""Very large benchmarks on a page: some of their items, so that a browser can open it. The numbers are of all items."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from tiltmeter.families import Answers

if TYPE_CHECKING:
    import pandas as pd

MOST_BYTES = 6_000_000
"""Approximate size limit of the items of a page, in bytes: with the rest it stays below 8 MB, whatever there is to show."""
BYTES_PER_LETTER, BYTES_PER_ROW, LETTERS_PER_TOKEN, BYTES_PER_TOKEN = 0.6, 9.0, 4.0, 5.0
"""Compressed and in base64: a text, a score with its gap and side, a token with its place and log-probability."""


def sampled(answers: Answers, most: float = MOST_BYTES) -> tuple[Answers, dict[str, tuple[int, int]]]:
    """The answers about as many items as a page can hold, and, of benchmarks that were cut: how many of how many.

    Which items stay is decided by a hash of their ids: the same ones every time, and like drawn at random.
    """
    weights = {name: _weight(answers, name) for name in answers.benchmarks}
    share = most / max(1.0, sum(weights.values()))
    if share >= 1:
        return answers, {}
    items = answers.items[answers.items["benchmark"].isin(answers.benchmarks)]
    kept: dict[str, set[str]] = {}
    cut: dict[str, tuple[int, int]] = {}
    for name, part in items.groupby("benchmark", sort=False):
        ids = part["item"].astype(str).tolist()
        chosen = sorted(ids, key=_drawn)[: max(1, int(share * len(ids)))]
        kept[str(name)] = set(chosen)
        cut[str(name)] = len(chosen), len(ids)
    return answers.mapped(lambda frame: _only(frame, kept)), cut


SAMPLED = (
    "{name} has {whole:,} items. The explorer shows {shown:,} of them, picked at random, so that the page stays small "
    "enough for a browser; all numbers are of all items, and the run folder has every one."
)


def notices(cut: dict[str, tuple[int, int]]) -> list[str]:
    """Sentences about sampling on the page."""
    return [SAMPLED.format(name=name, whole=whole, shown=shown) for name, (shown, whole) in cut.items()]


def _weight(answers: Answers, benchmark: str) -> float:
    items = answers.items[answers.items["benchmark"] == benchmark]
    texts = [items[column].dropna() for column in items if column not in ("benchmark", "item", "scored", "extra")]
    letters = float(sum(column.astype(str).str.len().sum() for column in texts))
    rows = int((answers.table["benchmark"] == benchmark).sum())
    read = len(answers.models) * letters / LETTERS_PER_TOKEN if answers.attachments else 0.0
    return BYTES_PER_LETTER * letters + BYTES_PER_ROW * rows + BYTES_PER_TOKEN * read


def _only(frame: pd.DataFrame, kept: dict[str, set[str]]) -> pd.DataFrame:
    if "item" not in frame or "benchmark" not in frame:
        return frame
    rows = zip(frame["benchmark"].tolist(), frame["item"].tolist(), strict=True)
    here: Any = [benchmark not in kept or str(item) in kept[benchmark] for benchmark, item in rows]
    return frame[here].reset_index(drop=True)


def _drawn(item: str) -> bytes:
    return hashlib.blake2b(item.encode("utf-8", "surrogatepass"), digest_size=8).digest()
