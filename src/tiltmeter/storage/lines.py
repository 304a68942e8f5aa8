"""Text files as lines: plain, .gz or .xz, UTF-8, and one message when they are not."""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path

from tiltmeter.errors import TiltmeterError
from tiltmeter.storage.compression import open_packed


def read_lines(path: Path) -> Iterator[str]:
    """The lines that are not empty, without the spaces around them. What is not text is refused."""
    number = 0
    try:
        with open_packed(path) as file:
            for number, raw in enumerate(file, 1):
                if b"\x00" in raw:
                    raise TiltmeterError(f"{path}, line {number}: a zero byte; this is not a text file.")
                if line := raw.decode("utf-8-sig" if number == 1 else "utf-8").strip():
                    yield line
    except UnicodeDecodeError as error:
        raise TiltmeterError(f"{path} is not UTF-8 text ({error.reason} in line {number}).") from None
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise TiltmeterError(f"Cannot read {path}: {getattr(error, 'strerror', None) or error}.") from None
