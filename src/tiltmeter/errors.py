"""Errors that a user can correct: each has a code, fields, and a message that says what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

_SHORTENED_URL = re.compile(r"\b(https?):/(?=[^/\s])")
"""A URL that was taken for a path, which has lost a slash."""
NEAR = 0.6
"""Similarity from which on a name is suggested in place of one that does not exist."""


class TiltmeterError(Exception):
    """An error in the input or the request. The command line prints its message without a traceback and exits with 2.

    Args:
        message: What went wrong, where, and what to do.
        code: A stable name of the kind of error, such as "missing-column". Tests and scripts check codes and fields; wording
            may change in any version.
        fields: The facts that the message mentions, such as `column` and `file`.

    >>> error = InputError("pairs.csv has no column 'stereo'.", code="missing-column", column="stereo", file="pairs.csv")
    >>> error.code, error.fields["column"], str(error)
    ('missing-column', 'stereo', "pairs.csv has no column 'stereo'.")
    """

    def __init__(self, message: str, *, code: str = "error", **fields: Any) -> None:
        super().__init__(_SHORTENED_URL.sub(r"\1://", message))
        self.code = code
        self.fields = fields

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep code and fields when an error crosses a process boundary."""
        return _rebuild, (type(self), str(self), self.code, self.fields)

    def to_dict(self) -> dict[str, Any]:
        """Return code, message and fields, as `--json` commands print them."""
        return {"error": self.code, "message": str(self), **{name: _plain(value) for name, value in self.fields.items()}}


class InputError(TiltmeterError):
    """A file of the user's cannot be read as it should be: a benchmark, a list of words, predictions, rules."""


class UsageError(TiltmeterError):
    """An option or argument is unknown, out of range, or does not apply to what was requested."""


class ModelError(TiltmeterError):
    """A model cannot be found, loaded, trusted or run."""


class ServerError(ModelError):
    """A server that answers for a model is unreachable, refuses, or fails a check."""


class RunError(TiltmeterError):
    """A run folder, a cache or another stored result is missing, damaged, or not comparable with another."""


def require_known(
    kind: str,
    wanted: str | Iterable[str],
    names: Iterable[str],
    *,
    place: str = "",
    error: type[TiltmeterError] = UsageError,
    **fields: Any,
) -> None:
    """Raise an error for the first name that is not among the known ones, with a suggestion.

    Args:
        kind: What the names name, such as "engine".
        wanted: One name, or several.
        names: All names that there are.
        place: Where the unknown name was found; the message opens with it.
        error: The class of the error.
        fields: More fields of the error; `meant` is the name that is suggested, or None.

    >>> require_known("engine", "rya", ["local", "ray"])
    Traceback (most recent call last):
    tiltmeter.errors.UsageError: There is no engine 'rya'. Did you mean 'ray'? Engines: local, ray.
    """
    existing = list(names)
    for name in [wanted] if isinstance(wanted, str) else wanted:
        if name not in existing:
            unknown = f"{place}: unknown {kind} '{name}'" if place else f"There is no {kind} '{name}'"
            near = next(iter(get_close_matches(str(name), list(map(str, existing)), 1, NEAR)), None)
            meant = f" Did you mean '{near}'?" if near else ""
            fields |= {"place": place} if place else {}
            raise error(
                f"{unknown}.{meant} {_plural(kind).capitalize()}: {', '.join(existing) or 'none'}.",
                code="unknown-name", kind=kind, name=name, meant=near, names=existing, **fields,
            )  # fmt: skip


def require_choice(
    option: str, value: str, allowed: Iterable[str], *, error: type[TiltmeterError] = UsageError, **fields: Any
) -> None:
    """Raise an error for a value that an option does not have.

    >>> require_choice("--sides", "three", ["one", "two"])
    Traceback (most recent call last):
    tiltmeter.errors.UsageError: --sides must be one or two, not 'three'.
    """
    names = list(allowed)
    if value not in names:
        listed = " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        raise error(
            f"{option} must be {listed}, not '{value}'.",
            code="unknown-name", kind=option.rpartition(" ")[2].lstrip("-"), name=value, names=names, option=option,
            **fields,
        )  # fmt: skip


def _plural(kind: str) -> str:
    """Form the plural of a noun.

    >>> [_plural(kind) for kind in ("key", "category", "engine")]
    ['keys', 'categories', 'engines']
    """
    return f"{kind[:-1]}ies" if kind[-1:] == "y" and kind[-2:-1] not in "aeou" else f"{kind}s"


def _rebuild(kind: type[TiltmeterError], message: str, code: str, fields: dict[str, Any]) -> TiltmeterError:
    error = kind.__new__(kind)
    TiltmeterError.__init__(error, message, code=code, **fields)
    return error


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    return str(value)
