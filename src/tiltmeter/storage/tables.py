"""Reading other people's tables: separators, encodings and byte-order marks as they come; what is unclear is refused."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from tiltmeter.errors import InputError, UsageError
from tiltmeter.storage.compressed_rows import fold
from tiltmeter.storage.compression import plain_path, unpacked_bytes
from tiltmeter.storage.decoding import decode
from tiltmeter.storage.strict_json import parse_json

__all__ = [
    "NO_GROUP", "SEPARATORS", "TOO_MANY", "TYPES", "Row", "cell", "decode", "field_columns", "layout_of", "parse_table",
    "read_bytes", "read_table", "refuse_long_rows", "require_columns", "text_cell",
]  # fmt: skip

SEPARATORS = ",\t;|"
SEPARATOR_LINE = re.compile(
    r'\A[\r\n]*"?sep=(?P<separator>[^\r\n"])"?(?P=separator)*[^\S\r\n\t]*(?:\r\n|\r|\n)', re.IGNORECASE
)
"""The first line by which Excel names the separator."""
FIRST_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*")
LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
"""A line with its end, as csv wants them."""
TOO_MANY = "\0cells beyond the header"
"""The key of a row's cells that have no column. No column can be called so."""
TYPES = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
NO_GROUP = ("form", "note", "comment", "id")
"""Columns of an aligned list of terms that hold no words."""
csv.field_size_limit(2**31 - 1)
Row = dict[str, Any]


def read_bytes(path: Path) -> bytes:
    """The file's bytes, unpacked, or a message that says why not."""
    data = unpacked_bytes(path)
    if not data.strip():
        raise InputError(f"{path} is empty.", code="empty-file", file=path)
    return data


def layout_of(text: str, path: Path) -> str:
    """json, jsonl or table: by the file's name, or by its beginning where the name says nothing (a pipe)."""
    suffix = plain_path(path).suffix.lower()
    if suffix in (".jsonl", ".ndjson"):
        return "jsonl"
    if suffix == ".json" or (not suffix and text.lstrip()[:1] == "["):
        return "json"
    if suffix or text.lstrip()[:1] != "{":
        return "table"
    return "jsonl" if text.strip().split("\n", 1)[0].rstrip().endswith("}") else "json"


def parse_table(text: str, path: Path, separators: str = SEPARATORS) -> Sequence[Row]:
    """Rows of a JSONL, JSON or delimited file as dictionaries. An unnamed first column is called 'id'."""
    layout = layout_of(text, path)
    rows: Iterable[Row]
    if layout == "jsonl":  # not splitlines(): a sentence may hold other characters that end a line
        rows = (_json_row(line, path, n) for n, line in enumerate(_split(text), 1) if line.strip())
    elif layout == "json":
        rows = _json_rows(text, path)
    else:
        rows = _delimited_rows(text, path, separators)
    folded = fold(_encodable(row, path) for row in rows)
    if not folded:
        raise InputError(f"{path} has no data rows.", code="empty-file", file=path)
    return folded


def _encodable(row: Row, path: Path) -> Row:
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InputError(
            f"{path} contains a lone surrogate (half a character), which no tokenizer can read. Remove it.",
            code="wrong-encoding",
            file=path,
        ) from None
    return row


def _split(text: str) -> Iterator[str]:
    """Yield the lines of `text.split("\\n")` one at a time, to save memory."""
    start = 0
    while (at := text.find("\n", start)) >= 0:
        yield text[start:at]
        start = at + 1
    yield text[start:]


def _delimited_rows(text: str, path: Path, separators: str) -> Iterator[Row]:
    if told := SEPARATOR_LINE.match(text):
        text, separators = text[told.end() :], told["separator"]
    first = FIRST_LINE.match(text.lstrip("\r\n"))
    separator = max(separators, key=first[0].count) if first else ","
    dialect = _dialect(text, path, separator)
    cells = _cells(text, separator, dialect)
    header = next(cells, None)
    if header is None:
        raise InputError(f"{path} is empty.", code="empty-file", file=path)
    columns = _columns(header, path, lambda: islice(_cells(text, separator, dialect), 1, None))
    for row in cells:
        beyond = [cell for cell in row[len(header) :] if cell.strip()]
        named = {name: row[n] for n, name in columns.items() if n < len(row)}
        yield named | ({TOO_MANY: beyond} if beyond else {})


def _columns(header: Sequence[str], path: Path, rows: Callable[[], Iterator[list[str]]]) -> dict[int, str]:
    """The name of each column by its place. One without name and content is none: spreadsheets add such."""
    names = [name.strip() for name in header]
    repeated = [name for name, n in Counter(filter(None, names)).items() if n > 1]
    if repeated:
        raise InputError(
            f"{path}: two columns are called '{_short(repeated[0])}'. Rename one of them.",
            code="duplicate-name",
            file=path,
            kind="column",
            name=repeated[0],
        )
    unnamed = [n for n, name in enumerate(names) if not name]
    filled = {n for row in rows() for n in unnamed if n < len(row) and row[n].strip()} if unnamed else set()
    columns = {}
    for n, name in enumerate(names):
        if name:
            columns[n] = name
        elif n in filled:
            columns[n] = "id" if n == 0 and "id" not in names else f"column {n + 1}"
    return columns


