"""`verify`: whether a bundle is whole, and whether its parts belong together."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.exports.bundle import COPIED, INDEX, LAYOUT, SUMS, sums_of
from tiltmeter.gate.forms import STORED
from tiltmeter.storage.files import file_sha256
from tiltmeter.storage.sealed import MANIFEST, is_sealed

MOST_BYTES = 1 << 30
"""No bundle of ours is nearly as large unpacked; one that claims to be would only fill a memory."""
NEEDED = ("report.html", "summary.pdf", MANIFEST, *COPIED)


def verify(path: str | Path, sha256: str | None = None) -> list[str]:
    """What is wrong with a bundle: nothing if the list is empty. What is no bundle at all is refused."""
    path = Path(path)
    files = _read(path)
    try:
        about = json.loads(files[INDEX])
        digests: dict[str, str] = dict(about["files"])
    except (KeyError, ValueError, TypeError, RecursionError):
        raise TiltmeterError(f"{path} is not an audit bundle: {INDEX} is missing or cannot be read.") from None
    if about.get("layout") != LAYOUT:
        raise TiltmeterError(f"{path} has layout {about.get('layout')}; this version reads layout {LAYOUT}.")
    problems = list(_changed(files, digests))
    if sha256 is not None and file_sha256(path) != sha256.strip().lower():
        problems.insert(0, "the bundle is not the one with this sha256")
    return problems + (list(_unrelated(files, about)) if not problems else [])


def _read(path: Path) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > MOST_BYTES:
                raise TiltmeterError(f"{path} would unpack to more than {MOST_BYTES >> 30} GB: it is no bundle of ours.")
            if len({entry.filename for entry in entries}) < len(entries):
                raise TiltmeterError(f"{path} holds two files of one name.")
            return {entry.filename: archive.read(entry) for entry in entries}
    except (OSError, zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise TiltmeterError(f"{path} cannot be read as a zip: {error}.") from None
    except Exception as error:  # a damaged stream raises what its decompressor likes
        if isinstance(error, TiltmeterError):
            raise
        raise TiltmeterError(f"{path} is damaged: {error}.") from None


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
        yield f"{MANIFEST} was changed after the run wrote it"
    elif manifest["seal"] != about.get("run_seal"):
        yield f"{MANIFEST} is of another run than the bundle"
    for name in COPIED:
        if manifest.get("files", {}).get(name) != hashlib.sha256(files[name]).hexdigest():
            yield f"{name} is not what the run wrote"
    if STORED in files:
        decision = _json(files[STORED])
        if decision.get("seal") != manifest.get("seal"):
            yield f"{STORED} is about another run"
        verdicts = {str(ruling.get("verdict")) for ruling in decision.get("rules", ())}
        stops = "fail" in verdicts or ("undecided" in verdicts and decision.get("undecided") == "fail")
        if decision.get("exit_code") != int(stops):
            yield f"the verdicts in {STORED} do not give its exit code"


def _json(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
