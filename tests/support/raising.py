"""Assertions about errors: their code and fields, not their wording."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tiltmeter.errors import TiltmeterError


@contextmanager
def raises(code: str, kind: type[TiltmeterError] = TiltmeterError, /, **fields: Any) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Expect an error with this code and at least these fields; paths are compared as text.

    >>> with raises("missing-file", file="a.csv"):
    ...     raise TiltmeterError("There is no file a.csv.", code="missing-file", file="a.csv", folder=".")
    """
    with pytest.raises(kind) as caught:
        yield caught
    check(caught.value, code, **fields)


def check(error: TiltmeterError, code: str, /, **fields: Any) -> None:
    """Assert that an error has this code and at least these fields."""
    assert error.code == code, f"{error.code}: {error}"
    for name, value in fields.items():
        assert name in error.fields, f"{name} is not a field of {code}: {sorted(error.fields)}"
        assert error.fields[name] == value or str(error.fields[name]) == str(value), f"{name}: {error.fields[name]!r}"
