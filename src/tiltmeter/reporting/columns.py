"""Tables that fit the width they are shown in, with every number and every word whole.

A table that is too wide becomes narrower in this order: its leading names move into headings, columns that can be spared
are left out and named below it (or, where all are wanted, continue in a table below), and long names break after a hyphen,
an underscore or a slash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tiltmeter.reporting.wrapping import filled

if TYPE_CHECKING:
    from rich.text import Text

GAP = 2
LEAST_TEXT = 40
"""Columns of running text are at least so wide, and as wide as there is room."""
NARROWEST = 8
CLUSTERS = {"templates": "n_templates", "clusters": "n_clusters"}
"""Details with the number of clusters that are resampled."""
NO_NEED = 99.0
"""`spare` of a column that says nothing, such as one of zeros: it goes first and is not missed."""


@dataclass(frozen=True)
class Column:
    """One column: its head (of one or more lines) and its cells.

    `kind`: name (left, whole), number (right, whole) or text (left, broken between words). `spare`: 0 is never left out;
    of the others the highest goes first.
    """

    head: str
    cells: Sequence[str]
    kind: str = "name"
    spare: float = 0.0

    @property
    def width(self) -> int:
        """How wide it wants to be."""
        lines = [line for cell in (self.head, *self.cells) for line in cell.split("\n")]
        return max(map(_length, lines), default=0)

    @property
    def least(self) -> int:
        """How wide it has to be at least."""
        return min(self.width, LEAST_TEXT) if self.kind == "text" else self.width

    def taken(self, rows: Sequence[int]) -> Column:
        """Some of its rows."""
        return replace(self, cells=[self.cells[row] for row in rows])


@dataclass(frozen=True)
class Grid:
    """A table: names that say what a row is about, and values.

    With `all_values`, columns that do not fit continue below instead of being left out.
    """

    title: str
    names: Sequence[Column]
    values: Sequence[Column]
    all_values: bool = False


def fitted(grid: Grid, width: int, *, whole: bool = False) -> Iterator[Text]:
    """The lines of a table, none of them wider than `width`; with `whole` as wide as all its columns need."""
    heads = [column for column in grid.names[:-1] if len(column.cells) > 1 and len(set(column.cells)) == 1]
    names = [column for column in grid.names if column not in heads]
    wanted = [column for column in grid.values if any(column.cells)]
    if whole:
        shown = [*grid.names, *(column for column in wanted if column.spare < NO_NEED)]
        width = max(width, sum(column.least for column in shown) + GAP * (len(shown) - 1))
    needed = (
        sorted(wanted, key=lambda column: -column.least)[:1]
        if grid.all_values
        else [column for column in wanted if not column.spare]
    )
    while len(names) > 1 and not _fit([*names, *needed], width):
        heads.append(names.pop(0))
    values = wanted if grid.all_values else _spared(names, wanted, width)
    for title, rows in _sections(grid.title, heads, len((grid.names or grid.values)[0].cells)):
        for number, block in enumerate(_blocks(names, values, width)):
            yield from _lines("" if number else title, [column.taken(rows) for column in block], width)
            yield _styled("", "", 0)
    left_out = [column.head.split("\n")[0] for column in wanted if column not in values and column.spare < NO_NEED]
    if left_out:
        yield _styled(f"Not shown at this width: {', '.join(left_out)}.", "dim", width)
        yield _styled("", "", 0)


def _spared(names: Sequence[Column], values: Sequence[Column], width: int) -> list[Column]:
    """The values without those that can be spared and do not fit."""
    kept = list(values)
    while not _fit([*names, *kept], width) and any(column.spare for column in kept):
        kept.remove(max(kept, key=lambda column: column.spare))
    return kept


def _fit(columns: Sequence[Column], width: int) -> bool:
    return sum(column.least for column in columns) + GAP * (len(columns) - 1) <= width


def _sections(title: str, heads: Sequence[Column], length: int) -> Iterator[tuple[str, list[int]]]:
    """The rows under each heading, in the order in which headings first appear."""
    sections: dict[tuple[str, ...], list[int]] = {}
    for row in range(length):
        sections.setdefault(tuple(column.cells[row] for column in heads), []).append(row)
    for key, rows in sections.items():
        yield " · ".join(filter(None, [title, *key])), rows


def _blocks(names: Sequence[Column], values: Sequence[Column], width: int) -> Iterator[list[Column]]:
    """As many values beside the names as fit, then the next ones."""
    names = _narrowed(names, values, width)
    waiting = list(values)
    while waiting:
        block = [*names, waiting.pop(0)]
        while waiting and _fit([*block, waiting[0]], width):
            block.append(waiting.pop(0))
        yield block
    if not values:
        yield list(names)


def _narrowed(names: Sequence[Column], values: Sequence[Column], width: int) -> list[Column]:
    """Names broken after hyphens and the like where they and the widest value do not fit on one line."""
    widest = max((column.least for column in values), default=0)
    room = width - widest - GAP * len(names)
    if not names or sum(column.width for column in names) <= room:
        return list(names)
    each = max(NARROWEST, room // len(names))
    return [replace(column, cells=[broken(cell, each) for cell in column.cells]) for column in names]


def broken(name: str, width: int) -> str:
    """A name in lines of at most `width`, broken after a space, hyphen, underscore, slash or dot where it can be.

    >>> broken("stereoset_masked_original", 17)
    'stereoset_masked_\\noriginal'
    """
    lines = [""]
    for piece in re.findall(r"[^\s\-_/.,]*[\s\-_/.,]?", name):
        for part in (piece[start : start + width] for start in range(0, len(piece.rstrip()), width)):
            if _length((lines[-1] + part).rstrip()) <= width:
                lines[-1] += part
            else:
                lines.append(part)
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _lines(title: str, columns: Sequence[Column], width: int) -> Iterator[Text]:
    """A heading, the heads of the columns, a rule, and the rows."""
    widths = _widths(columns, width)
    if title:
        whole = " ".join(word if _length(word) <= width else broken(word, width) for word in title.split(" "))
        yield from (_styled(line, "bold", width) for line in whole.split("\n"))
    heads = _row([column.head for column in columns], columns, widths)
    yield from (_styled(line, "dim", 0) for line in heads)
    yield _styled("─" * (sum(widths) + GAP * (len(widths) - 1)), "dim", 0)
    for number in range(len(columns[0].cells)):
        for line in _row([column.cells[number] for column in columns], columns, widths):
            yield _styled(line, "", 0)


def _widths(columns: Sequence[Column], width: int) -> list[int]:
    """Names and numbers as wide as they are; running text shares what is left."""
    fixed = sum(column.width for column in columns if column.kind != "text") + GAP * (len(columns) - 1)
    texts = [column for column in columns if column.kind == "text"]
    each = max(LEAST_TEXT, (width - fixed) // len(texts)) if texts else 0
    return [min(column.width, each) if column.kind == "text" else column.width for column in columns]


def _row(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> Iterator[str]:
    """One row, of as many lines as its tallest cell."""
    tall = [
        (filled(cell, size) if column.kind == "text" else cell).split("\n")
        for cell, column, size in zip(cells, columns, widths, strict=True)
    ]
    for level in range(max(1, *map(len, tall))):
        texts = [in_place(lines[level]) if level < len(lines) else "" for lines in tall]
        padded = [
            " " * (size - _length(text)) + text if column.kind == "number" else text + " " * (size - _length(text))
            for text, column, size in zip(texts, columns, widths, strict=True)
        ]
        yield (" " * GAP).join(padded).rstrip()


def in_place(text: str) -> str:
    """The text, with a mark of direction after it if it is written from right to left.

    Without the mark a terminal that knows both directions moves the numbers of the next columns in front of it.

    >>> in_place("plain"), in_place("\u05d0\u05d1")[-1]
    ('plain', '\\u200e')
    """
    from unicodedata import bidirectional

    return f"{text}\u200e" if not text.isascii() and any(bidirectional(sign) in ("R", "AL") for sign in text) else text


def _styled(text: str, style: str, width: int) -> Text:
    from rich.text import Text

    return Text(filled(text, width or None), style=style)


def _length(text: str) -> int:
    """How many columns of a terminal a text takes; a Chinese sign takes two."""
    from rich.cells import cell_len

    return cell_len(text)
