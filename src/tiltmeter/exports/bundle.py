"""A bundle for an audit: one zip with the report, the numbers, where they came from, the rules and verdicts, and checksums.

Checksums detect damage and careless changes. They are no signature: whoever can rewrite the whole bundle can rewrite them
too, so the digest of the bundle is printed, to be kept elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter import __version__
from tiltmeter.errors import RunError, UsageError
from tiltmeter.exports.citations import cite
from tiltmeter.exports.summary import as_pdf, as_text
from tiltmeter.gate.forms import STORED
from tiltmeter.gate.stored import stored_decision
from tiltmeter.reporting.html import gather, page
from tiltmeter.runs import load_run
from tiltmeter.runs.details import with_details
from tiltmeter.storage.files import file_sha256, write_atomically
from tiltmeter.storage.seals import MANIFEST, verified

INDEX, SUMS = "bundle.json", "SHA256SUMS"
LAYOUT = 1
WHEN = (1980, 1, 1, 0, 0, 0)
"""A fixed time, so that one run always gives the same bundle."""
MODE = 0o644 << 16
"""Plain files that everybody may read."""
COPIED = ("estimates.csv", "estimates.json")


@dataclass(frozen=True)
class Bundle:
    """A bundle that was written."""

    path: Path
    sha256: str
    files: tuple[str, ...]


def bundle(run: str | Path, output: str | Path = "audit.zip") -> Bundle:
    """Write the bundle of a finished run.

    A decision of `tiltmeter check` is computed again from the answers, and refused if it differs.
    """
    folder, path = Path(run), Path(output)
    if path.is_dir():
        message = f"{path} is a folder. Give a file name, such as {path / 'audit.zip'}."
        raise UsageError(message, code="not-a-file", file=path)
    loaded = with_details(load_run(folder))
    if not len(loaded.estimates):
        raise RunError(f"{folder} has no estimates, so there is nothing to bundle.", code="empty-selection", run=folder)
    decision = stored_decision(loaded)
    files: dict[str, bytes] = {
        "report.html": page(gather(loaded)).encode(),
        "summary.pdf": as_pdf(loaded, decision),
        "summary.md": as_text(loaded, decision).encode(),
        "references.bib": cite(loaded).encode(),
        MANIFEST: (folder / MANIFEST).read_bytes(),
    }
    files |= {name: verified(folder, loaded.manifest, name).read_bytes() for name in COPIED}
    if decision is not None:
        files[STORED] = (folder / STORED).read_bytes()
    write_archive(path, _indexed(files, loaded.manifest))
    return Bundle(path, file_sha256(path), tuple(files))


def _indexed(files: dict[str, bytes], manifest: dict[str, Any]) -> dict[str, bytes]:
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
    about = {"layout": LAYOUT, "tiltmeter": __version__, "run_seal": manifest.get("seal"), "files": digests}
    index = (json.dumps(about, indent=2) + "\n").encode()
    return {**dict(sorted(files.items())), INDEX: index, SUMS: sums_of(digests, index)}


def sums_of(digests: dict[str, str], index: bytes) -> bytes:
    """The checksums as `sha256sum -c` reads them, of the index too."""
    sums = {**digests, INDEX: hashlib.sha256(index).hexdigest()}
    return "".join(f"{digest}  {name}\n" for name, digest in sums.items()).encode()


def write_archive(path: Path, files: dict[str, bytes]) -> None:
    """Write files as the one form of zip that `verify` accepts."""

    def write(target: Path) -> None:
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                entry = zipfile.ZipInfo(name, WHEN)
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, MODE
                archive.writestr(entry, content)

    write_atomically(path, write)