def _cells(text: str, separator: str, dialect: Mapping[str, Any]) -> Iterator[list[str]]:
    """The cells of every row that has any."""
    rows = csv.reader(_lines(text), delimiter=separator, **dialect)
    return (row for row in rows if any(cell.strip() for cell in row))


def _lines(text: str) -> Iterator[str]:
    return (line[0] for line in LINE.finditer(text))


def _dialect(text: str, path: Path, separator: str) -> dict[str, Any]:
    """Detect how quotation marks are read. Where they do not match as quotes, they are text, if the table then fits."""
    strict: dict[str, Any] = {"strict": True}
    try:
        for _ in _cells(text, separator, strict):
            pass
    except csv.Error:
        plain: dict[str, Any] = {"quoting": csv.QUOTE_NONE}
        if len({len(row) for row in csv.reader(_lines(text), delimiter=separator, **plain) if row}) == 1:
            return plain
        raise InputError(
            f"{path}: quotation marks do not match (a quote is never closed, or text follows a closing quote).",
            code="wrong-format",
            file=path,
            expected="matching quotation marks",
        ) from None
    return strict


def _json_row(line: str, path: Path, number: int) -> Row:
    row = parse_json(line, f"{path}, line {number}")
    if not isinstance(row, dict):
        raise InputError(
            f"{path}, line {number}: expected one JSON object per line.",
            code="wrong-format",
            file=path,
            line=number,
            expected="JSON object",
        )
    return row


def _json_rows(text: str, path: Path) -> list[Row]:
    rows = parse_json(text, str(path))
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(
            f"{path}: expected a list of JSON objects.", code="wrong-format", file=path, expected="list of JSON objects"
        )
    return rows


def read_table(path: Path, encoding: str | None = None, *, guess: bool = True) -> Sequence[Row]:
    """Rows of a table file; the separator is the one its header uses most. `guess`: as for `decode`."""
    return parse_table(decode(read_bytes(path), path, encoding, guess=guess), path)


def field_columns(columns: Mapping[str, str] | None, fields: Sequence[str], subject: str) -> dict[str, str]:
    """Map every field to its column: the one that `columns` names, or the one of the field's own name.

    Raises:
        UsageError: `columns` names a field that there is not.
    """
    if unknown := sorted(set(columns or {}) - set(fields)):
        raise UsageError(
            f"Unknown field {', '.join(unknown)} in --columns. Fields of {subject}: {', '.join(fields)}.",
            code="unknown-name",
            kind="field",
            name=unknown[0],
            names=unknown,
            option="--columns",
        )
    return {field: field for field in fields} | dict(columns or {})


def require_columns(rows: Sequence[Mapping[str, Any]], wanted: Sequence[str], path: Path) -> None:
    """Raise an error that names the missing columns and those that are present."""
    present = list(dict.fromkeys(name for row in rows[:50] for name in row if name != TOO_MANY))
    missing = [name for name in dict.fromkeys(wanted) if name not in present]
    if missing:
        raise InputError(
            f"{path} has no column {' and no column '.join(repr(name) for name in missing)}. "
            f"Its columns: {_listed(present)}. "
            "Name yours with --columns, e.g. --columns stereo=my_column,anti=other_column.",
            code="missing-column",
            file=path,
            columns=missing,
            present=present,
        )


def refuse_long_rows(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Raise an error for a row with more cells than the header, whose columns would be unclear."""
    number = next((n for n, row in enumerate(rows, 1) if TOO_MANY in row), None)
    if number is not None:
        raise InputError(
            f"{path}, row {number}: more cells than the header has (a separator inside a cell needs quotes around it).",
            code="wrong-format",
            file=path,
            row=number,
            expected="as many cells as the header",
        )


def _listed(names: Sequence[str]) -> str:
    """Names for a message; a file without a header would else fill the screen with its first sentences."""
    shown = [repr(_short(name)) for name in names[:12]]
    return ", ".join(shown) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _short(name: str) -> str:
    return name if len(name) <= 40 else name[:39] + "…"


def cell(row: Mapping[str, Any], name: str | None, where: str = "the file") -> str:
    """A label as stripped text; missing is empty. JSON may give it as a number, not as a list or an object."""
    value = row.get(name) if name else None
    if isinstance(value, (list, dict)):
        raise InputError(
            f"{where}: '{name}' must be text or a number, not {TYPES[type(value)]}.",
            code="wrong-type",
            place=where,
            name=name,
            expected="text or a number",
        )
    return "" if value is None else str(value).strip()


def text_cell(row: Mapping[str, Any], name: str, where: str = "the file") -> str:
    """A sentence as it is written; missing is empty. What JSON gives as anything but text is not one."""
    value = row.get(name)
    if value is not None and not isinstance(value, str):
        raise InputError(
            f"{where}: '{name}' must be a text in quotation marks, not {TYPES.get(type(value), 'this')}.",
            code="wrong-type",
            place=where,
            name=name,
            expected="text",
        )
    return value or ""
