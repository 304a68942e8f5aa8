"""Word frequencies: from the embedded list, the `wordfreq` package, a list of counts, or counted in the user's text."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections import Counter
from collections.abc import Callable, Iterable
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from tiltmeter.errors import InputError, UsageError
from tiltmeter.families.pairs.words import WORD

EMBEDDED, WORDFREQ = "tiltmeter's list", "wordfreq"
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def look_up(words: Iterable[str], listed: str | None, corpus: str | None, language: str) -> tuple[dict[str, float], str]:
    """Word → frequency for the words that are known, and the name of the source."""
    wanted = set(words)
    if listed and corpus:
        raise UsageError(
            "Give a frequency list or a corpus, not both.", code="conflicting-options", options=["frequencies", "corpus"]
        )
    if corpus:
        return _counted(Path(corpus), wanted), Path(corpus).name
    if listed == WORDFREQ:
        return _wordfreq(wanted, language), f"wordfreq ({language})"
    if listed:
        return _listed(Path(listed), wanted), Path(listed).name
    if language != "en":
        raise UsageError(
            f"{EMBEDDED} is English. For other languages: --frequencies {WORDFREQ}, or a list of yours.",
            code="unknown-name", option="language", name=language, names=["en"],
        )  # fmt: skip
    with as_file(files("tiltmeter.families.pairs.studies") / "data" / "word_frequencies.tsv.xz") as own:
        return _listed(own, wanted), EMBEDDED


def _wordfreq(wanted: set[str], language: str) -> dict[str, float]:
    try:
        from wordfreq import word_frequency
    except ImportError:
        raise UsageError(
            "wordfreq is not installed (pip install wordfreq). Without --frequencies, tiltmeter's own list is "
            "used.",
            code="missing-package", package="wordfreq",
        ) from None  # fmt: skip
    try:
        frequencies = {word: float(word_frequency(word, language)) for word in wanted}
    except LookupError as error:
        raise UsageError(
            f"wordfreq has no list for the language '{language}': {error}.",
            code="unknown-name", option="language", name=language,
        ) from None  # fmt: skip
    return {word: frequency for word, frequency in frequencies.items() if frequency > 0}


def _listed(path: Path, wanted: set[str]) -> dict[str, float]:
    """Frequencies from lines of a word and a number, separated by a tab, a comma, a semicolon or spaces."""
    counts: dict[str, float] = {}
    for line in _lines(path):
        if line.startswith("#"):
            continue
        cells = line.replace("\t", " ").replace(",", " ").replace(";", " ").split()
        if len(cells) == 2 and (word := cells[0].lower()) in wanted and (count := _number(cells[1])):
            counts[word] = counts.get(word, 0.0) + count
    if not counts:
        raise InputError(
            f"{path} is not a frequency list: no line has a word of the benchmark and a number.",
            code="wrong-format", file=str(path),
        )  # fmt: skip
    return {word: count for word, count in counts.items() if count > 0}


def _counted(path: Path, wanted: set[str]) -> dict[str, float]:
    counts: Counter[str] = Counter()
    for line in _lines(path):
        counts.update(word for word in WORD.findall(line.lower()) if word in wanted)
    if not counts:
        raise InputError(f"None of the benchmark's words is in {path}.", code="empty-selection", file=str(path))
    return {word: float(count) for word, count in counts.items()}


def _lines(path: Path) -> Iterable[str]:
    if not path.is_file():
        raise InputError(f"There is no file {path}.", code="missing-file", file=str(path))
    try:
        with OPENERS.get(path.suffix.lower(), open)(path, "rt", encoding="utf-8", errors="replace") as file:
            yield from file
    except (OSError, lzma.LZMAError, EOFError) as error:
        raise InputError(f"Cannot read {path}: {error}.", code="unreadable-file", file=str(path)) from None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
