"""Engines that compute the cells of an experiment: local processes or a Ray cluster, with numbers of workers and GPUs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.errors import UsageError, require_known
from tiltmeter.execution.plan import PlannedCell

RETRIES = 2
ENGINES = ("local", "ray")
INLINE = "inline"
"""The engine of this process: the first error stops it."""
Look = Callable[[Iterable[PlannedCell]], None]
"""Shows how far an experiment is, after a look at the cells that may have changed."""


@dataclass(frozen=True)
class Engine:
    """`workers`: how many at a time (None: as many as there is room for).

    `threads`: of each. `retries`: how often what died is begun again. `address` and `gpus` (of each worker, e.g. 0.5)
    are for a Ray cluster.
    """

    name: str = "local"
    workers: int | None = None
    threads: int | None = None
    gpus: float | None = None
    address: str | None = None
    retries: int = RETRIES

    def check(self) -> None:
        """Raise an error for invalid settings, before any work."""
        if self.name != INLINE:
            require_known("engine", self.name, ENGINES)
        if self.name != "ray" and (self.address is not None or self.gpus is not None):
            raise UsageError(
                f"{'address' if self.address is not None else 'gpus'} applies only to a Ray cluster (--engine ray).",
                code="inapplicable-option",
                option="address" if self.address is not None else "gpus",
            )
        if self.gpus is not None and not (0 < self.gpus < 1 or (self.gpus >= 1 and self.gpus == int(self.gpus))):
            raise UsageError(
                f"gpus must be a fraction of one GPU (e.g. 0.5) or a whole number, not {self.gpus}.",
                code="out-of-range",
                name="gpus",
                value=self.gpus,
            )


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_workers(models: int, device: str) -> int:
    """One for each core, but one in all where a GPU does the work."""
    on_gpu = device.startswith("cuda") or (device == "auto" and Path("/dev/nvidiactl").exists())
    return 1 if on_gpu else max(1, min(models, cores()))
