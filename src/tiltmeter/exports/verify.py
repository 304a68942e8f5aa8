"""`verify`: whether a bundle is whole, and whether its parts belong together."""

from __future__ import annotations

import hashlib
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from tiltmeter.display import Statement
from tiltmeter.errors import InputError, TiltmeterError
from tiltmeter.exports.bundle import COPIED, INDEX, LAYOUT, MODE, SUMS, WHEN, sums_of
from tiltmeter.gate.decision import FAIL, UNDECIDED
from tiltmeter.gate.forms import STORED
from tiltmeter.gate.rule import SHOWN
from tiltmeter.storage.files import file_sha256
from tiltmeter.storage.seals import ADDED, MANIFEST, is_sealed, run_digest
from tiltmeter.storage.strict_json import parse_json

MOST_BYTES = 1 << 29
"""The bytes of all files of a bundle."""
MOST_PARSED = {INDEX: 1 << 20, SUMS: 1 << 20, MANIFEST: 1 << 26, STORED: 1 << 26}
"""The bytes of files that are parsed: JSON takes several times its size in memory."""
MOST_FILES = 100
LOCAL = 30
"""The bytes of an entry's header besides its name."""
CENTRAL, END = struct.Struct("<4s4B4H3L5H2L"), struct.Struct("<4s4H2LH")
"""An entry's line in the directory, and the end of the archive (PKWARE's APPNOTE, 4.3.12 and 4.3.16)."""
ZIP_VERSION, UNIX = 20, 3
"""The version of the format that plain deflated entries need, and the system whose modes entries have."""
NEEDED = ("report.html", "summary.pdf", "summary.md", "references.bib", MANIFEST, *COPIED)


def verify(path: str | Path, sha256: str | None = None) -> list[str]:
    """List the faults of a bundle; an empty list means none. Raise an error for a file that is no bundle."""
    path = Path(path)
    files = _read(path)
    try:
        about = parse_json(files[INDEX].decode("utf-8"), INDEX)
        digests: dict[str, str] = dict(about["files"])
        layout = about["layout"]
    except (KeyError, ValueError, TypeError, InputError):
        message = f"{path} is not an audit bundle: {INDEX} is missing or cannot be read."
        raise InputError(message, code="wrong-format", file=path) from None
    if type(layout) is not int or layout != LAYOUT:
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
            if not _is_canonical(stream, entries, path.stat().st_size):
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


def _is_canonical(stream: BinaryIO, entries: Sequence[zipfile.ZipInfo], size: int) -> bool:
    """Return True if the file holds these entries, one after the other, their directory, and nothing else."""
    place, directory = 0, b""
    for entry in entries:
        directory += _line_of(entry, place)
        place += LOCAL + len(entry.filename.encode()) + entry.compress_size
    count = len(entries)
    ending = directory + END.pack(b"PK\5\6", 0, 0, count, count, len(directory), place, 0)
    stream.seek(place)
    return size == place + len(ending) and stream.read(len(ending)) == ending


def _line_of(entry: zipfile.ZipInfo, place: int) -> bytes:
    """An entry's line in the directory, as `write_archive` writes it."""
    name = entry.filename.encode()
    flags = 0 if entry.filename.isascii() else 0x800
    year, month, day = WHEN[:3]
    date = (year - 1980) << 9 | month << 5 | day
    sizes = (entry.CRC, entry.compress_size, entry.file_size)
    versions = (ZIP_VERSION, UNIX, ZIP_VERSION, 0)
    fields = (flags, zipfile.ZIP_DEFLATED, 0, date, *sizes, len(name), 0, 0, 0, 0, MODE, place)
    return CENTRAL.pack(b"PK\1\2", *versions, *fields) + name


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
    foreign = [name for name in digests if name not in (*NEEDED, STORED)]
    yield from (f"{_shown(name)} is no file of a bundle" for name in foreign)
    if foreign:  # a name may be a path out of the folder that a bundle is unpacked in, or no text at all
        return
    for name, digest in digests.items():
        if name not in files:
            yield f"{name} is missing"
        elif hashlib.sha256(files[name]).hexdigest() != digest:
            yield f"{name} was changed"
    yield from (f"{name} is missing" for name in NEEDED if name not in digests)
    yield from (f"{_shown(name)} does not belong to the bundle" for name in files if name not in (*digests, INDEX, SUMS))
    if files.get(SUMS) != sums_of(digests, files[INDEX]):
        yield f"{SUMS} was changed"


def _shown(name: str) -> str:
    return ascii(name)[1:-1]


def _unrelated(files: dict[str, bytes], about: dict[str, Any]) -> Iterator[str]:
    """Parts that are whole and do not belong together."""
    manifest = _json(files[MANIFEST])
    if not is_sealed(manifest):
        yield Statement("{file} was changed after the run wrote it", "manifest-changed", file=MANIFEST)
    elif manifest["seal"] != about.get("run_seal"):
        yield f"{MANIFEST} is of another run than the bundle"
    if list(files) != [*sorted(about["files"]), INDEX, SUMS]:
        yield "its files are not in the order in which `tiltmeter bundle` writes them"
    if STORED not in files and STORED in _table(manifest, ADDED):
        yield Statement("{file} is missing, and the run was checked", "decision-missing", file=STORED)
    for name in COPIED:
        if _table(manifest, "files").get(name) != hashlib.sha256(files[name]).hexdigest():
            yield Statement("{file} is not what the run wrote", "not-of-run", file=name)
    if STORED in files:
        decision = _json(files[STORED])
        if decision.get("seal") != run_digest(manifest):
            yield f"{STORED} is about another run"
        if {**_table(manifest, "files"), **_table(manifest, ADDED)}.get(STORED) != hashlib.sha256(files[STORED]).hexdigest():
            yield Statement("{file} is not what was sealed with the run", "not-sealed", file=STORED)
        if decision.get("exit_code") != int(_is_stopped(decision)):
            yield Statement("the verdicts in {file} do not give its exit code", "wrong-exit-code", file=STORED)


def _is_stopped(decision: dict[str, Any]) -> bool:
    """Return True if a verdict of a decision stops a release: one that must be shown does so whatever the policy."""
    rules = decision.get("rules")
    for one in rules if isinstance(rules, list) else ():
        verdict, form = (one.get("verdict"), _table(one, "stated").get("form")) if isinstance(one, dict) else (None, None)
        if verdict == FAIL or (verdict == UNDECIDED and (form == SHOWN or decision.get("undecided") == FAIL)):
            return True
    return False


def _table(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    value = manifest.get(name)
    return value if isinstance(value, dict) else {}


def _json(content: bytes) -> dict[str, Any]:
    try:
        value = parse_json(content.decode("utf-8"), "")
    except (ValueError, InputError):
        return {}
    return value if isinstance(value, dict) else {}
