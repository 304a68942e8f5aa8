"""Word lists of the neutraliser, in data/neutral_words.toml."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tiltmeter.storage.toml import read_toml

FILE = Path(__file__).parent / "data" / "neutral_words.toml"


@cache
def words(name: str) -> frozenset[str]:
    """A list by name."""
    return _all()[name]


@cache
def _all() -> dict[str, frozenset[str]]:
    return {name: frozenset(listed) for name, listed in read_toml(FILE).items()}
