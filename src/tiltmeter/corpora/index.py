"""Building the index: a stream of text in blocks of some megabytes, each stored whole, so that a stop costs one block."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa

from tiltmeter.corpora.sentences import WORD, split_sentences
from tiltmeter.errors import InputError
from tiltmeter.storage.compression import reading, require_file, unpack
from tiltmeter.storage.files import read_json, write_json, write_table
from tiltmeter.storage.places import at_home

BLOCK_BYTES = 8_000_000
MOST_CONTEXTS = 1000
FEWEST_WORDS, MOST_WORDS = 5, 40
"""Sentences outside are left out: too little context, or too much for a small model."""
CUT_WITHIN = 65_536
"""A line that is too long for memory is cut at a sentence's end among its last bytes."""
VERSION = 2
Advance = Callable[[float], None]


@dataclass(frozen=True)
class CorpusIndex:
    """A finished index: `blocks` are pairs of files, sentences and postings; `facts` say what went in."""

    folder: Path
    facts: dict[str, int]

    @property
    def blocks(self) -> list[Path]:
        """The postings of each block; its sentences lie beside it."""
        return sorted(self.folder.glob("*.postings.parquet"))


def build_index(paths: Sequence[str | Path], root: Path, advance: Advance | None = None) -> CorpusIndex:
    """The index of these files, from `root` if it is there; else it is built, from where an earlier try stopped.

    The key is the files' content, so that a file may move and never goes stale. `advance` gets the bytes that were read.
    """
    files = [at_home(path) for path in paths]
    for path in files:
        require_file(path, " (--corpus)")
    # In the order of their content: blocks are numbered by file, and the same files may come in another order.
    known = dict(sorted((_digest(path), path) for path in files))
    folder = root / _key(known)
    if (folder / "index.json").is_file():
        return CorpusIndex(folder, read_json(folder / "index.json"))
    facts: Counter[str] = Counter()
    for number, path in enumerate(known.values()):
        facts.update(_index_file(path, folder, number, advance or (lambda _: None)))
    if not facts["sentences"]:
        raise InputError(
            f"{', '.join(map(str, files))}: no sentence has {FEWEST_WORDS} to {MOST_WORDS} words. Give a larger corpus.",
            code="empty-file",
            file=files,
        )
    write_json(folder / "index.json", dict(facts))
    return CorpusIndex(folder, dict(facts))


def _digest(path: Path) -> str:
    with reading(path), path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _key(digests: Iterable[str]) -> str:
    settings = [VERSION, BLOCK_BYTES, MOST_CONTEXTS, FEWEST_WORDS, MOST_WORDS]
    return hashlib.sha256(json.dumps([list(digests), settings]).encode()).hexdigest()[:32]


def _index_file(path: Path, folder: Path, number: int, advance: Advance) -> Counter[str]:
    """One file, block by block; finished blocks are passed over, a finished file is not even opened."""
    done = folder / f"file-{number:04d}.json"
    if done.is_file():
        advance(path.stat().st_size)
        return Counter(read_json(done))
    facts: Counter[str] = Counter()
    for n, (lines, read) in enumerate(_blocks(path)):
        name = f"{number:04d}-{n:05d}"
        said = folder / f"{name}.json"
        if not said.is_file():
            _index_block(lines, folder / name, said, path)
        facts.update(read_json(said))
        advance(read)
    write_json(done, dict(facts))
    return facts


def _blocks(path: Path) -> Iterator[tuple[list[bytes], int]]:
    """Lines of some megabytes at a time, with how many bytes of the file they took."""
    with reading(path), path.open("rb") as raw, unpack(raw, path.suffix) as stream:
        before = 0
        lines: list[bytes] = []
        held = 0
        for line in pieces(stream):
            lines.append(line)
            if len(line) > BLOCK_BYTES - held:
                yield lines, raw.tell() - before
                before, lines, held = raw.tell(), [], 0
            else:
                held += len(line)
        if lines:
            yield lines, raw.tell() - before


