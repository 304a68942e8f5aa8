"""The page of a leaderboard: a table of models and measures to sort and filter, and the ranking by each measure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter import catalog
from tiltmeter.boards import Board
from tiltmeter.boards.columns import Column
from tiltmeter.display import number_text
from tiltmeter.errors import UsageError
from tiltmeter.families.kit.pack import island, plain
from tiltmeter.families.kit.story import decimals_of
from tiltmeter.reporting.html.measures import bounds_of, leans
from tiltmeter.reporting.html.methods import notes_of
from tiltmeter.reporting.html.render import render, resource
from tiltmeter.reporting.terminal import neutral_text
from tiltmeter.stats.direction import best_of, distance
from tiltmeter.storage.files import write_text

SCRIPTS = ("page.js", "breakdown.js", "board.js")
KEPT = ("model", "value", "low", "high", "neutral", "n", "n_missing", "p", "p_holm", "note")


@dataclass(frozen=True)
class Head:
    """The head of a column."""

    number: int
    column: Column
    neutral: str


@dataclass(frozen=True)
class Cell:
    """One model's number in one column; `order` is what it is sorted by, the best first."""

    value: str = "–"
    interval: str = ""
    rank: str = ""
    order: str = ""


def write_board(board: Board, path: Path) -> Path:
    """Writes the page."""
    if path.is_dir():
        message = f"{path} is a folder. Give a file name, such as {path / 'leaderboard.html'}."
        raise UsageError(message, code="not-a-file", file=path)
    write_text(path, board_page(board))
    return path


def board_page(board: Board) -> str:
    """The whole page as text."""
    heads = [Head(n, column, _neutral(column.measure)) for n, column in enumerate(board.columns)]
    variables = {
        "title": f"Leaderboard of {len(board.models)} language model{'s' * (len(board.models) != 1)}",
        "facts": list(_facts(board)),
        "notices": board.notices,
        "heads": heads,
        "rows": [(model, [_cell(board, model, column) for column in board.columns]) for model in board.models],
        "families": _names(board, "family"),
        "benchmarks": _names(board, "benchmark"),
        "groups": _names(board, "group"),
        "measure_notes": notes_of("measures", (column.measure for column in board.columns)),
        "scorer_notes": [note for note in notes_of("scorers", _names(board, "scorer")) if note.citation],
        "models": list(_models(board)),
        "data": island(_data(board)),
    }
    return render("board.html.j2", variables, "\n".join(resource(name) for name in SCRIPTS))


def _neutral(measure: str) -> str:
    return neutral_text(measure) or "no neutral point"


def _facts(board: Board) -> Iterator[str]:
    yield f"Measured on {', '.join(_names(board, 'benchmark'))}"
    settings = board.settings
    yield f"{100 * settings.confidence:g} % intervals from {settings.resamples:,} resamples, seed {settings.seed}"
    yield "ranks by paired tests, corrected by Holm's method"


def _names(board: Board, what: str) -> list[str]:
    return list(dict.fromkeys(str(getattr(column, what)) for column in board.columns))


def _cell(board: Board, model: str, column: Column) -> Cell:
    row = board.cells.get((model, column))
    if row is None:
        return Cell()
    if not math.isfinite(row["value"]):
        return Cell("missing", str(row["note"]))
    places = decimals_of(column.measure, row["value"], row["low"], row["high"])
    rank = board.ranks[column].get(model)
    value, low, high = (number_text(row[name], places) for name in ("value", "low", "high"))
    order = distance(catalog.find("measures", column.measure), row["value"]) if rank else row["value"]
    return Cell(
        value, f"{low} to {high}" if math.isfinite(row["low"]) else "", rank.text if rank else "", repr(float(order))
    )


def _data(board: Board) -> dict[str, Any]:
    """For the rankings that are drawn in the browser, and for the download."""
    models = {model: n for n, model in enumerate(board.models)}
    return {
        "estimates": {"columns": [], "rows": []},
        "measures": {name: {"leans": leans(name), "bounds": bounds_of(name)} for name in _names(board, "measure")},
        "columns": [_column(board, column, models) for column in board.columns],
        "board": _table(board),
    }


def _column(board: Board, column: Column, models: dict[str, int]) -> dict[str, Any]:
    ranks = board.ranks[column]
    rows = []
    for model in board.models:
        cell, rank = board.cells.get((model, column)), ranks.get(model)
        if cell is not None:
            place = [rank.place, rank.best, rank.worst] if rank else None
            rows.append({name: plain(cell[name]) for name in KEPT} | {"rank": place, "alike": _numbers(rank, models)})
    best = best_of(catalog.find("measures", column.measure))
    return {**vars(column), "title": column.whole, "best": plain(best), "rows": rows}


def _numbers(rank: Any, models: dict[str, int]) -> list[int]:
    return [models[name] for name in rank.alike] if rank else []


def _table(board: Board) -> dict[str, Any]:
    frame = board.to_pandas()
    rows = frame.astype(object).where(frame.notna(), None).itertuples(index=False)
    return {"columns": list(frame), "rows": [[plain(cell) for cell in row] for row in rows]}


def _models(board: Board) -> Iterator[dict[str, str]]:
    """Where each model came from, once."""
    seen = set()
    for manifest in board.manifests:
        for evaluation in manifest.get("evaluations", ()):
            facts = evaluation.get("model", {})
            name = str(facts.get("shown_as", ""))
            if name in board.models and name not in seen:
                seen.add(name)
                size = facts.get("parameters")
                yield {
                    "model": name,
                    "kind": str(facts.get("kind") or ""),
                    "parameters": f"{size:,}" if isinstance(size, int) else "",
                    "weights sha256": str(facts.get("weights_sha256", "")),
                }
