"""Which run is meant: a folder, the last part of its name, or `last`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tiltmeter.errors import RunError, UsageError

LAST = "last"
RUNS = Path("runs")
MANIFEST = "manifest.json"


def run_folder(named: Path) -> Path:
    """A run folder. A name that is no folder is looked for among the runs here and in runs/.

    What is not found is given back as it is: whoever reads it says that it is not there.
    """
    if named.exists():
        return named
    if str(named) == LAST:
        newest = last_run()
        if newest is None:
            message = "No finished run found here or in runs/. Run `tiltmeter run` first."
            raise RunError(message, code="missing-file", run=LAST)
        return newest
    if len(named.parts) > 1:
        return named
    whole = [folder for folder in finished_runs() if folder.name == named.name]
    ending = whole or [folder for folder in finished_runs() if folder.name.endswith(f"-{named.name}")]
    if len(ending) > 1:
        message = f"'{named}' could be {' or '.join(map(str, ending))}. Give more of the name."
        raise UsageError(message, code="ambiguous-name", name=str(named), names=list(map(str, ending)))
    return ending[0] if ending else named


def last_run() -> Path | None:
    """The newest finished run here or in runs/."""
    return max(finished_runs(), key=lambda folder: (folder / MANIFEST).stat().st_mtime, default=None)


def optional_run_folder(named: Path | None) -> Path | None:
    """A run folder, if one is named."""
    return None if named is None else run_folder(named)


def run_folders(named: list[Path]) -> list[Path]:
    """Several of them."""
    return [run_folder(one) for one in named]


def finished_runs() -> Iterator[Path]:
    """Finished runs in runs/ and in the current folder."""
    for manifest in (*sorted(RUNS.glob(f"*/{MANIFEST}")), *sorted(Path().glob(f"*/{MANIFEST}"))):
        try:
            facts = json.loads(manifest.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(facts, dict) and "tiltmeter" in facts and facts.get("status") == "finished":
            yield manifest.parent
