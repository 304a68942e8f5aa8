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

from tiltmeter.errors import TiltmeterError
from tiltmeter.families.pairs.words import WORD

EMBEDDED, WORDFREQ = "tiltmeter's list", "wordfreq"
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def look_up(words: Iterable[str], listed: str | None, corpus: str | None, language: str) -> tuple[dict[str, float], str]:
    """Word → frequency for the words that are known, and the name of the source."""
    wanted = set(words)
    if listed and corpus:
        raise TiltmeterError("Give a frequency list or a corpus, not both.")
    if corpus:
        return _counted(Path(corpus), wanted), Path(corpus).name
    if listed == WORDFREQ:
        return _wordfreq(wanted, language), f"wordfreq ({language})"
    if listed:
        return _listed(Path(listed), wanted), Path(listed).name
    if language != "en":
        raise TiltmeterError(f"{EMBEDDED} is English. For other languages: --frequencies {WORDFREQ}, or a list of yours.")
    with as_file(files("tiltmeter.families.pairs.studies") / "data" / "word_frequencies.tsv.xz") as own:
        return _listed(own, wanted), EMBEDDED


def _wordfreq(wanted: set[str], language: str) -> dict[str, float]:
    try:
        from wordfreq import word_frequency
    except ImportError:
        raise TiltmeterError(
            "wordfreq is not installed (pip install 'tiltmeter[frequency]'). Without --frequencies, tiltmeter's own list is "
            "used."
        ) from None
    try:
        frequencies = {word: float(word_frequency(word, language)) for word in wanted}
    except LookupError as error:
        raise TiltmeterError(f"wordfreq has no list for the language '{language}': {error}.") from None
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
        raise TiltmeterError(f"{path} is not a frequency list: no line has a word of the benchmark and a number.")
    return {word: count for word, count in counts.items() if count > 0}


def _counted(path: Path, wanted: set[str]) -> dict[str, float]:
    counts: Counter[str] = Counter()
    for line in _lines(path):
        counts.update(word for word in WORD.findall(line.lower()) if word in wanted)
    if not counts:
        raise TiltmeterError(f"None of the benchmark's words is in {path}.")
    return {word: float(count) for word, count in counts.items()}


def _lines(path: Path) -> Iterable[str]:
    if not path.is_file():
        raise TiltmeterError(f"There is no file {path}.")
    try:
        with OPENERS.get(path.suffix.lower(), open)(path, "rt", encoding="utf-8", errors="replace") as file:
            yield from file
    except (OSError, lzma.LZMAError, EOFError) as error:
        raise TiltmeterError(f"Cannot read {path}: {error}.") from None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
