"""Measures from files of the user's: runs store their values and file names, but not their code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tiltmeter import catalog
from tiltmeter.catalog.files import entry_name, is_file_name
from tiltmeter.errors import UsageError
from tiltmeter.storage.places import at_home
from tiltmeter.storage.seals import read_seal


def unloaded_measures(folders: Sequence[str | Path]) -> dict[str, str]:
    """Measures that runs computed from a file and that are not loaded, by name, each with its file as it was named.

    The file is not loaded by itself: a run folder of somebody else must not choose the code that is run.
    """
    several = [read_seal(at_home(folder)).get("asked", {}).get("measures") or () for folder in folders]
    files = {entry_name(name): str(name) for names in several for name in names if is_file_name(str(name))}
    return {name: file for name, file in files.items() if name not in catalog.names("measures")}


def refuse_without_file(folders: Sequence[str | Path], measures: Sequence[str] | None) -> None:
    """Raise an error for a measure that is named and whose file the runs know.

    Raises:
        UsageError: `missing-value`, with the file.
    """
    wanted = {entry_name(name): name for name in measures or () if not is_file_name(name)}
    if not wanted.keys() - set(catalog.names("measures")):
        return
    for name, file in unloaded_measures(folders).items():
        if name in wanted:
            raise UsageError(
                f"The measure '{wanted[name]}' is from a file. Give the file: --measure {file}.",
                code="missing-value", option="--measure", measure=name, file=file,
            )  # fmt: skip


def name_files(folders: Sequence[str | Path], measures: Sequence[str] | None) -> Iterator[str]:
    """Name the measures from files that are left out where no measure was named."""
    if not measures:
        for name, file in unloaded_measures(folders).items():
            yield f"These runs also have the measure {name}, from a file. To include it: --measure {file}"
