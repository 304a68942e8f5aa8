"""From text files to sentences, with a held-out part that depends on the text alone."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiltmeter.errors import TiltmeterError
from tiltmeter.storage.lines import read_lines as lines_of

HELD_OUT = 200  # one line in this many
FEWEST_LINES = 200


def read_lines(paths: Sequence[Path]) -> Iterator[str]:
    """The lines of plain, .xz or .gz text files; anything that is not text is refused."""
    total = 0
    for path in paths:
        kept = 0
        for line in lines_of(path):
            kept += 1
            yield line
        if not kept:
            raise TiltmeterError(f"{path} has no line of text.")
        total += kept
    if total < FEWEST_LINES:
        names = ", ".join(map(str, paths))
        raise TiltmeterError(f"{names}: {total} lines of text; {FEWEST_LINES}, a sentence or paragraph each, are the least.")


def is_held_out(line: str) -> bool:
    """One line in 200, chosen by its own checksum: neither order nor file names matter."""
    return zlib.crc32(line.encode()) % HELD_OUT == 0
