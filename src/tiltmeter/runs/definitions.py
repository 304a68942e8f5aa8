"""What a score means, as a digest of the code that computes it, so that scores by another definition are told apart."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable
from functools import cache

from tiltmeter import catalog


def definitions(scorers: Iterable[str]) -> dict[str, str]:
    """Scorer → digest of its file; those that are no scorers of ours or of an installed package have none."""
    return {name: _digest(name) for name in scorers if name in catalog.names("scorers")}


@cache
def _digest(scorer: str) -> str:
    source = inspect.getsource(catalog.module("scorers", scorer))
    return hashlib.sha256(source.encode()).hexdigest()[:16]
