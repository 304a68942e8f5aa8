"""Sealed folders: a manifest that knows the digest of every file beside it, and its own.

What was changed, cut short or swapped after it was written is detected when it is read, and named.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tiltmeter.errors import RunError, TiltmeterError
from tiltmeter.storage.files import file_sha256, json_text, read_json, write_json, write_text
from tiltmeter.storage.provenance import SCHEMA

MANIFEST = "manifest.json"
AUDITED = "run"
"""The folder of the run in the folder of an audit."""
SEAL = "seal"
ADDED, RUN_SEAL = "added", "run_seal"
"""Files about a run that were sealed later, and the seal that the run had before."""
DEEPEST = 60
"""Levels of a manifest. None of ours is nearly as deep; what is would only exhaust whoever reads it."""


def seal(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Write the manifest with the digests of all files in the folder, and its own: the last file that is written."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    files = {path.relative_to(folder).as_posix(): file_sha256(path) for path in paths}
    whole = json.loads(json_text({**manifest, "files": files}))
    sealed = {**whole, SEAL: _digest(whole)}
    write_json(folder / MANIFEST, sealed, own=True)
    return sealed


def amend(folder: Path, manifest: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Add to the manifest of a folder that was sealed by this process, and seal it again. The files do not change."""
    whole = json.loads(json_text({name: value for name, value in manifest.items() if name != SEAL} | more))
    sealed = {**whole, SEAL: _digest(whole)}
    write_json(folder / MANIFEST, sealed, own=True)
    return sealed


def add_file(folder: Path, name: str, text: str) -> None:
    """Write a file about a finished run into its folder, and seal it with the run. The run keeps its digest."""
    manifest = read_seal(folder)
    write_text(folder / name, text, own=True)
    files = {**manifest.get(ADDED, {}), name: file_sha256(folder / name)}
    amend(folder, manifest, **{ADDED: files, RUN_SEAL: run_digest(manifest)})


def amend_run(folder: Path, **more: Any) -> dict[str, Any]:
    """Add facts to the manifest of a run, which then has another digest. Files that were added stay sealed with it."""
    manifest = read_seal(folder)
    whole = {name: value for name, value in manifest.items() if name not in (SEAL, ADDED, RUN_SEAL)} | more
    whole = json.loads(json_text(whole))
    added = {ADDED: manifest[ADDED], RUN_SEAL: _digest(whole)} if manifest.get(ADDED) else {}
    return amend(folder, whole, **added)


PAGE, STUDIES = "report.html", "studies"
"""Files made from a run later, in its folder."""


@contextmanager
def adding(path: Path) -> Iterator[None]:
    """Seal what is written to `path` inside this context, if it is the report of a run or a folder of its studies.

    Files of an earlier report or study there are no longer part of the run; what is not written again is deleted.
    """
    run, name = _run_of(path.absolute())
    if run is None:
        yield
        return
    manifest = read_seal(run)
    mine = [file for file in manifest.get(ADDED, {}) if file == name or file.startswith(f"{name}/")]
    _set_added(run, manifest, {file: digest for file, digest in manifest.get(ADDED, {}).items() if file not in mine})
    for file in mine:
        (run / file).unlink(missing_ok=True)
    yield
    manifest = read_seal(run)
    there = [path.absolute()] if path.is_file() else sorted(one for one in path.absolute().rglob("*") if one.is_file())
    files = {one.relative_to(run).as_posix(): file_sha256(one) for one in there if not one.name.startswith(".")}
    _set_added(run, manifest, {**manifest.get(ADDED, {}), **files})


def is_added(folder: Path, manifest: Mapping[str, Any], path: Path) -> bool:
    """Compare the checksum of a file in a run's folder with the one stored when it was added."""
    return bool(manifest.get(ADDED, {}).get(path.relative_to(folder).as_posix()) == file_sha256(path))


def _run_of(path: Path) -> tuple[Path | None, str]:
    """The sealed run whose report or study this is, and its name there."""
    for run in path.parents:
        name = path.relative_to(run).as_posix()
        if (run / MANIFEST).is_file() and (name == PAGE or name.startswith(f"{STUDIES}/")):
            try:
                return (run, name) if read_seal(run).get("files") else (None, "")
            except TiltmeterError:
                return None, ""
    return None, ""


