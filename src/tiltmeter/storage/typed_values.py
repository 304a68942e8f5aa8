"""Values that somebody gives by name: each of the type that its field of a dataclass has, or an error that names it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, ClassVar, Protocol, get_args, get_origin, get_type_hints

from tiltmeter.errors import UsageError


class OptionsObject(Protocol):
    """Options of one family: `PairsOptions`, `SlotsOptions`, …, or the dataclass that a family of another package has."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false", Path: "a path", NoneType: "nothing"}

PLAIN: dict[Any, Any] = {float: (int, float), Path: (str, Path)}
"""Other types that may be used for a type."""


def check_types(kind: type, values: Mapping[str, Any], where: str = "") -> None:
    """Raise an error for the first value that does not have its field's type. Names without a field are ignored."""
    hints = _hints(kind)
    for name, value in values.items():
        if name in hints and not fits(hints[name], value):
            prefix = f"{where}: " if where else ""
            raise UsageError(
                f"{prefix}'{name}' must be {described(hints[name])}, not {_short(value)}.",
                code="wrong-type",
                place=where,
                name=name,
                expected=described(hints[name]),
                value=value,
            )


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def fits(hint: Any, value: Any) -> bool:
    """Return True if a value has a type. A path may be text, and a list may be its only member."""
    origin, members = get_origin(hint), get_args(hint)
    if origin in (Sequence, tuple, list):
        several = value if isinstance(value, list | tuple) else [value]
        return all(fits(members[0], each) for each in several)
    if origin is Mapping or origin is dict:
        return isinstance(value, Mapping) and all(fits(members[0], k) and fits(members[1], v) for k, v in value.items())
    if members:  # one of several types
        return any(fits(member, value) for member in members)
    return isinstance(value, PLAIN.get(hint, hint if hint in WORDS else object)) and not _is_no_number(hint, value)


def _is_no_number(hint: Any, value: Any) -> bool:
    """True is no number here, nor is what no computation would survive."""
    return hint in (int, float) and (isinstance(value, bool) or abs(value) >= 2**63 or not math.isfinite(value))


def described(hint: Any) -> str:
    """A type in words."""
    origin, members = get_origin(hint), get_args(hint)
    if origin in (Sequence, tuple, list):
        return f"a list, each of it {described(members[0])}"
    if origin is Mapping or origin is dict:
        return "a table of texts"
    if members:
        return " or ".join(dict.fromkeys(described(member) for member in members if member is not NoneType))
    return WORDS.get(hint, str(getattr(hint, "__name__", hint)))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
