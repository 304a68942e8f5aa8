"""Details of runs that were written before estimates had any, from the stored answers."""

from __future__ import annotations

from pathlib import Path

from tiltmeter.errors import TiltmeterError
from tiltmeter.execution.options import DEFAULT_BY
from tiltmeter.runs.estimate import estimate_all
from tiltmeter.runs.reading import Run
from tiltmeter.stats.settings import stored_settings

KEY = ["model", "benchmark", "scorer", "measure", "by", "group"]


def has_details(folder: Path) -> bool:
    """Return whether the estimates in a run folder have the column `details`; true where there are no estimates."""
    path = folder / "estimates.csv"
    if not path.is_file():
        return True
    with path.open(encoding="utf-8") as file:
        return "details" in next(file, "").strip().replace('"', "").split(",")


def with_details(run: Run) -> Run:
    """Return a run with the details of its estimates; a run of an earlier version gets them from its stored answers.

    All other columns stay as they were stored. Where the answers cannot be estimated again, there are no details.
    """
    if has_details(run.folder):
        return run
    asked = run.manifest.get("asked", {})
    measures = asked["measures"] if isinstance(asked.get("measures"), list) else None
    try:
        again = estimate_all(run.answers, measures, asked.get("by", DEFAULT_BY), stored_settings(asked))
    except TiltmeterError:
        return run
    known = dict(zip(again[KEY].itertuples(index=False, name=None), again["details"], strict=True))
    details = [known.get(place, "") for place in run.estimates[KEY].itertuples(index=False, name=None)]
    return Run(run.folder, run.answers, run.estimates.assign(details=details), run.manifest)
