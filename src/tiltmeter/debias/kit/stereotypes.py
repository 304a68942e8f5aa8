"""Stereotype words: occupations, traits and activities that no group owns. A list of ours, or a file."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from tiltmeter.errors import InputError
from tiltmeter.storage.places import at_home

OURS = "stereotype_words.jsonl"


def stereotype_words(path: str | Path | None = None) -> tuple[str, ...]:
    """Read stereotype words without repeats, in order: from a file with a word a line, or JSONL rows with `word`."""
    if path is None:
        text = (files("tiltmeter.debias") / "data" / OURS).read_text("utf-8")
    else:
        try:
            text = at_home(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"Cannot read the stereotype words in {path}: {error}.", code="unreadable-file", file=path
            ) from None
    words = dict.fromkeys(word for line in text.splitlines() if (word := _word(line, str(path))))
    if not words:
        raise InputError(f"{path} has no words.", code="empty-file", file=path)
    return tuple(words)


def _word(line: str, where: str) -> str:
    if not line.lstrip().startswith("{"):
        return " ".join(line.split())
    try:
        return " ".join(str(json.loads(line)["word"]).split())
    except (ValueError, KeyError):
        raise InputError(
            f"{where}: a row of stereotype words needs a column 'word': {line[:80]}.",
            code="missing-column", column="word", file=where,
        ) from None  # fmt: skip
