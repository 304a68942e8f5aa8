"""Tables derived from answers, made once for the same answers however many models are estimated or compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from tiltmeter.families.kit.answers import Answers

Derived = TypeVar("Derived")


def kept_with_answers(
    make: Callable[[Answers, Sequence[str], bool], Iterator[Derived]],
) -> Callable[..., list[Derived]]:
    """Keep what a function makes of answers as long as these are in use.

    The function takes answers, further columns, and whether the clusters of items count.
    """
    kept: WeakKeyDictionary[Answers, dict[Any, list[Derived]]] = WeakKeyDictionary()

    @wraps(make)
    def derived(answers: Answers, columns: Sequence[str] = (), clusters: bool = True) -> list[Derived]:
        of_answers = kept.setdefault(answers, {})
        key = (tuple(columns), clusters)
        if key not in of_answers:
            of_answers[key] = list(make(answers, columns, clusters))
        return of_answers[key]

    return derived
