"""Keywords of the earlier version: accepted with a DeprecationWarning that names the replacement."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Translation(NamedTuple):
    """The keywords to call a function with, and the new spelling of the old ones; an empty one gives no warning."""

    keywords: Mapping[str, Any]
    replacement: str = ""


Translate = Callable[[tuple[Any, ...], Mapping[str, Any], Mapping[str, Any]], Translation]
"""A function of the positional arguments, the keywords that a function has, and those that it does not have."""


def accept_old_keywords(translate: Translate) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function that took more keywords in the earlier version. Its signature shows only the present ones.

    Args:
        translate: Gives the present keywords; raises a TiltmeterError for a keyword that never was one.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        known = frozenset(inspect.signature(function).parameters)

        @wraps(function)
        def call(*args: P.args, **keywords: P.kwargs) -> T:
            present = {name: value for name, value in keywords.items() if name in known}
            old = {name: value for name, value in keywords.items() if name not in known}
            new = translate(args, present, old)
            if new.replacement:
                given = ", ".join(f"{name}=…" for name in old or present)
                warnings.warn(
                    f"tiltmeter.{function.__name__}({given}) will be removed in the next version. Use {new.replacement}.",
                    DeprecationWarning,
                    stacklevel=2,
                )
            return function(*args, **new.keywords)

        return call

    return decorate
