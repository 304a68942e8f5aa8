"""Values of a TOML file, each of the type that it must have, or an error that names the key."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tiltmeter.errors import InputError, require_known


def read_toml(path: Path, subject: str = "") -> dict[str, Any]:
    """Read a TOML file of the user's. `subject` names what it holds, for messages: "the experiment file"."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"Cannot read {f'{subject} {path}'.strip()}: {error.strerror or error}.",
            code="unreadable-file",
            file=path,
            reason=error.strerror or str(error),
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"{path} is not TOML: {error}.", code="wrong-format", file=path, expected="TOML", reason=str(error)
        ) from None


def refuse_unknown(table: Mapping[str, Any], keys: Iterable[str], where: str) -> None:
    """Raise an error for an unknown key, with a suggestion."""
    require_known("key", table, keys, place=where, error=InputError)


def text_of(table: Mapping[str, Any], key: str, path: Path, default: str | None = None) -> str:
    """Text, or the default."""
    value = table.get(key, default)
    if not isinstance(value, str):
        raise _wrong_type(table, key, path, "text")
    return value


def list_of(table: Mapping[str, Any], key: str, path: Path, default: list[Any] | None = None) -> list[Any]:
    """A list, or the default; one text stands for a list of one."""
    value = table.get(key, default)
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or (default is None and not value):
        raise _wrong_type(table, key, path, "a list")
    return value


def table_of(table: Mapping[str, Any], key: str, path: Path) -> dict[str, Any]:
    """A table, or an empty one."""
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise _wrong_type(table, key, path, f"a table, [{key}]")
    return dict(value)


def tables_of(table: Mapping[str, Any], key: str, path: Path) -> list[dict[str, Any]]:
    """An array of tables, or none."""
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise _wrong_type(table, key, path, f"tables, [[{key}]]")
    return value


def _wrong_type(table: Mapping[str, Any], key: str, path: Path, expected: str) -> InputError:
    is_missing = key not in table
    return InputError(
        f"{path}: '{key}' must be {expected}" + ("; it is missing." if is_missing else f", not {table[key]!r}."),
        code="missing-value" if is_missing else "wrong-type",
        file=path,
        name=key,
        expected=expected,
    )
