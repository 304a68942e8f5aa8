"""Asking the index: for each word, a random sample of the sentences it stands in, and where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tiltmeter.corpora.index import MOST_CONTEXTS, CorpusIndex
from tiltmeter.corpora.sentences import find_word
from tiltmeter.errors import TiltmeterError


@dataclass
class Contexts:
    """Of one word: in how many sentences it stands, and some of them with its place in each."""

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
        raise TiltmeterError(f"The index keeps up to {MOST_CONTEXTS:,} contexts a word; {most:,} cannot be taken.")
    anchors = {word: word.split() for word in words}
    singles = sorted({spelt for parts in anchors.values() for part in parts for spelt in spellings(part)})
    found, texts = _lookup(index, singles)
    contexts = {}
    for word, parts in anchors.items():
        postings = [_merged([found[spelt] for spelt in spellings(part) if spelt in found]) for part in parts]
        rarest = min(postings, key=lambda one: one[0])
        contexts[word] = _choose(word, rarest, texts, most)
    return contexts


Postings = tuple[int, list[tuple[int, Path, int]]]


def _merged(parts: Sequence[Postings]) -> Postings:
    """All spellings of a word: how many sentences, and (priority, block, row) of those that are kept."""
    return sum(count for count, _ in parts), sorted(set().union(*(places for _, places in parts)))


def _lookup(index: CorpusIndex, words: Sequence[str]) -> tuple[dict[str, Postings], dict[tuple[Path, int], str]]:
    """Postings of the words over all blocks, cut to the lowest priorities, and the texts that they name."""
    found: dict[str, Postings] = {}
    texts: dict[tuple[Path, int], str] = {}
    for block in index.blocks:
        beside = block.with_name(block.name.replace(".postings.", ".sentences."))
        try:
            table = pq.read_table(block)
            sentences = pq.read_table(beside)
        except (OSError, pa.ArrowException) as error:
            raise TiltmeterError(f"The corpus index is damaged ({error}). Delete {index.folder}.") from None
        table = table.filter(pc.is_in(table["word"], pa.array(words, pa.string())))
        priority = sentences["priority"].to_numpy()
        rows = [np.asarray(ids, np.int64) for ids in table["sentences"].to_pylist()]
        for word, count, ids in zip(table["word"].to_pylist(), table["count"].to_pylist(), rows, strict=True):
            before = found.get(word, (0, []))
            places = before[1] + [(int(priority[row]), block, row) for row in ids.tolist()]
            found[word] = before[0] + count, sorted(places)[:MOST_CONTEXTS]
        wanted = np.unique(np.concatenate(rows)) if rows else np.empty(0, np.int64)
        chosen = sentences["text"].take(pa.array(wanted)).to_pylist()
        texts |= {(block, row): text for row, text in zip(wanted.tolist(), chosen, strict=True)}
    return found, texts


def _choose(word: str, postings: Postings, texts: dict[tuple[Path, int], str], most: int) -> Contexts:
    """The first `most` different sentences that the word or phrase really stands in."""
    count, places = postings
    chosen: dict[str, tuple[int, int]] = {}
    for _, block, row in places:
        text = texts[block, row]
        span = find_word(text, spellings(word))
        if span and len(chosen) < most:
            chosen.setdefault(text, span)
    return Contexts(count if " " not in word else len(chosen), list(chosen.items()))
