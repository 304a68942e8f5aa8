"""`verify`: whether a bundle is whole, and whether its parts belong together."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from tiltmeter.display import Statement
from tiltmeter.errors import InputError, TiltmeterError
from tiltmeter.exports.bundle import COPIED, INDEX, LAYOUT, MODE, SUMS, WHEN, sums_of
from tiltmeter.gate.forms import STORED
from tiltmeter.storage.files import file_sha256
from tiltmeter.storage.seals import ADDED, MANIFEST, is_sealed, run_digest

MOST_BYTES = 1 << 29
"""The bytes of all files of a bundle."""
MOST_PARSED = {INDEX: 1 << 20, SUMS: 1 << 20, MANIFEST: 1 << 26, STORED: 1 << 26}
"""The bytes of files that are parsed: JSON takes several times its size in memory."""
MOST_FILES = 100
LOCAL, CENTRAL, END = 30, 46, 22
"""The bytes of a zip's headers besides names: of an entry, of its line in the directory, and of the end."""
NEEDED = ("report.html", "summary.pdf", MANIFEST, *COPIED)


def verify(path: str | Path, sha256: str | None = None) -> list[str]:
    """List the faults of a bundle; an empty list means none. Raise an error for a file that is no bundle."""
    path = Path(path)
    files = _read(path)
    try:
        about = json.loads(files[INDEX])
        digests: dict[str, str] = dict(about["files"])
        layout = about["layout"]
    except (KeyError, ValueError, TypeError, RecursionError):
        message = f"{path} is not an audit bundle: {INDEX} is missing or cannot be read."
        raise InputError(message, code="wrong-format", file=path) from None
    if layout != LAYOUT:
        message = f"{path} has layout {layout}; this version reads layout {LAYOUT}."
        raise InputError(message, code="wrong-version", file=path, layout=layout)
    problems = list(_changed(files, digests))
    if sha256 is not None and file_sha256(path) != sha256.strip().lower():
        problems.insert(0, "the bundle is not the one with this sha256")
    return problems + (list(_unrelated(files, about)) if not problems else [])


def _read(path: Path) -> dict[str, bytes]:
    """Unpack a bundle. Sizes are checked before anything is unpacked, and only the form that `bundle` writes is read."""
    try:
        with path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            entries = archive.infolist()
            _check_sizes(path, entries)
            if len({entry.filename for entry in entries}) < len(entries):
                raise InputError(f"{path} holds two files of one name.", code="duplicate-name", file=path)
            if not _is_canonical(archive, entries, path.stat().st_size):
                raise InputError(
                    f"{path} is not as `tiltmeter bundle` writes it: it holds other bytes, a comment, or entries that are "
                    "no plain files. Bundle the run again.",
                    code="changed-file", file=path,
                )  # fmt: skip
            return {entry.filename: _unpacked(stream, entry) for entry in entries}
    except TiltmeterError:
        raise
    except Exception as error:  # a damaged archive raises what its reader likes
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read as a zip: {reason}.", code="damaged-file", file=path) from None


def _check_sizes(path: Path, entries: Sequence[zipfile.ZipInfo]) -> None:
    if len(entries) > MOST_FILES or sum(entry.file_size for entry in entries) > MOST_BYTES:
        message = f"{path} has more files or would unpack to more bytes than a bundle: it is not read."
        raise InputError(message, code="too-large", file=path)
    for entry in entries:
        limit = MOST_PARSED.get(entry.filename, MOST_BYTES)
        if entry.file_size > limit:
            message = f"{path}: {entry.filename} would unpack to more than {limit >> 20} MB: it is not read."
            raise InputError(message, code="too-large", file=path, entry=entry.filename)


def _is_canonical(archive: zipfile.ZipFile, entries: Sequence[zipfile.ZipInfo], size: int) -> bool:
    """Return True if the file holds these entries, one after the other, their directory, and nothing else."""
    place, directory = 0, END
    for entry in entries:
        plain = (entry.date_time, entry.compress_type, entry.external_attr, entry.internal_attr, entry.create_system)
        if entry.header_offset != place or entry.extra or entry.comment or plain != (WHEN, zipfile.ZIP_DEFLATED, MODE, 0, 3):
            return False
        name = len(entry.filename.encode())
        place += LOCAL + name + entry.compress_size
        directory += CENTRAL + name
    return not archive.comment and archive.start_dir == place and size == place + directory


def _unpacked(stream: BinaryIO, entry: zipfile.ZipInfo) -> bytes:
    """The content of an entry, whose local header must say what the directory says, and whose stream must fill its place."""
    header = entry.FileHeader(zip64=False)
    stream.seek(entry.header_offset)
    if stream.read(len(header)) != header:
        raise ValueError(f"the header of {entry.filename} differs from the directory")
    unpacking = zlib.decompressobj(-zlib.MAX_WBITS)
    content = unpacking.decompress(stream.read(entry.compress_size), entry.file_size + 1)
    if not unpacking.eof or unpacking.unused_data or len(content) != entry.file_size or zlib.crc32(content) != entry.CRC:
        raise ValueError(f"{entry.filename} is damaged")
    return content


def _changed(files: dict[str, bytes], digests: dict[str, str]) -> Iterator[str]:
    for name, digest in digests.items():
        if name not in files:
            yield f"{name} is missing"
        elif hashlib.sha256(files[name]).hexdigest() != digest:
            yield f"{name} was changed"
    yield from (f"{name} is missing" for name in NEEDED if name not in digests)
    yield from (f"{name} does not belong to the bundle" for name in files if name not in (*digests, INDEX, SUMS))
    if files.get(SUMS) != sums_of(digests, files[INDEX]):
        yield f"{SUMS} was changed"


def _unrelated(files: dict[str, bytes], about: dict[str, Any]) -> Iterator[str]:
    """Parts that are whole and do not belong together."""
    manifest = _json(files[MANIFEST])
    if not is_sealed(manifest):
        yield Statement("{file} was changed after the run wrote it", "manifest-changed", file=MANIFEST)
    elif manifest["seal"] != about.get("run_seal"):
        yield f"{MANIFEST} is of another run than the bundle"
    for name in COPIED:
        if _table(manifest, "files").get(name) != hashlib.sha256(files[name]).hexdigest():
            yield Statement("{file} is not what the run wrote", "not-of-run", file=name)
    if STORED in files:
        decision = _json(files[STORED])
        if decision.get("seal") != run_digest(manifest):
            yield f"{STORED} is about another run"
        if {**_table(manifest, "files"), **_table(manifest, ADDED)}.get(STORED) != hashlib.sha256(files[STORED]).hexdigest():
            yield Statement("{file} is not what was sealed with the run", "not-sealed", file=STORED)
        rules = decision.get("rules")
        verdicts = {str(one.get("verdict")) for one in rules if isinstance(one, dict)} if isinstance(rules, list) else set()
        stops = "fail" in verdicts or ("undecided" in verdicts and decision.get("undecided") == "fail")
        if decision.get("exit_code") != int(stops):
            yield Statement("the verdicts in {file} do not give its exit code", "wrong-exit-code", file=STORED)


def _table(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    value = manifest.get(name)
    return value if isinstance(value, dict) else {}


def _json(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
