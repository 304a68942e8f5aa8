"""JSON as it is defined: no NaN, no name twice in an object, no number or nesting that nothing else could read."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from tiltmeter.errors import InputError

MOST_DIGITS = 100
DEEPEST = 100


def parse_json(text: str, where: str, what: str = "JSON", *, nan_is_null: bool = False) -> Any:
    """Parse strict JSON. Messages of errors begin with `where`. `nan_is_null`: NaN of files that others wrote is None.

    >>> parse_json('{"a": 1, "a": 2}', "mine.json")
    Traceback (most recent call last):
    tiltmeter.errors.InputError: mine.json: the name 'a' occurs twice in one object.
    """
    constant = (lambda _: None) if nan_is_null else _constant
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=constant, parse_float=_float, parse_int=_integer)
        _check_depth(value, 0)
    except json.JSONDecodeError as error:
        line = f" at line {error.lineno}" if error.lineno > 1 else ""
        raise InputError(
            f"{where}: not {what} ({error.msg}{line}).", code="wrong-format", place=where, expected=what, line=error.lineno
        ) from None
    except RecursionError:
        raise InputError(
            f"{where}: nested more than {DEEPEST} deep.", code="wrong-format", place=where, expected=what
        ) from None
    except (ValueError, OverflowError) as error:
        raise InputError(f"{where}: {error}.", code="wrong-format", place=where, expected=what) from None
    return value


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the name '{next(name for name in names if names.count(name) > 1)}' occurs twice in one object")
    return made


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON; write null for a missing value")


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:20]} is too large")
    return number


def _integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits is too large")
    return int(digits)


def _check_depth(value: Any, depth: int) -> None:
    if depth > DEEPEST:
        raise RecursionError
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return
    for inner in value:
        if isinstance(inner, (dict, list)):
            _check_depth(inner, depth + 1)
