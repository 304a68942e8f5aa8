"""The files of a run folder: making, replacing and refusing one, and what is written into it."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.families import Answers
from tiltmeter.storage.files import write_frame, write_json, write_text

if TYPE_CHECKING:
    import pandas as pd

COUNTS = ("n", "n_missing", "n_ties")
NUMBERS = ("value", "low", "high", "neutral", "p", "p_holm")


def output_folder(output: str | Path | None) -> Path:
    """A fresh folder, or an earlier run to replace. Fails before any work; changes nothing yet."""
    folder = Path(output) if output else Path("runs") / time.strftime("%Y-%m-%d-%H%M%S")
    if folder.exists() and not folder.is_dir():
        raise TiltmeterError(f"{folder} is a file; -o names a folder.")
    above = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not above.is_dir():
        raise TiltmeterError(f"{folder} cannot be made: {above} is a file.")
    if folder.is_dir() and any(folder.iterdir()) and not _is_run(folder):
        raise TiltmeterError(f"{folder} holds other files and no tiltmeter run; choose another folder with -o.")
    return folder


def _is_run(folder: Path) -> bool:
    try:
        return "tiltmeter" in json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def clear(folder: Path) -> None:
    """Takes away what an earlier run left."""
    try:
        for stale in (
            *folder.glob("*.parquet"),
            *(folder / name for name in ("estimates.csv", "estimates.json", "report.html")),
        ):
            stale.unlink(missing_ok=True)
    except OSError as error:
        raise TiltmeterError(f"Cannot replace the run in {folder}: {error.strerror}.") from None
    for name in ("observations", "studies"):
        shutil.rmtree(folder / name, ignore_errors=True)


@contextmanager
def opening(folder: Path, manifest: dict[str, Any]) -> Iterator[Callable[[], None]]:
    """Gives what begins a run, to be called when a model is loaded and can be asked: an earlier run is replaced only then.

    What can be mended by the user ends it without a trace; killed or interrupted, it stays as an unfinished run.
    """
    there = folder.exists()

    @cache
    def begin() -> None:
        clear(folder)
        write_json(folder / "manifest.json", manifest)

    try:
        yield begin
    except TiltmeterError:
        if begin.cache_info().currsize and [path.name for path in folder.iterdir()] == ["manifest.json"]:
            (folder / "manifest.json").unlink()
            if not there:
                folder.rmdir()
        raise


def write_answers(folder: Path, answers: Mapping[str, Answers]) -> None:
    """The tables of all families, the items of all, and the files that are attached."""
    import pandas as pd

    for part in answers.values():
        for name, frame in part.tables.items():
            write_frame(folder / f"{name}.parquet", frame)
        for path, place in part.attachments.items():
            _attach(place, folder / path)
    items = pd.concat([part.items for part in answers.values()], ignore_index=True)
    write_frame(folder / "items.parquet", items.drop_duplicates(["benchmark", "item"], ignore_index=True))


def _attach(source: Path, target: Path) -> None:
    """Links (or copies) a file into the run, so that it can be read without the cache or the model."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)  # never write into a link: the cache is at its other end
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copyfile(source, target)


def write_estimates(folder: Path, table: pd.DataFrame) -> None:
    """estimates.csv and estimates.json."""
    write_text(folder / "estimates.csv", table.to_csv(index=False))
    write_text(
        folder / "estimates.json",
        table.to_json(orient="records", indent=1, force_ascii=False, double_precision=15) + "\n",
    )


def read_estimates(path: Path) -> pd.DataFrame:
    """estimates.csv as it was written, to the last digit: only numbers can be missing, and a model may be called NA."""
    import pandas as pd

    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    for name in set(table) & {*COUNTS, *NUMBERS}:
        table[name] = [int(float(text)) if name in COUNTS else float(text or "nan") for text in table[name]]
    return table
