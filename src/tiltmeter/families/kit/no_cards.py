"""Cards of families whose answers are not about single items: the explorer shows nothing for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tiltmeter.families.kit.answers import Answers


def cards(_answers: Answers, _models: Sequence[str], _pack: Any) -> Iterator[dict[str, Any]]:
    """No cards."""
    yield from ()
