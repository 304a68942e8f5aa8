"""Files as they come: plain, gz or xz, from a disk or a shell's pipe; and one message when they are not what they seem."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO

from tiltmeter.errors import InputError, TiltmeterError

PACKED = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\0"}
"""How packed files are called, and how they begin."""
PIPES = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""Where a shell puts the output of <(command): a pipe that somebody is writing into."""
MOST_BYTES = 2**30
"""Limit of a file that is read whole, decompressed. It stops endless files and decompression bombs."""
_piped: dict[tuple[int, int], bytes] = {}
"""Contents of pipes, which can be read only once."""


def _mode(path: Path) -> int | None:
    """File mode of a path; None if nothing is there or the name is invalid (too long, a zero byte)."""
    try:
        return path.stat().st_mode
    except PermissionError:
        return stat.S_IFREG  # something may be there; reading it raises the reason
    except (OSError, ValueError):
        return None


def is_there(path: Path) -> bool:
    """`Path.exists`, for names of any length."""
    return _mode(path) is not None


def is_file(path: Path) -> bool:
    """`Path.is_file`, for names of any length."""
    mode = _mode(path)
    return mode is not None and stat.S_ISREG(mode)


def is_folder(path: Path) -> bool:
    """`Path.is_dir`, for names of any length."""
    mode = _mode(path)
    return mode is not None and stat.S_ISDIR(mode)


def is_pipe(path: Path) -> bool:
    """Return True for a pipe that a shell opened, as for <(command)."""
    mode = _mode(path)
    return mode is not None and stat.S_ISFIFO(mode) and str(path).startswith(PIPES)


def require_file(path: Path, hint: str = "", *, pipes: bool = False) -> None:
    """Raise an error if a path is missing, or is a folder, a device or a pipe that may never end."""
    mode = _mode(path)
    if mode is None:
        raise InputError(f"There is no file {path}{hint}.", code="missing-file", file=path)
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a folder; name the file inside it{hint}.", code="not-a-file", file=path, kind="folder")
    if is_pipe(path) and not pipes:
        raise InputError(
            f"{path} is a pipe, and this file is read more than once: save it first{hint}.",
            code="not-a-file",
            file=path,
            kind="pipe",
        )
    if stat.S_ISFIFO(mode) and not is_pipe(path):
        raise InputError(
            f"{path} is a named pipe, which may never end: give a file, or <(command){hint}.",
            code="not-a-file",
            file=path,
            kind="named pipe",
        )
    if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
        raise InputError(f"{path} is a device or a socket, not a file{hint}.", code="not-a-file", file=path, kind="device")


def raw_bytes(path: Path) -> bytes:
    """The bytes of a file or a pipe as they are."""
    require_file(path, pipes=True)
    with reading(path):
        if not is_pipe(path):
            if path.stat().st_size > MOST_BYTES:
                raise _too_large(path)
            return path.read_bytes()
        status = path.stat()
        key = (status.st_dev, status.st_ino)
        if key not in _piped:
            with path.open("rb") as stream:
                _piped[key] = _limited(stream, path)
        return _piped[key]


def unpacked_bytes(path: Path) -> bytes:
    """The bytes of a file or a pipe, unpacked if it is gz or xz, whether or not its name says so."""
    data = raw_bytes(path)
    beginning = next((suffix for suffix, magic in PACKED.items() if data.startswith(magic)), "")
    said = path.suffix.lower() if path.suffix.lower() in PACKED else ""
    if said and said != beginning:
        raise InputError(
            f"{path} has the suffix {said} but is not compressed that way. Copy or download it again, or rename it.",
            code="wrong-format",
            file=path,
            expected=said,
        )
    with reading(path):
        return _limited(unpack(BytesIO(data), beginning), path) if beginning else data


def content_sha256(path: Path) -> str:
    """sha256 of a file as it lies there, or of what came out of a pipe."""
    if is_pipe(path):
        return hashlib.sha256(raw_bytes(path)).hexdigest()
    with reading(path), path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def plain_path(path: Path) -> Path:
    """A path without the suffix that only says how it is packed.

    >>> str(plain_path(Path("mine.csv.gz")))
    'mine.csv'
    """
    return path.with_suffix("") if path.suffix.lower() in PACKED else path


def title_of(path: Path) -> str:
    """Title of a file: its name without suffixes.

    >>> title_of(Path("a/mine.csv.xz")), title_of(Path("v1.2.csv"))
    ('mine', 'v1.2')
    """
    return f"pipe-{path.name}" if is_pipe(path) else plain_path(path).stem


def open_packed(path: Path) -> IO[bytes]:
    """Open a file for reading, decompressed."""
    if path.suffix == ".xz":
        return lzma.open(path)
    if path.suffix == ".gz":
        return gzip.open(path)  # type: ignore[return-value]
    return path.open("rb")


def unpack(raw: IO[bytes], suffix: str) -> IO[bytes]:
    """Decompress an open file. Its own position shows how much of it has been read."""
    if suffix == ".xz":
        return lzma.open(raw)
    if suffix == ".gz":
        return gzip.open(raw)  # type: ignore[return-value]
    return raw


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn the exceptions of a missing, truncated or corrupt file into an InputError."""
    try:
        yield
    except TiltmeterError:
        raise
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path} is a corrupt or truncated archive ({error}). Copy or download it again.",
            code="damaged-file",
            file=path,
            reason=str(error),
        ) from None
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise InputError(f"Cannot read {path}: {reason}.", code="unreadable-file", file=path, reason=reason) from None


def _limited(stream: IO[bytes], path: Path) -> bytes:
    data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise _too_large(path)
    return data


def _too_large(path: Path) -> TiltmeterError:
    return InputError(
        f"{path} has more than {MOST_BYTES // 2**20:,} MiB (decompressed), the limit for a file of this kind.",
        code="too-large",
        file=path,
        most_bytes=MOST_BYTES,
    )
