"""Queries of the index: for each word, a random sample of the sentences that contain it, and its place in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tiltmeter.corpora.index import MOST_CONTEXTS, CorpusIndex
from tiltmeter.corpora.sentences import WORD, find_word
from tiltmeter.errors import RunError, UsageError


@dataclass
class Contexts:
    """Contexts of one word: the number of sentences with it, and some of them with its position in each."""

    count: int = 0
    passages: list[tuple[str, tuple[int, int]]] = field(default_factory=list)


def spellings(word: str) -> tuple[str, ...]:
    """A word in lower case is also sought with a capital, as at the start of a sentence; a name only as it is.

    >>> spellings("kind"), spellings("White")
    (('kind', 'Kind'), ('White',))
    """
    return (word, word[:1].upper() + word[1:]) if word == word.lower() else (word,)


def find_contexts(index: CorpusIndex, words: Sequence[str], most: int = MOST_CONTEXTS) -> dict[str, Contexts]:
    """Up to `most` contexts of each word, the same ones every time. A phrase is sought where its rarest word stands."""
    if not 1 <= most <= MOST_CONTEXTS:
        raise UsageError(
            f"The index keeps 1 to {MOST_CONTEXTS:,} contexts of each word; {most:,} were requested.",
            code="out-of-range",
            name="contexts",
            value=most,
            low=1,
            high=MOST_CONTEXTS,
        )
    anchors = {word: WORD.findall(word) for word in words}  # as the index cuts: a hyphen parts words
    singles = sorted({spelt for parts in anchors.values() for part in parts for spelt in spellings(part)})
    known = _lookup(index, singles)
    rarest = {}
    for word, parts in anchors.items():
        postings = [_merged([known[spelt] for spelt in spellings(part) if spelt in known]) for part in parts]
        rarest[word] = min(postings, key=lambda counted: counted[0], default=(0, []))
    texts = _texts(index, {(block, row) for _, places in rarest.values() for _, block, row in places})
    return {word: _choose(word, anchors[word] == [word], rarest[word], texts, most) for word in words}


Place = tuple[Path, int]
Postings = tuple[int, list[tuple[int, Path, int]]]


def _merged(parts: Sequence[Postings]) -> Postings:
    """All spellings of a word: how many sentences, and (priority, block, row) of those that are kept."""
    return sum(count for count, _ in parts), sorted(set().union(*(places for _, places in parts)))


def _lookup(index: CorpusIndex, words: Sequence[str]) -> dict[str, Postings]:
    """Postings of the words over all blocks, cut to the lowest priorities."""
    postings: dict[str, Postings] = {}
    wanted = pa.array(words, pa.string())
    for block in index.blocks:
        table = _read(index, block)
        table = table.filter(pc.is_in(table["word"], wanted))
        priority = _read(index, _sentences(block), "priority").to_numpy()
        for word, count, rows in zip(*(table[name].to_pylist() for name in ("word", "count", "sentences")), strict=True):
            before = postings.get(word, (0, []))
            places = before[1] + [(int(priority[row]), block, row) for row in rows]
            postings[word] = before[0] + count, sorted(places)[:MOST_CONTEXTS]
    return postings


def _texts(index: CorpusIndex, places: Iterable[Place]) -> dict[Place, str]:
    """The sentences at these places alone: those of all blocks together would be most of a corpus."""
    by_block: dict[Path, list[int]] = {}
    for block, row in places:
        by_block.setdefault(block, []).append(row)
    texts: dict[Place, str] = {}
    for block, rows in by_block.items():
        chosen = _read(index, _sentences(block), "text").take(pa.array(rows)).to_pylist()
        texts |= {(block, row): text for row, text in zip(rows, chosen, strict=True)}
    return texts


def _sentences(postings: Path) -> Path:
    return postings.with_name(postings.name.replace(".postings.", ".sentences."))


def _read(index: CorpusIndex, path: Path, column: str | None = None) -> Any:
    """A table of the index, or one column of it."""
    try:
        table = pq.read_table(path.absolute(), columns=None if column is None else [column], page_checksum_verification=True)
    except (OSError, pa.ArrowException) as error:
        raise RunError(
            f"The corpus index is damaged ({error}). Delete {index.folder}, then run the command again.",
            code="damaged-file",
            file=path,
            reason=str(error),
        ) from None
    return table if column is None else table[column]


def _choose(word: str, single: bool, postings: Postings, texts: dict[Place, str], most: int) -> Contexts:
    """The first `most` different sentences that the word or phrase really stands in."""
    count, places = postings
    chosen: dict[str, tuple[int, int]] = {}
    for _, block, row in places:
        text = texts[block, row]
        span = find_word(text, spellings(word))
        if span and len(chosen) < most:
            chosen.setdefault(text, span)
    return Contexts(count if single else len(chosen), list(chosen.items()))
