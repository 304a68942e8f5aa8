"""From text files to sentences, with a held-out part that depends on the text alone."""

from __future__ import annotations

import gzip
import io
import lzma
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiltmeter.errors import TiltmeterError

HELD_OUT = 200  # one line in this many
FEWEST_LINES = 200
BOUNDARY = re.compile(r"(?<=[.!?])(?P<close>[\"')\]”’]*)\s+(?=[\"'(\[“‘]?[A-Z])")
ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Prof|Gen|Col|Capt|Lt|Sgt|Rev|Hon|Jr|Sr|No|Vol|vs|etc|Fig|pp|ca)|\b[A-Z])\.$"
)


def read_lines(paths: Sequence[Path]) -> Iterator[str]:
    """The lines of plain, .xz or .gz text files; anything that is not text is refused."""
    total = 0
    for path in paths:
        kept = 0
        for line in _lines_of(path):
            kept += 1
            yield line
        if not kept:
            raise TiltmeterError(f"{path} has no line of text.")
        total += kept
    if total < FEWEST_LINES:
        names = ", ".join(map(str, paths))
        raise TiltmeterError(f"{names}: {total} lines of text; {FEWEST_LINES}, a sentence or paragraph each, are the least.")


def _lines_of(path: Path) -> Iterator[str]:
    number = 0
    try:
        with open_bytes(path) as file:
            for number, raw in enumerate(file, 1):
                if b"\x00" in raw:
                    raise TiltmeterError(f"{path}, line {number}: a zero byte; this is not a text file.")
                if line := raw.decode("utf-8").strip():
                    yield line
    except UnicodeDecodeError as error:
        raise TiltmeterError(f"{path} is not UTF-8 text ({error.reason} in line {number}).") from None
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise TiltmeterError(f"Cannot read {path}: {getattr(error, 'strerror', None) or error}.") from None


def open_bytes(path: Path) -> io.BufferedIOBase:
    """What is in the file, unpacked."""
    if path.suffix == ".xz":
        return lzma.open(path)
    if path.suffix == ".gz":
        return gzip.open(path)
    return path.open("rb")


def is_held_out(line: str) -> bool:
    """One line in 200, chosen by its own checksum: neither order nor file names matter."""
    return zlib.crc32(line.encode()) % HELD_OUT == 0


def split_sentences(line: str) -> list[str]:
    """A plain splitter: after . ! ? before a capital, but not after an initial or a title.

    >>> split_sentences('Dr. A. Hill came. "Who?" she asked. Nobody knew.')
    ['Dr. A. Hill came.', '"Who?" she asked.', 'Nobody knew.']
    """
    sentences: list[str] = []
    start = 0
    for boundary in BOUNDARY.finditer(line):
        end = boundary.end("close")
        if not ABBREVIATION.search(line[start:end]):
            sentences.append(line[start:end])
            start = boundary.end()
    return [*sentences, line[start:]]
