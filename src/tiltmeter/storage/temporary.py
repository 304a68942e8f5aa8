"""Names of what is being written, and what killed processes left of it: swept away by the next one that comes along."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import socket
import uuid
import zlib
from collections.abc import Iterable
from pathlib import Path

HERE = f"{zlib.crc32(socket.gethostname().encode()):08x}"
"""This machine: a process's number says nothing on another one that shares the folder."""
NAME = re.compile(r"\.tiltmeter-(?P<machine>[0-9a-f]{8})-(?P<process>\d+)-[0-9a-f]{8}\.tmp")
AT_FDCWD, EXCHANGE = -100, 2


def temporary_beside(path: Path) -> Path:
    """A name for what will be renamed to `path`. It is short, so that any name that a file may have can be written."""
    return path.with_name(f".tiltmeter-{HERE}-{os.getpid()}-{uuid.uuid4().hex[:8]}.tmp")


def is_left_over(path: Path) -> bool:
    """Return True if a process of this machine was killed while it wrote this path."""
    made = NAME.fullmatch(path.name)
    return bool(made and made["machine"] == HERE and not _is_alive(int(made["process"])))


def sweep(paths: Iterable[Path]) -> None:
    """Removes those of the paths that a process of this machine was writing when it was killed."""
    for path in paths:
        if is_left_over(path):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is somebody else's
        return True
    return True


def replace_folder(target: Path, making: Path) -> None:
    """Puts a folder in the place of another, which may be in use: there is no moment without either where that can be."""
    if target.is_dir() and exchange(making, target):
        shutil.rmtree(making, ignore_errors=True)
        return
    shutil.rmtree(target, ignore_errors=True)
    making.rename(target)


def exchange(first: Path, second: Path) -> bool:
    """Swap the names of two folders atomically. Return False where the system cannot."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        return bool(library.renameat2(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), EXCHANGE) == 0)
    except (OSError, AttributeError, TypeError):  # not Linux
        return False
