"""Answers that come in pieces (`Family.stream`), so that those to a long benchmark are never held together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tiltmeter.benchmarks import Benchmark
from tiltmeter.benchmarks.kit.items import items_table
from tiltmeter.families.kit.answers import Answers
from tiltmeter.storage.concatenation import concatenated

if TYPE_CHECKING:
    import pandas as pd

Tables = Mapping[str, "pd.DataFrame"]


class AnswerStream(Protocol):
    """Answers of a model to a benchmark, some items at a time."""

    def tables(self) -> Iterator[Tables]:
        """The rows of some items in every table; computed as they are taken, in the order of the items. Once only."""
        ...

    def about(self) -> tuple[dict[str, Any], Mapping[str, Path]]:
        """The manifest and the attachments, when all pieces were taken."""
        ...


class Whole:
    """Answers that are in memory, as one piece."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    @property
    def items(self) -> pd.DataFrame:
        """The items as the family gave them, which need not be those of the benchmark."""
        return self._answers.items

    def tables(self) -> Iterator[Tables]:
        """Yields all tables at once."""
        yield self._answers.tables

    def about(self) -> tuple[dict[str, Any], Mapping[str, Path]]:
        """Returns the manifest and the attachments."""
        (manifest,) = self._answers.manifests
        return manifest, self._answers.attachments


def together(stream: AnswerStream, benchmark: Benchmark) -> Answers:
    """All pieces as one."""
    pieces = stream.tables()
    parts = [next(pieces)]
    items = items_table(benchmark)  # here, because a GPU is at work on the next piece by now
    parts += pieces
    tables = {name: concatenated([part[name] for part in parts]) for name in parts[0]}
    manifest, attachments = stream.about()
    return Answers(benchmark.family, tables, items, (manifest,), attachments)
