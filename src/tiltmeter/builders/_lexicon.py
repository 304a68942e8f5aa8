"""Word lists of the neutraliser, in data/neutral_words.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files


@cache
def words(name: str) -> frozenset[str]:
    """A list by name."""
    return _all()[name]


@cache
def _all() -> dict[str, frozenset[str]]:
    text = (files("tiltmeter.builders") / "data" / "neutral_words.toml").read_text("utf-8")
    return {name: frozenset(listed) for name, listed in tomllib.loads(text).items()}
