"""The earlier name of `tiltmeter.execution`. It will be removed in the next version."""

from __future__ import annotations

import warnings
from typing import Any

from tiltmeter import execution
from tiltmeter.runs import experiment

MOVED = ("make_cells", "run_experiment")
RENAMED = {
    "StudyFile": "Experiment", "plan": "plan_cells", "read_study": "read_experiment", "run_study": "run_experiment",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    new = RENAMED.get(name, name)
    home = experiment if new in MOVED else execution
    if new not in (*MOVED, *execution.__all__):
        raise AttributeError(f"module 'tiltmeter.plans' has no attribute '{name}'")
    warnings.warn(
        f"tiltmeter.plans.{name} will be removed in the next version. Use {home.__name__}.{new}.",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(home, new)
