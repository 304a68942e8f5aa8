"""Reading other people's tables: separators, encodings and byte-order marks as they come."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.errors import TiltmeterError

SEPARATORS = ",\t;|"
TOO_MANY = "cells beyond the header"
csv.field_size_limit(2**31 - 1)
Row = dict[str, Any]


def read_bytes(path: Path) -> bytes:
    """The file's bytes, or a message that says why not."""
    try:
        data = path.read_bytes()
    except IsADirectoryError:
        raise TiltmeterError(f"{path} is a folder; name the file inside it.") from None
    except OSError as error:
        raise TiltmeterError(f"Cannot read {path}: {error.strerror}.") from None
    if not data.strip():
        raise TiltmeterError(f"{path} is empty.")
    return data


def decode(data: bytes, path: Path, encoding: str | None = None) -> str:
    """Text of a file: as told, else by its byte-order mark, else UTF-8, else the likelier of two 8-bit encodings."""
    if encoding:
        try:
            return data.decode(encoding).removeprefix("\ufeff")
        except LookupError:
            raise TiltmeterError(f"'{encoding}' is not an encoding that Python knows.") from None
        except UnicodeDecodeError as error:
            raise TiltmeterError(f"{path} is not {encoding}: {error.reason} at byte {error.start}.") from None
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return decode(data, path, "utf-16")
    if b"\0" in data:
        raise TiltmeterError(f"{path} does not look like text. If it is, give its encoding with --encoding.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _decode_8_bit(data, path)


def _decode_8_bit(data: bytes, path: Path) -> str:
    """Windows or classic Mac: whichever turns more of the high bytes into letters (accents sit inside words)."""
    best, best_share = "", -1.0
    for encoding in ("cp1252", "mac_roman"):
        text = data.decode(encoding, errors="replace")
        high = [char for char in text if ord(char) > 127]
        share = sum(char.isalpha() for char in high) / max(1, len(high))
        if share > best_share:
            best, best_share = text, share
    if "\ufffd" in best or best_share < 0.2:
        raise TiltmeterError(f"Cannot tell the encoding of {path}. Give it with --encoding, e.g. --encoding latin-1.")
    return best


def parse_table(text: str, path: Path, separators: str = SEPARATORS) -> list[Row]:
    """Rows of a JSONL, JSON or delimited file as dictionaries. An unnamed first column is called 'id'."""
    suffix = path.suffix.lower()
    if suffix in {
        ".jsonl",
        ".ndjson",
    }:  # not splitlines(): a sentence may hold other characters that end a line
        rows = [_json_row(line, path, n) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    elif suffix == ".json":
        rows = _json_rows(text, path)
    else:
        rows = _delimited_rows(text, path, separators)
    if not rows:
        raise TiltmeterError(f"{path} has no data rows.")
    try:
        json.dumps(rows, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise TiltmeterError(f"{path} holds half a character (a lone surrogate), which no tokenizer can read.") from None
    return rows


def _delimited_rows(text: str, path: Path, separators: str) -> list[Row]:
    lines = text.lstrip("\r\n").splitlines()
    separator = max(separators, key=lines[0].count) if lines else ","
    cells = [row for row in _cells(text, path, separator) if any(cell.strip() for cell in row)]
    if not cells:
        raise TiltmeterError(f"{path} is empty.")
    columns = [name.strip() or ("id" if n == 0 else f"column {n + 1}") for n, name in enumerate(cells[0])]
    rows: list[Row] = []
    for row in cells[1:]:
        beyond = [cell for cell in row[len(columns) :] if cell.strip()]
        rows.append(dict(zip(columns, row, strict=False)) | ({TOO_MANY: beyond} if beyond else {}))
    return rows


def _cells(text: str, path: Path, separator: str) -> list[list[str]]:
    """The cells of a table. Where its quotation marks make no sense as quotes, they are text, if the table then fits."""
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error:
        plain = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, quoting=csv.QUOTE_NONE))
        if len({len(row) for row in plain if row}) == 1:
            return plain
        raise TiltmeterError(
            f"{path}: its quotation marks do not match (a quote never closed, or text behind a closing one)."
        ) from None


def _json_row(line: str, path: Path, number: int) -> Row:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise TiltmeterError(f"{path}, line {number}: not JSON ({error.msg}).") from None
    if not isinstance(row, dict):
        raise TiltmeterError(f"{path}, line {number}: expected one JSON object per line.")
    return row


def _json_rows(text: str, path: Path) -> list[Row]:
    try:
        rows = json.loads(text)
    except json.JSONDecodeError as error:
        raise TiltmeterError(f"{path}: not JSON ({error.msg} at line {error.lineno}).") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise TiltmeterError(f"{path}: expected a list of JSON objects.")
    return rows


def read_table(path: Path, encoding: str | None = None) -> list[Row]:
    """Rows of a table file; the separator is the one its header uses most."""
    return parse_table(decode(read_bytes(path), path, encoding), path)


def require_columns(rows: Sequence[Mapping[str, Any]], wanted: Sequence[str], path: Path) -> None:
    """Names the columns that are missing and those that are there."""
    present = list(dict.fromkeys(name for row in rows[:50] for name in row))
    missing = [name for name in wanted if name not in present]
    if missing:
        raise TiltmeterError(
            f"{path} has no column {', '.join(repr(name) for name in missing)}. "
            f"Its columns: {_listed(present)}. "
            "Name yours with --columns, e.g. --columns stereo=my_column,anti=other_column."
        )


def _listed(names: Sequence[str]) -> str:
    """Names for a message; a file without a header would else fill the screen with its first sentences."""
    shown = [repr(name if len(name) <= 40 else name[:39] + "…") for name in names[:12]]
    return ", ".join(shown) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def cell(row: Mapping[str, Any], name: str | None) -> str:
    """A cell as stripped text; missing is empty."""
    value = row.get(name) if name else None
    return "" if value is None else str(value).strip()
