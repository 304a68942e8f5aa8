"""Text files as lines: plain, .gz or .xz, UTF-8, and one message when they are not."""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path

from tiltmeter.errors import InputError
from tiltmeter.storage.compression import open_packed


def read_lines(path: Path) -> Iterator[str]:
    """The lines that are not empty, without the spaces around them. What is not text is refused."""
    number = 0
    try:
        with open_packed(path) as file:
            for number, raw in enumerate(file, 1):
                if b"\x00" in raw:
                    raise InputError(
                        f"{path}, line {number}: a zero byte. This is not a text file; give one in UTF-8.",
                        code="wrong-format",
                        file=path,
                        line=number,
                        expected="text",
                    )
                if line := raw.decode("utf-8-sig" if number == 1 else "utf-8").strip():
                    yield line
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 text ({error.reason} in line {number}).",
            code="wrong-encoding",
            file=path,
            line=number,
            encoding="utf-8",
        ) from None
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(
            f"Cannot read {path}: {getattr(error, 'strerror', None) or error}.", code="unreadable-file", file=path
        ) from None
