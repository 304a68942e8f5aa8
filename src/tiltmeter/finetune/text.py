"""From lines of text to rows of token ids, and a held-out part that depends on the text alone."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from tiltmeter.errors import InputError, UsageError
from tiltmeter.models.kinds import usable_length
from tiltmeter.storage.lines import read_lines
from tiltmeter.storage.places import at_home

BATCH = 1000
BUCKETS = 1_000_000


@dataclass(frozen=True)
class Text:
    """Lines, where they came from, and a fingerprint of them."""

    source: str
    lines: list[str]

    @property
    def sha256(self) -> str:
        """sha256 of the lines, in order."""
        return hashlib.sha256("\n".join(self.lines).encode()).hexdigest()

    def facts(self) -> dict[str, Any]:
        """For the manifest."""
        return {"source": self.source, "lines": len(self.lines), "sha256": self.sha256}


def read_text(path: str | Path, most: int | None = None) -> Text:
    """The lines of a plain, .gz or .xz file, a sentence or paragraph each; at most so many, from the first."""
    place = at_home(path)
    lines = list(islice(read_lines(place), most))
    if not lines:
        raise InputError(f"{place} has no line of text.", code="empty-file", file=place)
    return Text(str(path), lines)


def is_held_out(line: str, share: float) -> bool:
    """About this share of the lines, chosen by their own checksums: neither order nor file names matter."""
    return zlib.crc32(line.encode()) % BUCKETS < share * BUCKETS


def split(lines: Sequence[str], share: float) -> tuple[list[str], list[str]]:
    """Split lines into training and held-out ones. Equal lines fall on the same side."""
    if not 0 <= share < 1:
        raise UsageError(
            f"The held-out share must be at least 0 and below 1, not {share}.",
            code="out-of-range",
            name="held_out",
            value=share,
            low=0,
            high=1,
        )
    held = [is_held_out(line, share) for line in lines]
    return [line for line, out in zip(lines, held, strict=True) if not out], [
        line for line, out in zip(lines, held, strict=True) if out
    ]


def encode(lines: Iterable[str], module: Any, tokenizer: Any, *, causal: bool, length: int) -> list[list[int]]:
    """One row of ids per line, with the model's own begin and end; a long line is cut into several rows, none is padded.

    A causal model's rows begin with BOS (EOS where there is none) and end with EOS, which is predicted, too.
    """
    limit = min(length, usable_length(module, tokenizer) or length)
    front, back = _ends(tokenizer, causal)
    room = limit - len(front) - len(back)
    if room < 1:
        raise UsageError(
            f"Rows of {length} tokens are too short; give at least {len(front) + len(back) + 1}.",
            code="out-of-range",
            name="length",
            value=length,
            low=len(front) + len(back) + 1,
        )
    rows = []
    waiting = iter(lines)
    while some := list(islice(waiting, BATCH)):
        for ids in tokenizer(some, add_special_tokens=False, verbose=False)["input_ids"]:
            rows += [[*front, *ids[at : at + room], *back] for at in range(0, len(ids), room)]
    return rows


def _ends(tokenizer: Any, causal: bool) -> tuple[list[int], list[int]]:
    if not causal:
        inner = tokenizer("a", add_special_tokens=False)["input_ids"]
        whole = tokenizer("a")["input_ids"]
        at = next((n for n in range(len(whole)) if whole[n : n + len(inner)] == inner), None)
        return (whole[:at], whole[at + len(inner) :]) if at is not None else ([], [])
    end = tokenizer.eos_token_id
    begin = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else end
    return [[token] if token is not None else [] for token in (begin, end)]  # type: ignore[return-value]
