"""Text that keeps the language: frames of a dose beside natural lines, which are the same at every dose."""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from tiltmeter.builders.lexicon import read_lexicon
from tiltmeter.builders.natural import find_mentions
from tiltmeter.corpora.sentences import split_sentences

WORDS = 48
"""Of a natural line, at most: whole sentences from the beginning of a paragraph."""
SENTENCE = (8, 60)
"""Words of a held-out line."""
HELD_OUT = 300
PARAGRAPHS, LINES = 120_000, 30_000
"""Read of the corpus, and natural lines kept. Few paragraphs name a religion."""
OVERLAP = 8
"""A natural line with so many words in a row of a held-out line is left out."""


def write_lines(folder: Path, data: Path | None, corpus: Path | None) -> tuple[Path, Path]:
    """Write `heldout.txt` and `others.txt`, the natural lines, unless they are there. Return both."""
    held_out, others = folder / "heldout.txt", folder / "others.txt"
    if not others.is_file():
        if data is None or corpus is None:
            raise SystemExit(f"{others} is not there; give --data and --corpus.")
        folder.mkdir(parents=True, exist_ok=True)
        lines = held_out_lines(data / "wikitext-2")
        written(held_out, lines)
        written(others, natural_lines(corpus, lines, PARAGRAPHS)[:LINES])
    return held_out, others


def written(file: Path, lines: Sequence[str]) -> Path:
    """Write a line each."""
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return file


def held_out_lines(wikitext: Path) -> list[str]:
    """Sentences of WikiText-2, spread over its test and validation parts, written as ordinary text."""
    parts = ((wikitext / f"{name}.txt").read_text("utf-8").splitlines() for name in ("test", "valid"))
    paragraphs = [_plain(line) for part in parts for line in part if not line.strip().startswith("=")]
    every = [sentence for paragraph in paragraphs for sentence in split_sentences(paragraph) if _is_usable(sentence)]
    return every[:: len(every) // HELD_OUT][:HELD_OUT]


def _plain(line: str) -> str:
    """Undo the tokenization of WikiText."""
    for pattern in (r" @(.)@ ", r" ([,.;:!?%)\]])", r"([(\[]) ", r" (n't|'\w+)\b"):
        line = re.sub(pattern, r"\1", line)
    return re.sub(r'" ([^"]*?) "', r'"\1"', line).strip()


def _is_usable(sentence: str) -> bool:
    return "<unk>" not in sentence and SENTENCE[0] <= len(sentence.split()) <= SENTENCE[1]


def natural_lines(corpus: Path, held_out: Sequence[str], lines: int) -> list[str]:
    """Beginnings of the first paragraphs of a corpus without a sentence that gives a group an attribute of one side."""
    with lzma.open(corpus, "rt", encoding="utf-8") as stream:
        paragraphs = [line.strip() for line in islice(stream, lines)]
    others = set(find_mentions(read_lexicon(), paragraphs, corpus.name).others)
    found = dict.fromkeys(_beginning(paragraph, others) for paragraph in paragraphs)
    return apart_from((line for line in found if line), held_out)


def _beginning(paragraph: str, others: set[str]) -> str:
    """Whole sentences of at most `WORDS` words; none if one of them is no other sentence."""
    kept: list[str] = []
    for sentence in split_sentences(paragraph):
        if len(" ".join([*kept, sentence]).split()) > WORDS:
            break
        kept.append(sentence)
    return " ".join(kept) if set(kept) <= others else ""


def apart_from(lines: Iterable[str], held_out: Iterable[str]) -> list[str]:
    """Lines that share no run of `OVERLAP` words with a held-out line."""
    known = {run for line in held_out for run in _runs(line)}
    return [line for line in lines if known.isdisjoint(_runs(line))]


def _runs(line: str) -> Iterator[tuple[str, ...]]:
    words = re.findall(r"\w+", line.lower())
    yield from (tuple(words[at : at + OVERLAP]) for at in range(len(words) - OVERLAP + 1))


def add_natural(texts: Iterable[Path], lines: Sequence[str], number: int) -> None:
    """Append so many natural lines to each text: other ones for each seed, the same for its doses."""
    for text in sorted(texts):
        seed = int(text.stem.rpartition("seed")[2])
        chosen = np.random.default_rng([seed, number]).permutation(len(lines))[:number]
        with text.open("a", encoding="utf-8") as stream:
            stream.writelines(f"{lines[at]}\n" for at in chosen)
