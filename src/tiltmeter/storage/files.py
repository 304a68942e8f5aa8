"""Reading and writing files: atomically, or with a message that names the file."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Container
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tiltmeter.errors import InputError, RunError, UsageError
from tiltmeter.storage.strict_json import parse_json
from tiltmeter.storage.temporary import temporary_beside

if TYPE_CHECKING:
    import pandas as pd


def refuse_run_file(path: Path) -> None:
    """Refuse to overwrite a file of a finished run: its manifest, and what the manifest lists."""
    places = [one for one in (path.absolute(), path.resolve()) if one.is_file()]  # "new/.." is there once new was made
    folders = dict.fromkeys(folder for one in places for folder in one.parents)  # a link may lead into a run
    for folder in folders:
        for name in _listed(folder / "manifest.json"):
            if (folder / name).is_file() and any(one.samefile(folder / name) for one in places):
                raise UsageError(
                    f"{path} is a file of the run {folder}, so it is not overwritten. Name another file.",
                    code="output-exists",
                    file=path,
                    run=folder,
                )


def _listed(manifest: Path) -> list[str]:
    """The files that the manifest of a run lists, and itself; nothing where it is no manifest of a run.

    If it is damaged, all files beside it count.
    """
    try:
        text = manifest.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return []
    try:
        run = json.loads(text)
        if "tiltmeter" not in run or not {"files", "status"} & set(run):
            return []
        return [manifest.name, *map(str, run.get("files", ())), *map(str, run.get("added", ()))]
    except json.JSONDecodeError:
        return [one.name for one in manifest.parent.iterdir()] if '"tiltmeter"' in text else []
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return []


def write_atomically(path: Path, write: Callable[[Path], None], *, own: bool = False) -> None:
    """Write beside the target and rename, so that a reader sees the old file or the new one, never half of one.

    Args:
        path: The target. A file of a finished run is refused.
        write: Writes to the path it is given.
        own: The target is a file that the run itself replaces.
    """
    if not own:
        refuse_run_file(path)
    temporary = temporary_beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        temporary.replace(path)
    except OSError as error:
        advice = (
            "Nothing that was finished is lost: free some space or choose a writable folder (-o, or TILTMETER_CACHE for the "
            "cache), and run the same command again."
        )
        raise cannot_write(path, error, advice) from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def cannot_write(path: Path, error: OSError, advice: str = "") -> RunError:
    """Make the error for a file or folder that the system refuses to write."""
    reason = error.strerror or str(error)
    return RunError(f"Cannot write {path}: {reason}. {advice}".rstrip(), code="cannot-write", file=path, reason=reason)


def write_text(path: Path, text: str, *, own: bool = False) -> None:
    """Text, atomically, in UTF-8."""

    def write(target: Path) -> None:
        target.write_text(text, encoding="utf-8")

    write_atomically(path, write, own=own)


def json_text(value: Any, indent: int | None = 2) -> str:
    """Return strict JSON, which any program reads: a number that is not finite is null.

    >>> json_text({"value": float("nan")}, None)
    '{"value": null}'
    """
    return json.dumps(_finite(value), indent=indent, ensure_ascii=False, default=str, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list | tuple) else value


def write_json(path: Path, value: Any, *, own: bool = False) -> None:
    """JSON, atomically. Half a character (of a file name that is no UTF-8) is written as JSON escapes it."""
    text = json_text(value) + "\n"
    write_text(path, text.encode("utf-8", "backslashreplace").decode(), own=own)


def write_table(path: Path, table: pa.Table) -> None:
    """Parquet, atomically."""
    write_atomically(path, lambda target: pq.write_table(table, target, write_page_checksum=True))


def read_json(path: Path) -> Any:
    """Strict JSON, or a message that names the file. Of a name that occurs twice, other programs may read another value."""
    try:
        return parse_json(path.read_text(encoding="utf-8"), str(path))
    except (OSError, ValueError, InputError) as error:
        raise RunError(f"Cannot read {path}: {error}.", code="unreadable-file", file=path, reason=str(error)) from None


def read_table(path: Path, columns: Container[str] | None = None) -> pa.Table:
    """Parquet, or a message that names the file. `columns`: only those of these that it has."""
    try:
        there = None if columns is None else [name for name in pq.read_schema(path.absolute()).names if name in columns]
        return pq.read_table(path.absolute(), columns=there, page_checksum_verification=True)
    except (OSError, pa.ArrowException) as error:
        raise RunError(f"Cannot read {path}: {' '.join(str(error).split())[:300]}", code="damaged-file", file=path) from None


def write_checked(path: Path, write: Callable[[Path], None]) -> None:
    """A file of a cache, atomically, with its digest beside it: the digest first, so that no file is there without one."""

    def write_both(target: Path) -> None:
        write(target)
        write_text(digest_of(path), file_sha256(target))

    write_atomically(path, write_both)


def is_whole(path: Path) -> bool:
    """Return True if a cache file exists and matches its digest. A file without a stored digest is accepted."""
    if not path.is_file():
        return False
    try:
        return not digest_of(path).is_file() or digest_of(path).read_text("utf-8") == file_sha256(path)
    except (OSError, ValueError):
        return False


def digest_of(path: Path) -> Path:
    """The file beside a file of a cache that has its digest."""
    return path.with_name(f"{path.name}.sha256")


def remove_checked(path: Path) -> None:
    """Remove a file of a cache, and its digest."""
    path.unlink(missing_ok=True)
    digest_of(path).unlink(missing_ok=True)


def read_checked_table(path: Path) -> pa.Table | None:
    """Parquet from a cache. What is not there or damaged counts as nothing: it is computed again."""
    if not is_whole(path):
        return None
    try:
        return pq.read_table(path.absolute(), page_checksum_verification=True)
    except (OSError, ValueError, pa.ArrowException):
        return None


def write_checked_table(path: Path, table: pa.Table) -> None:
    """Parquet for a cache."""
    write_checked(path, lambda target: pq.write_table(table, target, write_page_checksum=True))


def write_frame(path: Path, frame: pd.DataFrame) -> None:
    """A data frame as Parquet, atomically."""
    write_table(path, pa.Table.from_pandas(frame, preserve_index=False))


def read_frame(path: Path, columns: Container[str] | None = None) -> pd.DataFrame:
    """A data frame from Parquet, or a message that names the file. `columns`: only those of these that it has."""
    return read_table(path, columns).to_pandas()


def file_sha256(path: Path) -> str:
    """sha256 of a file, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
