"""How far an experiment is: a small document per cell in its storage, written by whoever works on it, read by anyone."""

from __future__ import annotations

import os
import socket
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.execution.experiment_file import Experiment, read_experiment
from tiltmeter.execution.key import is_same
from tiltmeter.execution.plan import Plan, PlannedCell, plan_cells
from tiltmeter.storage.object_store import Depot

if TYPE_CHECKING:
    import pandas as pd

WAITING, RUNNING, DONE, REFUSED, FAILED = "waiting", "running", "done", "refused", "failed"
FINAL = (DONE, REFUSED, FAILED)
LEISURE = 20
"""How much longer than a look at the states the pause after it is."""


@dataclass(frozen=True)
class CellState:
    """State of one cell. `refused`: the model cannot answer this benchmark; `failed`: an unexpected error.

    `question` is its question on the worker's machine. `is_found`: the answers were in the cache.
    """

    cell: str
    status: str = WAITING
    key: str | None = None
    error: str | None = None
    attempts: int = 0
    seconds: float | None = None
    started: float | None = None
    worker: str | None = None
    question: dict[str, Any] | None = None
    is_found: bool = False


class Ledger:
    """The states of cells, each named by its question. Without an object store they stay in the memory of this process."""

    def __init__(self, depot: Depot | None) -> None:
        self.depot = depot
        self._states: dict[str, CellState] = {}

    def read(self, cell: PlannedCell) -> CellState:
        """Read the state of a cell; one that was never begun is waiting."""
        if self.depot is None:
            return self._states.get(cell.name, CellState(cell.name))
        return self._read(cell.name) or CellState(cell.name)

    def find(self, cell: PlannedCell) -> CellState:
        """Read the state of a cell, or the final state of an equal question from a machine that has or lacks a file."""
        state = self.read(cell)
        if state.status != WAITING or state.attempts or self.depot is None or cell.question is None:
            return state
        for other in self.states_of(cell):
            if other.status in (DONE, REFUSED) and is_same(other.question, cell.question):
                return replace(other, cell=cell.name)
        return state

    def adopt(self, cell: PlannedCell) -> CellState:
        """Find the state of a cell, and store it under the name that the question has on this machine."""
        state = self.find(cell)
        return state if state.status == WAITING else self._write(state)

    def states_of(self, cell: PlannedCell) -> list[CellState]:
        """All states of this model and benchmark that have a question, whatever it is."""
        if self.depot is None:
            return []
        folder = cell.name.rpartition("/")[0]
        found = (self._read(f"{folder}/{name}") for name in self.depot.list(f"cells/{folder}"))
        return [state for state in found if state is not None and state.question]

    def begin(self, cell: PlannedCell, question: dict[str, Any] | None = None) -> CellState:
        """Says that this process works on a cell. One that is worked on already was divided, and is joined now."""
        before = self.read(cell)
        joining = before.status == RUNNING and before.started is not None
        attempts, started = (before.attempts, before.started) if joining else (before.attempts + 1, time.time())
        state = CellState(cell.name, RUNNING, attempts=attempts, started=started, question=question)
        return self._write(replace(state, worker=f"{socket.gethostname()}:{os.getpid()}"))

    def end(
        self, state: CellState, status: str, *, key: str | None = None, error: str | None = None, is_found: bool = False
    ) -> CellState:
        """Says how it ended."""
        took = round(time.time() - state.started, 3) if state.started else None
        return self._write(replace(state, status=status, key=key, error=error, seconds=took, is_found=is_found))

    def reset(self, cell: PlannedCell, attempts: int = 0) -> None:
        """Makes a cell wait again."""
        self._write(CellState(cell.name, attempts=attempts))

    def _read(self, name: str) -> CellState | None:
        assert self.depot is not None
        document = self.depot.read(f"cells/{name}")
        if not isinstance(document, dict) or document.get("cell") != name:
            return None
        document = {"question": document.get("asked"), **document}  # the name in earlier versions
        names = {entry.name for entry in fields(CellState)}
        return CellState(**{name: value for name, value in document.items() if name in names})

    def _write(self, state: CellState) -> CellState:
        if self.depot is None:
            self._states[state.cell] = state
        else:
            self.depot.write(f"cells/{state.cell}", asdict(state))
        return state


@dataclass(frozen=True)
class Status:
    """The states of all cells of an experiment at one moment."""

    plan: Plan
    states: tuple[CellState, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many cells are in which state."""
        found = Counter(state.status for state in self.states)
        return {status: found[status] for status in (DONE, RUNNING, FAILED, REFUSED, WAITING)}

    @property
    def eta(self) -> float | None:
        """Seconds that the rest would take one after another, from what the finished cells of each benchmark took."""
        took: dict[str, list[float]] = {}
        for cell, state in zip(self.plan.cells, self.states, strict=True):
            if state.status == DONE and state.seconds is not None:
                took.setdefault(cell.benchmark, []).append(state.seconds)
        every = [seconds for some in took.values() for seconds in some]
        if not every:
            return None
        open_ = [cell for cell, state in zip(self.plan.cells, self.states, strict=True) if state.status not in FINAL]
        return sum(_mean(took.get(cell.benchmark, every)) for cell in open_)

    def table(self) -> pd.DataFrame:
        """One row per cell."""
        import pandas as pd

        rows: list[dict[str, Any]] = [
            {
                "model": cell.model,
                "benchmark": cell.benchmark,
                "status": state.status,
                "seconds": state.seconds,
                "attempts": state.attempts,
                "error": state.error or "",
            }
            for cell, state in zip(self.plan.cells, self.states, strict=True)
        ]
        return pd.DataFrame(rows)


def status(experiment: Experiment | str | Path) -> Status:
    """How far an experiment is, as its storage says it, whoever works on it."""
    experiment = experiment if isinstance(experiment, Experiment) else read_experiment(experiment)
    return read_status(plan_cells(experiment), Ledger(Depot(experiment.storage)))


def read_status(planned: Plan, ledger: Ledger) -> Status:
    """The states of the cells of a plan."""
    return Status(planned, tuple(ledger.find(cell) for cell in planned.cells))


class Board:
    """Latest states of the cells of a plan. Only those that may have changed are read again."""

    def __init__(self, planned: Plan, ledger: Ledger) -> None:
        self.planned, self.ledger = planned, ledger
        self.states = {cell.name: ledger.read(cell) for cell in planned.cells}
        self._not_before = 0.0

    def look(self, cells: Iterable[PlannedCell]) -> bool:
        """Reads the states of these cells, unless that was done just now: looking is to cost little beside the work."""
        begun = time.monotonic()
        if begun < self._not_before:
            return False
        for cell in cells:
            if self.states[cell.name].status not in FINAL:
                self.states[cell.name] = self.ledger.read(cell)
        now = time.monotonic()
        self._not_before = now + LEISURE * (now - begun)
        return True

    @property
    def status(self) -> Status:
        """All states, as last seen."""
        return Status(self.planned, tuple(self.states[cell.name] for cell in self.planned.cells))


def _mean(values: Iterable[float]) -> float:
    several = list(values)
    return sum(several) / len(several)
