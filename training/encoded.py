"""Text as token ids in flat arrays: encoded once on all cores, kept on disk, small enough to live on the GPU."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.corpora.sentences import split_sentences
from tiltmeter.errors import TiltmeterError
from training.recipe import Recipe
from training.text import is_held_out, read_lines

CHUNK = 5_000  # lines
BYTE_LEVEL = ("roberta", "gpt2")


@dataclass(frozen=True)
class Encoded:
    """Sentences one after the other: all token ids, the length of each sentence, and whether it begins a line."""

    tokens: NDArray[np.uint16]
    lengths: NDArray[np.int32]
    starts: NDArray[np.bool_]

    def save(self, path: Path) -> None:
        """Written whole or not at all."""
        part = path.with_suffix(".part.npz")
        np.savez(part, tokens=self.tokens, lengths=self.lengths, starts=self.starts)
        part.replace(path)

    @classmethod
    def load(cls, path: Path) -> Encoded:
        """As saved."""
        try:
            with np.load(path) as stored:
                return cls(stored["tokens"], stored["lengths"], stored["starts"])
        except Exception as error:  # a damaged file fails in many ways
            raise TiltmeterError(f"{path} is damaged ({type(error).__name__}): delete its folder to begin again.") from None


def encode_text(paths: Sequence[Path], tokenizer: Any, recipe: Recipe) -> tuple[Encoded, list[str]]:
    """The training part of the text, and the held-out lines."""
    encode = partial(_encode, tokenizer.backend_tokenizer.to_str(), recipe.architecture in BYTE_LEVEL)
    chunks = _chunks(read_lines(paths))
    first = list(islice(chunks, 2))
    parts = _encode_all(encode, chain(first, chunks)) if len(first) > 1 else [encode(first[0])]
    return _join([part for part, _ in parts]), [line for _, held_out in parts for line in held_out]


def _chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    iterator = iter(lines)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk


def _encode_all(encode: partial[tuple[Encoded, list[str]]], chunks: Iterable[list[str]]) -> list[tuple[Encoded, list[str]]]:
    """In fresh processes: torch and the tokenizer have threads by now, for which a forked one may wait forever."""
    with get_context("spawn").Pool(os.cpu_count(), _begin) as workers:
        return list(workers.imap(encode, chunks))


def _begin() -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the processes are the parallelism
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; one of them is enough to tell of it


@lru_cache(maxsize=1)
def _core(stored: str) -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_str(stored)


def _encode(tokenizer: str, spaced: bool, lines: Sequence[str]) -> tuple[Encoded, list[str]]:
    kept = [line for line in lines if not is_held_out(line)]
    return _encode_lines(_core(tokenizer), spaced, kept), [line for line in lines if is_held_out(line)]


def _encode_lines(core: Any, spaced: bool, lines: Sequence[str]) -> Encoded:
    sentences = [split_sentences(line) for line in lines]
    # A byte-level tokenizer writes the space before a word into its token, so a later sentence keeps the space before it.
    texts = [" " * (n > 0 and spaced) + text for one in sentences for n, text in enumerate(one)]
    ids = [encoding.ids for encoding in core.encode_batch_fast(texts, add_special_tokens=False)]
    lengths = np.fromiter(map(len, ids), np.int32, len(ids))
    tokens = np.fromiter((token for one in ids for token in one), np.uint16, int(lengths.sum()))
    starts = np.fromiter((n == 0 for one in sentences for n in range(len(one))), np.bool_, len(ids))
    return Encoded(tokens, lengths, starts)


def _join(parts: Sequence[Encoded]) -> Encoded:
    tokens, lengths, starts = (
        np.concatenate([getattr(one, name) for one in parts]) for name in ("tokens", "lengths", "starts")
    )
    return Encoded(tokens, lengths, starts)