def pieces(stream: IO[bytes], most: int = BLOCK_BYTES) -> Iterator[bytes]:
    """The lines of a stream; one longer than `most` bytes in pieces that end where a sentence does, so far as it has ends.

    >>> from io import BytesIO
    >>> list(pieces(BytesIO(b"One here. Two there. Three.\\nFour."), 24))
    [b'One here. Two there. ', b'Three.\\n', b'Four.']
    """
    rest = b""
    while line := rest + stream.readline(most - len(rest)):
        end = len(line) if line.endswith(b"\n") or len(line) < most else _last_end(line)
        yield line[:end]
        rest = line[end:]


def _last_end(line: bytes) -> int:
    """Where to cut: behind the last sentence, else behind the last space, else before the last character begun."""
    whole = len(line)
    while whole > 1 and len(line) - whole < 4 and line[whole - 1] & 0xC0 == 0x80:  # in the middle of a character
        whole -= 1
    whole = whole - 1 if whole > 1 and line[whole - 1] & 0xC0 == 0xC0 else len(line)
    tail = line[max(0, whole - CUT_WITHIN) : whole].decode("utf-8", errors="ignore")
    *_, last = split_sentences(tail)
    if last == tail:
        last = tail[len(tail.rstrip()) :] if tail[-1:].isspace() else (tail.split() or [""])[-1]
    return whole - len(last.encode()) if len(last) < len(tail) else whole


def _index_block(lines: Sequence[bytes], target: Path, said: Path, path: Path) -> None:
    facts: Counter[str] = Counter(lines=len(lines))
    sentences: dict[str, list[str]] = {}  # a sentence that comes twice in a block counts once
    for line in lines:
        if b"\0" in line:
            raise InputError(
                f"{path} does not look like text: it has zero bytes.", code="wrong-format", file=path, expected="text"
            )
        for sentence in split_sentences(_decoded(line, path)):
            words = WORD.findall(sentence)
            if FEWEST_WORDS <= len(words) <= MOST_WORDS:
                sentences[sentence] = words
            else:
                facts["sentences left out by length"] += bool(words)
    facts["sentences"] = len(sentences)
    facts["words"] = sum(map(len, sentences.values()))
    texts = list(sentences)
    priority = np.fromiter((zlib.crc32(text.encode()) for text in texts), np.uint32, len(texts))
    table = pa.table({"text": pa.array(texts, pa.string()), "priority": pa.array(priority)})
    write_table(target.with_name(f"{target.name}.sentences.parquet"), table)
    write_table(target.with_name(f"{target.name}.postings.parquet"), _postings(list(sentences.values()), priority))
    write_json(said, dict(facts))


def _decoded(line: bytes, path: Path) -> str:
    try:
        return line.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        begins = line[:40].decode("utf-8", errors="replace").strip()
        raise InputError(
            f"{path} is not UTF-8 text: {error.reason} at byte {error.start:,} of the line that begins '{begins}'.",
            code="wrong-encoding",
            file=path,
            encoding="utf-8",
        ) from None


def _postings(words: Sequence[Sequence[str]], priority: np.ndarray) -> pa.Table:
    """For each word the sentences it stands in: how many, and those of the lowest priority, up to 1,000.

    The priority is a checksum of the sentence, so these are a random sample that depends on nothing but the text, and
    the sample of all blocks together is among the samples of each.
    """
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    flat = np.fromiter(map(numbers.__getitem__, chain.from_iterable(words)), np.int64)
    owner = np.repeat(np.arange(len(words)), np.fromiter(map(len, words), np.int64, len(words)))
    rank = np.empty(len(words), np.int64)  # a sentence's place by priority
    by_rank = np.argsort(priority, kind="stable")
    rank[by_rank] = np.arange(len(words))
    pairs = np.unique(flat * max(1, len(words)) + rank[owner])  # a word twice in a sentence counts once
    word, place = np.divmod(pairs, max(1, len(words)))
    start = np.searchsorted(word, np.arange(len(numbers) + 1))
    keep = np.arange(len(word)) - start[word] < MOST_CONTEXTS
    count = np.diff(start)
    offsets = np.concatenate([[0], np.cumsum(np.minimum(count, MOST_CONTEXTS))]).astype(np.int32)
    ids = pa.array(by_rank[place[keep]].astype(np.int32))
    columns = {
        "word": pa.array(list(numbers), pa.string()),
        "count": pa.array(count.astype(np.int32)),
        "sentences": pa.ListArray.from_arrays(pa.array(offsets), ids),
    }
    return pa.table(columns)
