"""Answers that come in pieces, so that those to a long benchmark are never held together.

A family that has `in_pieces(model, benchmark, options, how)` is asked so where its answers only have to be stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tiltmeter.benchmarks import Benchmark
from tiltmeter.benchmarks.kit.items import items_table
from tiltmeter.families.kit.answers import Answers
from tiltmeter.storage.joined import concatenated

if TYPE_CHECKING:
    import pandas as pd

Tables = Mapping[str, "pd.DataFrame"]


class InPieces(Protocol):
    """What a model answers to a benchmark, some items at a time."""

    def tables(self) -> Iterator[Tables]:
        """The rows of some items in every table; asked as they are taken, in the order of the items. Once only."""
        ...

    def about(self) -> tuple[dict[str, Any], Mapping[str, Path]]:
        """The manifest and the attachments, when all pieces were taken."""
        ...


def together(asked: InPieces, benchmark: Benchmark) -> Answers:
    """All pieces as one."""
    pieces = asked.tables()
    parts = [next(pieces)]
    items = items_table(benchmark)  # here, because a GPU is at work on the next piece by now
    parts += pieces
    tables = {name: concatenated([part[name] for part in parts]) for name in parts[0]}
    manifest, attachments = asked.about()
    return Answers(benchmark.family, tables, items, (manifest,), attachments)
