"""Answers that were in the cache when an experiment began to gather them, and are no more: somebody emptied it meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tiltmeter.errors import RunError, TiltmeterError
from tiltmeter.storage.cells import Kept

NAMED = 5
"""Cells that a message names, at most."""


@contextmanager
def noticing_vanished(cells: Sequence[Kept], experiment: Path) -> Iterator[None]:
    """Says so where gathering fails because files of cells are gone: nothing is wrong with the place that is written."""
    try:
        yield
    except TiltmeterError:
        refuse_vanished([_title(cell) for cell in cells if not _is_there(cell)], experiment)
        raise


def refuse_vanished(names: Sequence[str], experiment: Path) -> None:
    """Raises an error if there are any."""
    if names:
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        raise RunError(
            f"The answers of {', '.join(names[:NAMED])}{more} vanished from the cache while {experiment} was gathered. "
            "No run was written, and an earlier one is as it was. The same command makes them again.",
            code="missing-answers",
            cells=list(names),
            file=experiment,
        ) from None


def _is_there(cell: Kept) -> bool:
    return all(path.is_file() for path in _files(cell))


def _files(cell: Kept) -> Iterable[Path]:
    return (*cell.tables.values(), cell.items, *cell.attachments.values())


def _title(cell: Kept) -> str:
    return title_of(str(cell.manifest["model"]["shown_as"]), str(cell.manifest["benchmark"]["name"]))


def title_of(model: str, benchmark: str) -> str:
    """A cell, for people."""
    return f"{model} to {benchmark}"
