"""The files of a run folder: made beside an earlier run, sealed, and put in its place when all is written."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.errors import RunError, TiltmeterError, UsageError
from tiltmeter.stats.estimates import details_of, estimates_table
from tiltmeter.storage.compression import is_folder, is_there
from tiltmeter.storage.files import cannot_write, write_json, write_text
from tiltmeter.storage.locks import FolderLockedError, lock_folder
from tiltmeter.storage.places import at_home
from tiltmeter.storage.seals import MANIFEST
from tiltmeter.storage.spreadsheet import bare, csv_text
from tiltmeter.storage.temporary import exchange, sweep, temporary_beside

if TYPE_CHECKING:
    import pandas as pd

COUNTS = ("n", "n_missing", "n_ties")
NUMBERS = ("value", "low", "high", "neutral", "p", "p_holm")
LONGEST = 255
"""Bytes of the name of a file or folder, on all common file systems."""
IN_MEMORY = "models_in_memory"
"""Digests of models that were in memory, by name."""
QUESTION = ("models", IN_MEMORY, "limit", "groups", "precision", "quantize", "seed")
"""Parts of a manifest that decide the answers of a run, besides benchmarks and options. Estimates are never reused."""
OWN = ("estimates.csv", "estimates.json", "report.html", "observations", "studies", "check.json")
"""Files that a run writes besides its tables, and those made from it later."""
AGAIN = "Free some space or choose another folder with -o, and run the same command again"


def output_folder(output: str | Path | None) -> Path:
    """A fresh folder, or an earlier run to replace. Fails before any work; changes nothing yet."""
    folder = at_home(output) if output else _new_folder()
    if is_there(folder) and not is_folder(folder):
        raise UsageError(f"{folder} is a file; -o must name a folder.", code="not-a-folder", folder=str(folder))
    if any(len(os.fsencode(name)) > LONGEST for name in folder.parts) or "\0" in str(folder):
        raise UsageError(
            f"{folder} cannot be made: a name in it is too long, or no name.", code="cannot-write", folder=str(folder)
        )
    above = next(parent for parent in (folder, *folder.absolute().parents) if is_there(parent))
    if not is_folder(above):
        raise UsageError(f"{folder} cannot be made: {above} is a file.", code="not-a-folder", folder=str(above))
    if is_folder(folder) and any(folder.iterdir()) and not _is_run(folder):
        raise UsageError(
            f"{folder} contains other files and no tiltmeter run. Choose another folder with -o.",
            code="output-exists",
            folder=str(folder),
        )
    return folder


def _new_folder() -> Path:
    """A folder named by the time; with a number where another run began in the same second."""
    name = time.strftime("%Y-%m-%d-%H%M%S")
    numbered = (Path("runs") / f"{name}-{number}" for number in count(2))
    return next(folder for folder in chain([Path("runs") / name], numbered) if not is_there(folder))


def _is_run(folder: Path) -> bool:
    return "tiltmeter" in _stored(folder)


def _stored(folder: Path) -> Mapping[str, Any]:
    """The manifest of a folder, as far as it is one."""
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def refuse_other_run(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse to replace a finished run by one of another question: other models, data, options of answers or seed.

    Raises:
        RunError: With the code `other-run` and the field `differs`, the first part of the question that differs.
    """
    stored = _stored(folder)
    before, now = stored.get("asked"), json.loads(json.dumps(manifest.get("asked", {}), default=str))
    if stored.get("status", "finished") != "finished" or not stored:
        return
    if not now:  # imported answers: told apart by the models and benchmarks that they are about
        differs = "" if _cells(stored) == _cells(manifest) else "models or benchmarks"
    else:
        differs = "question" if not isinstance(before, dict) else next(_differences(before, now), "")
    if differs:
        raise RunError(
            f"{folder} contains a finished run with other settings (not the same: {differs}). "
            "Choose another folder with -o, or replace it with --overwrite.",
            code="output-exists", folder=str(folder), differs=differs,
        )  # fmt: skip


