"""The scheduling of the Ray engine, played with measured costs: how long studies would take with up to 1,000 workers.

The queues are the engine's own code. Everything else is a model of it, with these assumptions:
- a worker has a core of its own and needs the measured seconds to start and to load its model; a cell takes those of a small
  one and of its items; every cell's storage is as far away as `STORAGE` says;
- models differ in size: `SPREAD` times between the fastest and the slowest, evenly on a logarithmic scale;
- the driver does one thing at a time, and each takes as long as an actor's call was measured to take;
- all workers are alike, nothing dies, and the network and the storage serve any number of them at once.
"""

from __future__ import annotations

import heapq
import random
import statistics
from dataclasses import dataclass
from typing import Any

from tiltmeter.execution.plan import PlannedCell
from tiltmeter.execution.queues import Queues, Task

FIRST, BLOCK = 300, 700
"""Items of the first block of pairs, and of the others."""
STORAGE = 0.4
"""Seconds: eight requests to a storage like S3 for each cell, 50 ms each."""
SPREAD = 30
CALL = 0.002
"""Seconds of the driver for a task, where Ray was not there to be measured."""
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
STUDIES = {
    "19 models × 10 benchmarks of 2,000 items": (19, 10, 2_000),
    "1,000 models × 10 benchmarks of 2,000 items": (1_000, 10, 2_000),
    "1 model × 1 benchmark of 1,000,000 items": (1, 1, 1_000_000),
}


@dataclass(frozen=True)
class Costs:
    """Seconds: to start a worker with its model, of a cell besides its items, of an item, and of the driver for a task."""

    start: float
    cell: float
    item: float
    call: float


def costs_of(results: dict[str, Any]) -> Costs:
    """From what was measured, in processor seconds: every worker has a core of its own."""
    found = results["cpu"]
    return Costs(
        start=found["start_seconds"],
        cell=found["milliseconds_of_a_tiny_cell"] / 1000 + STORAGE,
        item=statistics.median(found["cell_seconds"]) / found["items"],
        call=statistics.median(results.get("calls", {}).get("milliseconds_of_a_call", [1000 * CALL])) / 1000,
    )


def simulate(results: dict[str, Any]) -> dict[str, Any]:
    """Hours and efficiency (the work itself, over workers × time) of each study at each number of workers."""
    costs = costs_of(results)
    told: dict[str, Any] = {"costs": vars(costs), "spread": SPREAD, "studies": {}}
    for name, size in STUDIES.items():
        rows = {}
        for workers in WORKERS:
            seconds, useful = play(workers, *size, costs)
            rows[workers] = {"hours": round(seconds / 3600, 4), "efficiency": round(useful / (workers * seconds), 3)}
        told["studies"][name] = rows
    return told


def play(workers: int, models: int, benchmarks: int, items: int, costs: Costs) -> tuple[float, float]:
    """Seconds until all is done, and seconds of asking in them."""
    rng = random.Random(0)
    speed = {f"m{n}": SPREAD ** rng.random() if models > 1 else 1.0 for n in range(models)}
    cells = {name: [PlannedCell(f"{name}-{n}", name, str(n), n, items) for n in range(benchmarks)] for name in speed}
    return _Play(workers, Queues(cells), speed, costs).played()


class _Play:
    """Workers as events in time: when one is free, a number, its model, whether it helps, what it did, in what shares."""

    def __init__(self, workers: int, queues: Queues, speed: dict[str, float], costs: Costs) -> None:
        self.workers, self.queues, self.speed, self.costs = workers, queues, speed, costs
        self.now = self.useful = 0.0
        self.number = self.there = 0
        self.events: list[tuple[float, int, str, bool, Task | None, int]] = []
        self.idle: list[tuple[str, bool]] = []

    def played(self) -> tuple[float, float]:
        self._fill()
        while self.events:
            due, _, model, helper, task, shares = heapq.heappop(self.events)
            self.now = max(self.now, due) + self.costs.call
            if task is not None and shares > 1:
                self.queues.divide(model, task.cell, shares)
            elif task is not None:
                self.queues.ended(model, task)
            self.idle.append((model, helper))
            self._fill()
        assert self.queues.is_joined
        return self.now, self.useful

    def _fill(self) -> None:
        """As the engine does it: those that wait get a task or go, and new ones come while there is room."""
        waiting, self.idle = self.idle, []
        for model, helper in waiting:
            self._next(model, helper, 0.0)
        while self.there < self.workers and (wanted := self.queues.next_model()):
            self.there += 1
            model, helper = wanted
            if helper:
                self._next(model, helper, self.costs.start)
            else:
                self._event(self.costs.start, model, helper)

    def _next(self, model: str, helper: bool, later: float) -> None:
        task = self.queues.next_task(model, helper, self.workers - self.there)
        if task is not None:
            shares = self._shares(task)
            seconds = 0.0 if shares > 1 else self._seconds(model, task)  # it is found to be large, no more
            self._event(later + seconds, model, helper, task, shares)
        elif helper or self.queues.over(model):
            self.there -= 1
        else:
            self.idle.append((model, helper))

    def _event(self, seconds: float, model: str, helper: bool, task: Task | None = None, shares: int = 1) -> None:
        self.number += 1
        self.now += self.costs.call
        heapq.heappush(self.events, (self.now + seconds, self.number, model, helper, task, shares))

    def _shares(self, task: Task) -> int:
        """In how many shares a worker would divide it now."""
        divisible = task.share is None and not task.joining and self.queues.has_helpers
        return min(self.workers, 1 + -(-(task.cell.items - FIRST) // BLOCK)) if divisible else 1

    def _seconds(self, model: str, task: Task) -> float:
        asking = task.cell.items * self.costs.item * self.speed[model] / (task.share.of if task.share else 1)
        if task.joining:
            return self.costs.cell  # what it costs to read the blocks again is small beside making them
        self.useful += asking
        return self.costs.cell + asking
