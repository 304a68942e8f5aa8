"""Values that a shell completes: models, benchmarks, scorers, measures and run folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tiltmeter.cli.folders import LAST, RUNS, finished_runs

Complete = Callable[[str], list[str]]
BENCHMARK_FILES = (".csv", ".tsv", ".jsonl", ".json", ".py")
SCORER_FILES = (".py",)
HUB_PREFIX = "models--"


def complete_model(incomplete: str) -> list[str]:
    """Embedded models, those in the hub's cache, and folders."""
    from tiltmeter.models.places import EMBEDDED

    return _beginning(incomplete, (*EMBEDDED, *_cached()), _paths(incomplete, (".gguf",)))


def complete_benchmark(incomplete: str) -> list[str]:
    """Benchmarks by name, and files."""
    return _beginning(incomplete, _names("benchmarks"), _paths(incomplete, BENCHMARK_FILES))


def complete_scorer(incomplete: str) -> list[str]:
    """Scorers by name, and files."""
    return _beginning(incomplete, ("all", *_names("scorers")), _paths(incomplete, SCORER_FILES))


def complete_measure(incomplete: str) -> list[str]:
    """Measures by name."""
    return _beginning(incomplete, _names("measures"))


def complete_run(incomplete: str) -> list[str]:
    """Finished runs by folder, and `last`."""
    runs = [str(folder) for folder in finished_runs()]
    return _beginning(incomplete, (*runs, *(Path(run).name for run in runs if run.startswith(f"{RUNS}/")), LAST))


def _names(kind: str) -> list[str]:
    from tiltmeter import catalog

    return [catalog.public_name(name) if kind == "benchmarks" else name for name in catalog.names(kind)]


def _cached() -> Iterator[str]:
    """Ids in the hub's cache."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    place = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    for folder in sorted(place.glob(f"{HUB_PREFIX}*")):
        yield folder.name.removeprefix(HUB_PREFIX).replace("--", "/")


def _paths(incomplete: str, endings: tuple[str, ...]) -> Iterator[str]:
    """Folders, with a slash, and files with one of the endings."""
    head, _, tail = incomplete.rpartition("/")
    shown = f"{head}/" if "/" in incomplete else ""
    try:
        entries = sorted(os.scandir(Path(shown).expanduser() if shown else "."), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") and not tail.startswith("."):
            continue
        if entry.is_dir():
            yield f"{shown}{entry.name}/"
        elif entry.name.endswith(endings):
            yield f"{shown}{entry.name}"


def _beginning(incomplete: str, *groups: Iterable[str]) -> list[str]:
    """Those that begin so, each once."""
    return list(dict.fromkeys(name for group in groups for name in group if name.startswith(incomplete)))