def _set_added(run: Path, manifest: Mapping[str, Any], files: Mapping[str, str]) -> None:
    if dict(files) != dict(manifest.get(ADDED, {})):
        amend(run, manifest, **{ADDED: dict(files), RUN_SEAL: run_digest(manifest)})


def run_digest(manifest: Mapping[str, Any]) -> str:
    """The digest that names a run, whatever was added to its folder since; empty where it was never sealed."""
    return str(manifest.get(RUN_SEAL) or manifest.get(SEAL, ""))


def read_seal(folder: Path) -> dict[str, Any]:
    """The manifest of a folder, refused where it was changed, is of another layout, or is none."""
    path = folder / MANIFEST
    if not path.is_file():
        inner = folder / AUDITED
        hint = f" It is the folder of an audit; its run is {inner}." if (inner / MANIFEST).is_file() else ""
        raise RunError(
            f"{folder} is not a finished run: {MANIFEST} is missing.{hint}",
            code="unfinished-run", folder=folder, missing=MANIFEST, run=inner if hint else None,
        )  # fmt: skip
    manifest: dict[str, Any] = read_json(path)
    ours = isinstance(manifest, dict) and bool({"tiltmeter", "schema", "status"} & set(manifest))
    if not ours or type(manifest.get("schema", 1)) is not int:
        raise RunError(f"{path} is not a manifest of a tiltmeter run.", code="wrong-format", file=path, expected="manifest")
    _check_layout(folder, manifest)
    if manifest.get("status", "finished") != "finished":
        raise RunError(
            f"{folder} is not a finished run. The run is unfinished; run the same command again to finish it.",
            code="unfinished-run",
            folder=folder,
        )
    if not is_sealed(manifest):
        raise RunError(f"{path} was changed after the run wrote it. {AGAIN}", code="changed-file", file=path)
    return manifest


def is_sealed(manifest: Mapping[str, Any]) -> bool:
    """Return True if a manifest is unchanged, and the run in it unchanged by files that were added."""
    whole = {name: value for name, value in manifest.items() if name != SEAL}
    before = {name: value for name, value in whole.items() if name not in (ADDED, RUN_SEAL)}
    return manifest.get(SEAL) == _digest(whole) and (RUN_SEAL not in whole or whole[RUN_SEAL] == _digest(before))


AGAIN = "Run the same command again: what the models answered is taken from the cache."


def _command(manifest: Mapping[str, Any]) -> str:
    """The command that wrote a run, as a shell reads it; empty where it is not recorded."""
    words = manifest.get("command")
    if not isinstance(words, list) or len(words) < 2:
        return ""
    return f" ({shlex.join(['tiltmeter', *map(str, words[1:])])})"


def _check_layout(folder: Path, manifest: Mapping[str, Any]) -> None:
    schema = manifest.get("schema", 1)
    if schema == SCHEMA:
        return
    made = f"tiltmeter {manifest.get('tiltmeter', 'of unknown version')}"
    what = f"Run its command again{_command(manifest)}: what the models answered is taken from the cache."
    raise RunError(
        f"{folder} was written by {made}, whose folders have layout {schema}; this version reads layout {SCHEMA}. "
        f"{what if schema < SCHEMA else 'Update tiltmeter.'}",
        code="wrong-version",
        folder=folder,
        layout=schema,
        supported=SCHEMA,
    )


def verified(folder: Path, manifest: Mapping[str, Any], name: str) -> Path:
    """A file of a sealed folder, refused where it is not there as it was written."""
    path, digest = folder / name, {**manifest.get("files", {}), **manifest.get(ADDED, {})}.get(name)
    if not path.is_file():
        raise RunError(
            f"{folder} is not a finished run: {name} is missing. {AGAIN}", code="unfinished-run", folder=folder, missing=name
        )
    if digest is None or file_sha256(path) != digest:
        raise RunError(f"{path} was changed or damaged after the run wrote it. {AGAIN}", code="changed-file", file=path)
    return path


def _digest(manifest: Mapping[str, Any]) -> str:
    text = json.dumps(manifest, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
