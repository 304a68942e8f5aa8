"""Files as they come: plain, gz or xz, and one message when they are not what their name says."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tiltmeter.errors import TiltmeterError


def open_packed(path: Path) -> IO[bytes]:
    """What is in the file, unpacked."""
    if path.suffix == ".xz":
        return lzma.open(path)
    if path.suffix == ".gz":
        return gzip.open(path)  # type: ignore[return-value]
    return path.open("rb")


def unpack(raw: IO[bytes], suffix: str) -> IO[bytes]:
    """The same of an open file, whose own position says how far one has read."""
    if suffix == ".xz":
        return lzma.open(raw)
    if suffix == ".gz":
        return gzip.open(raw)  # type: ignore[return-value]
    return raw


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns what a missing, truncated or corrupt file raises into one message."""
    try:
        yield
    except TiltmeterError:
        raise
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise TiltmeterError(f"{path} is a corrupt or truncated archive ({error}). Copy or download it again.") from None
    except (OSError, ValueError) as error:
        raise TiltmeterError(f"Cannot read {path}: {getattr(error, 'strerror', None) or error}.") from None
