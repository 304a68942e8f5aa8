"""Scorers, measures and benchmarks in single files of the user's: `-s my_scorer.py`, `-b my_benchmark.py`.

Such a file is what a file of ours in `scorers/`, `measures/` or `benchmarks/` is. It is Python code that is run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from tiltmeter.catalog.declarations import meant_field
from tiltmeter.errors import InputError, UsageError

SUFFIX = ".py"


@dataclass(frozen=True)
class LoadedFile:
    """A module from a file, and a number that changes with its content."""

    path: Path
    module: ModuleType
    version: int


loaded: dict[tuple[str, str], LoadedFile] = {}
"""Kind and name of each file that was loaded in this process."""


def is_file_name(name: str) -> bool:
    """Return True if a name is that of a Python file."""
    return name.endswith(SUFFIX)


def entry_name(path: str | Path) -> str:
    """Return the name of what is in a file.

    >>> entry_name("mine/Mean-Gap.py")
    'mean_gap'
    """
    return Path(path).stem.strip().lower().replace("-", "_")


def load_file(kind: str, path: str | Path, taken: tuple[str, ...]) -> str:
    """Load a file as one of a kind; return its name, which is the file's without its ending.

    Args:
        kind: scorers, measures or benchmarks.
        path: The file.
        taken: Names of this kind that exist already.

    Raises:
        InputError: `missing-file`, or `broken-file` with the error that the file raised.
        UsageError: `name-taken`, if something of ours or of a package has that name.
    """
    place = Path(path).expanduser()
    name = entry_name(path)
    if not place.is_file():
        raise InputError(f"There is no file {place}.", code="missing-file", file=str(place))
    if name in taken and (kind, name) not in loaded:
        raise UsageError(
            f"{place}: there is one called '{name}' already. Rename the file.",
            code="duplicate-name",
            name=name,
            kind="entry",
            file=str(place),
        )
    content = place.read_bytes()
    version = int(hashlib.sha256(content).hexdigest()[:12], 16)
    before = loaded.get((kind, name))
    if before is None or before.version != version or before.path != place.resolve():
        loaded[kind, name] = LoadedFile(place.resolve(), _import(place, name), version)
    return name


def _import(place: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tiltmeter_file_{name}", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # the code of others may raise what it likes
        del sys.modules[spec.name]
        what = f"{type(error).__name__}: {error}".rstrip(".")
        raise InputError(
            f"{place} cannot be loaded: {what}.{meant_field(error)}", code="broken-package", file=str(place), error=what
        ) from error
    return module
