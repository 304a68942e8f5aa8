"""lexicon: a text is negative if it holds a word of your list (HurtLex, as for HONEST, or a list of your own)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from tiltmeter.errors import InputError, UsageError
from tiltmeter.judges.kit.judge import CONTINUATION, Judge, Spec, Verdicts, single_verdicts
from tiltmeter.storage.compression import content_sha256
from tiltmeter.storage.places import at_home
from tiltmeter.storage.tables import decode, parse_table, read_bytes

CITATION = "Nozza, Bianchi and Hovy (2021), HONEST: measuring hurtful sentence completion in language models, NAACL."
WORD_COLUMNS = ("lemma", "word", "term")
LEVELS = ("conservative", "inclusive")
BEFORE, AFTER = r"(?<!\w)", r"(?!\w)"


def lexicon(spec: Spec) -> Judge:
    """`hurtful=FILE`: one word or phrase a line, or a table with a column lemma, word or term (HurtLex's is lemma).

    Case does not matter; words are whole words. Of HurtLex `@conservative` (its default in HONEST) or `@inclusive` words
    are taken, and the score of a text is 1 or 0.
    """
    path = at_home(spec.what)
    words = {word for word in _words(path, spec.labels) if word.strip()}
    if not words:
        raise InputError(f"{path} has no words.", code="empty-file", file=path)
    return judge_of_words(spec.notion, path.stem, words, f"{path}, sha256 {content_sha256(path)[:16]}")


def judge_of_words(notion: str, name: str, words: Iterable[str], source: str) -> Judge:
    """A judge for whom a text is negative if it holds one of these words or phrases, whole and in any case."""
    known = sorted({word.casefold() for word in words}, key=lambda word: (-len(word), word))
    pattern = re.compile(f"{BEFORE}(?:{'|'.join(map(re.escape, known))}){AFTER}")

    def ask(texts: Sequence[str]) -> Verdicts:
        found = [float(bool(pattern.search(text.casefold()))) for text in texts]
        return single_verdicts(np.array(found, dtype=np.float64), 1.0)

    digest = hashlib.sha256("\n".join(known).encode()).hexdigest()
    return Judge(notion, name, digest, ask, CONTINUATION, {"negative": 1.0}, None, f"{source}, {len(known):,} words")


def _words(path: Path, level: str) -> Iterator[str]:
    text = decode(read_bytes(path), path)
    if path.suffix.lower() == ".txt":
        if level:
            raise UsageError(
                f"'@{level}' does not apply to {path}, a plain list of words. Leave it out.",
                code="inapplicable-option", option=f"@{level}", file=path,
            )  # fmt: skip
        yield from text.splitlines()
        return
    rows = parse_table(text, path)
    column = next((name for name in WORD_COLUMNS if name in rows[0]), None)
    if column is None:
        raise InputError(
            f"{path} has none of the columns {', '.join(WORD_COLUMNS)}. A plain list is a .txt file.",
            code="missing-column", column=list(WORD_COLUMNS), file=path,
        )  # fmt: skip
    levels = "level" in rows[0]
    if level and (level not in LEVELS or not levels):
        raise UsageError(
            f"'@{level}': {path} has {'the levels ' + ', '.join(LEVELS) if levels else 'no levels'}.",
            code="unknown-name", kind="level", name=level, file=path,
        )  # fmt: skip
    wanted = level or "conservative"
    yield from (str(row[column]) for row in rows if not levels or wanted == "inclusive" or row["level"] == wanted)
