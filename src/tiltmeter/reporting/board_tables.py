"""A leaderboard as text: CSV with every number, and Markdown or LaTeX with a row per model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tiltmeter.boards import Board
from tiltmeter.boards.columns import Column
from tiltmeter.display import number_text, range_text
from tiltmeter.errors import UsageError
from tiltmeter.families.kit.story import decimals_of
from tiltmeter.reporting.html.board import board_page
from tiltmeter.reporting.typeset import typeset
from tiltmeter.storage.files import write_text

if TYPE_CHECKING:
    import pandas as pd

CAPTION = "Values with intervals in brackets; ranks, with ranks that do not differ significantly, in parentheses."


def as_csv(board: Board) -> str:
    """One row per model and column, as `Board.to_pandas` has them."""
    return str(board.to_pandas().to_csv(index=False))


def as_markdown(board: Board) -> str:
    """A row per model, a column per number."""
    return typeset(_wide(board), "markdown", CAPTION)


def as_latex(board: Board) -> str:
    """Write a board as LaTeX, for a paper."""
    return typeset(_wide(board), "latex", CAPTION)


def as_lines(board: Board) -> Iterator[str]:
    """A line per column for the terminal: its models, the best first."""
    for column in board.columns:
        ranks = board.ranks[column]
        there = [model for model in board.models if (model, column) in board.cells]
        there.sort(key=lambda model: ranks[model].place if model in ranks else len(there) + 1)
        yield f"{column.whole}: {'; '.join(f'{model} {_cell(board, model, column)}' for model in there)}."


def _wide(board: Board) -> pd.DataFrame:
    import pandas as pd

    cells = {column.whole: [_cell(board, model, column) for model in board.models] for column in board.columns}
    return pd.DataFrame({"model": list(board.models), **cells})


def _cell(board: Board, model: str, column: Column) -> str:
    row, rank = board.cells.get((model, column)), board.ranks[column].get(model)
    if row is None:
        return ""
    if not math.isfinite(row["value"]):
        return "missing"
    places = decimals_of(column.measure, row["value"], row["low"], row["high"])
    value, interval = number_text(row["value"], places), range_text(row["low"], row["high"], places)
    return " ".join(filter(None, [value, interval, f"(place {rank.text})" if rank else ""]))


FORMS: dict[str, Callable[[Board], str]] = {".html": board_page, ".csv": as_csv, ".md": as_markdown, ".tex": as_latex}


def write_boards(board: Board, paths: list[Path]) -> None:
    """Writes the board in the form that each file's ending says; nothing is written if one is not known."""
    check_forms(paths)
    for path in paths:
        write_text(path, FORMS[path.suffix.lower()](board))


def check_forms(paths: list[Path]) -> None:
    """Refuses an ending that no form has, before anything is computed."""
    for path in paths:
        if path.suffix.lower() not in FORMS or path.is_dir():
            message = f"A leaderboard is written to a file ending in {', '.join(FORMS)}, not to {path}."
            raise UsageError(message, code="wrong-format", file=path, endings=list(FORMS))
