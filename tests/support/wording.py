"""Facts of the sentences that a reader gets: tests check codes and fields, not the wording."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tiltmeter.display import Statement


def stated(sentences: Iterable[str], code: str) -> dict[str, Any]:
    """Fields of the one sentence that has this code; an empty mapping where there is none.

    >>> stated([Statement("{n} are missing.", "missing", n=2), "Another."], "missing")
    {'n': 2}
    """
    matches = all_stated(sentences, code)
    assert len(matches) < 2, f"several sentences have the code {code}"
    return matches[0] if matches else {}


def all_stated(sentences: Iterable[str], code: str) -> list[dict[str, Any]]:
    """Fields of every sentence that has this code."""
    return [sentence.fields for sentence in sentences if isinstance(sentence, Statement) and sentence.code == code]


def codes_of(sentences: Iterable[str]) -> list[str]:
    """Codes of sentences, in order; sentences without one are left out."""
    return [sentence.code for sentence in sentences if isinstance(sentence, Statement)]