def _cells(manifest: Mapping[str, Any]) -> set[tuple[str, str]]:
    parts = [(one.get("model", {}), one.get("benchmark", {})) for one in manifest.get("evaluations", ())]
    return {(str(model.get("shown_as")), str(benchmark.get("name"))) for model, benchmark in parts}


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Name the settings that differ. A finished run names the benchmarks that its models could answer."""
    if not set(before.get("benchmarks", ())) <= set(now.get("benchmarks", ())):
        yield "benchmarks"
    yield from (name for name in QUESTION if before.get(name) != now.get(name))
    options, requested = before.get("options", {}), now.get("options", {})
    for family in options if isinstance(options, dict) else ():
        if options[family] != requested.get(family):
            yield f"options of {family}"


@contextmanager
def reserved(folder: Path, manifest: Mapping[str, Any]) -> Iterator[Path]:
    """A folder beside the run's place, for what a run writes. When all is well it takes the place, as a whole.

    An earlier run stays as it is until then, whatever happens. The place is reserved: a second run into it is refused.
    A new place holds an unfinished manifest meanwhile, which goes again if the run fails.
    """
    there = folder.is_dir()
    _made(folder)
    making = temporary_beside(folder.absolute())
    with _locked(folder):
        sweep([*making.parent.glob(".tiltmeter-*.tmp"), *folder.glob(".tiltmeter-*.tmp")])
        new = not any(folder.iterdir())
        try:
            if new:
                write_json(folder / MANIFEST, manifest)
            yield making
            if making.is_dir():  # else the run that is there is as it should be
                _take_place(making, folder)
        except TiltmeterError:
            if new:
                (folder / MANIFEST).unlink(missing_ok=True)
                _removed_if_empty(folder if not there else None)
            raise
        finally:
            shutil.rmtree(making, ignore_errors=True)


def _made(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(
            f"{folder} cannot be made: {error.strerror}.", code="cannot-write", folder=str(folder), error=error.strerror
        ) from None
    if not (os.access(folder, os.W_OK) and os.access(folder.absolute().parent, os.W_OK)):
        raise RunError(
            f"{folder} cannot be written: no permission. Choose another folder with -o.",
            code="cannot-write",
            folder=str(folder),
        )


def _removed_if_empty(folder: Path | None) -> None:
    if folder is not None and not any(folder.iterdir()):
        folder.rmdir()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder for this process; refuse at once if another process holds it."""
    try:
        with lock_folder(folder, wait=False):
            yield
    except FolderLockedError:
        raise RunError(
            f"Another run is writing to {folder} just now. Wait for it, or choose -o.",
            code="cannot-write",
            folder=str(folder),
            reason="locked",
        ) from None


def _take_place(making: Path, folder: Path) -> None:
    """The new folder under the old one's name. Files of the user's that lay in the old one are taken along."""
    place = folder.absolute()
    old = temporary_beside(place)
    try:
        for path in place.iterdir():
            if not _is_own(path) and not (making / path.name).exists():
                _copied(path, making / path.name)
        if place == Path.cwd() or os.path.ismount(place):
            _replaced_inside(making, place)
            return
        if not exchange(making, place):
            place.rename(old)
            making.rename(place)
    except OSError as error:
        if old.is_dir() and not place.exists():
            old.rename(place)
        raise cannot_write(folder, error, f"An earlier run there is unchanged. {AGAIN}.") from None
    shutil.rmtree(old, ignore_errors=True)


def _is_own(path: Path) -> bool:
    return path.name in (*OWN, MANIFEST) or path.suffix == ".parquet"


def _copied(path: Path, target: Path) -> None:
    shutil.copytree(path, target, symlinks=True) if path.is_dir() else shutil.copy2(path, target, follow_symlinks=False)


def _replaced_inside(making: Path, place: Path) -> None:
    """For a folder that cannot be renamed: file by file, the manifest last, so that half of it is detected."""
    for path in place.iterdir():
        if _is_own(path):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in sorted(making.iterdir(), key=lambda path: path.name == MANIFEST):
        if not (place / path.name).exists():
            path.rename(place / path.name)


@contextmanager
def write_errors(folder: Path) -> Iterator[None]:
    """Says what to do where a run folder cannot be written."""
    try:
        yield
    except OSError as error:
        raise cannot_write(folder, error, f"{AGAIN}: answers are in the cache.") from None


def write_estimates(folder: Path, table: pd.DataFrame) -> None:
    """estimates.csv and estimates.json."""
    write_text(folder / "estimates.csv", csv_text(table), own=True)
    write_text(folder / "estimates.json", _json_text(table), own=True)


def _json_text(table: pd.DataFrame) -> str:
    return f"{table.to_json(orient='records', indent=1, force_ascii=False, double_precision=15)}\n"


@contextmanager
def appended_estimates(folder: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Write estimates some rows at a time; the files equal those of `write_estimates` for all rows."""
    with ExitStack() as files:
        rows, records = (
            files.enter_context((folder / name).open("w", encoding="utf-8", newline="\n"))
            for name in ("estimates.csv", "estimates.json")
        )
        begun = False

        def append(table: pd.DataFrame) -> None:
            nonlocal begun
            if not len(table):
                return
            text = csv_text(table)
            rows.write(text[text.index("\n") + 1 :] if begun else text)  # the header has no line feed of its own
            records.write("," if begun else "[")
            records.write(_json_text(table)[1:-3])  # without its brackets
            begun = True

        yield append
        if begun:
            records.write("\n]\n")
        else:
            nothing = estimates_table([])
            rows.write(csv_text(nothing))
            records.write(_json_text(nothing))


def read_estimates(path: Path) -> pd.DataFrame:
    """Read estimates.csv as it was written, to the last digit. Only numbers can be missing; a model may be called NA.

    Files of earlier versions have no columns `details` and `corrected_over`: they are empty.
    """
    import pandas as pd

    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        for name in table:
            read = (lambda text: int(float(text))) if name in COUNTS else _number if name in NUMBERS else bare
            table[name] = [read(text) for text in table[name]]
        for name, before in (("details", "note"), ("corrected_over", "missing")):
            if name not in table:
                table.insert(table.columns.get_loc(before) if before in table else len(table.columns), name, "")
        for text in table["details"].unique():
            details_of({"details": text})
    except (OSError, ValueError, OverflowError) as error:
        raise RunError(f"Cannot read {path}: {error}.", code="damaged-file", file=str(path), error=str(error)) from None
    return table


def _number(text: str) -> float:
    return float(text or "nan")
