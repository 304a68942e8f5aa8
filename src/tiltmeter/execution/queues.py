"""Who does what next: every model has a queue of its cells and one worker; large cells are shared with further ones.

Nothing here knows what a worker is, so that a cluster and a simulation of one follow the same rules.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tiltmeter.execution.plan import PlannedCell
from tiltmeter.probes.work import Share


class Task(NamedTuple):
    """A cell to be made, or a share of one. `joining`: its shares are done, so it is not divided any more."""

    cell: PlannedCell
    share: Share | None = None
    joining: bool = False


@dataclass
class _Line:
    """Open tasks of one model. `sharing`: cells with their number of open shares; a cell is joined after the last."""

    tasks: deque[Task]
    shares: deque[Task] = field(default_factory=deque)
    sharing: dict[PlannedCell, int] = field(default_factory=dict)
    busy: int = 0


class Queues:
    """The tasks of all models. A worker is the one of its model, or a helper that does shares only."""

    def __init__(self, cells: Mapping[str, Sequence[PlannedCell]]) -> None:
        self._lines = {model: _Line(deque(map(Task, some))) for model, some in cells.items()}
        self._alone = deque(cells)

    def next_model(self) -> tuple[str, bool] | None:
        """Choose the model of a free worker, and whether it is a helper. Helpers compute shares that have not been begun."""
        if self._alone:
            return self._alone.popleft(), False
        model = max(self._lines, key=lambda name: len(self._lines[name].shares), default=None)
        return (model, True) if model is not None and self._lines[model].shares else None

    def next_task(self, model: str, helper: bool, free: int = 0) -> Task | None:
        """Choose the next task of a worker. Shares come first, unless there are more free workers than shares."""
        line = self._lines[model]
        waiting = line.shares if helper or not line.tasks or len(line.shares) > free else line.tasks
        if not waiting:
            return None
        line.busy += 1
        return waiting.popleft()

    def divide(self, model: str, cell: PlannedCell, shares: int) -> None:
        """A cell turned out to be large: it is done in shares, and then joined by the model's own worker."""
        line = self._lines[model]
        line.busy -= 1
        line.sharing[cell] = shares
        line.shares.extend(Task(cell, Share(number, shares)) for number in range(shares))

    def ended(self, model: str, task: Task) -> None:
        """A task is over, well or not. What a share left undone is made up for when the cell is joined."""
        line = self._lines[model]
        line.busy -= 1
        if task.share is None or task.cell not in line.sharing:
            return
        line.sharing[task.cell] -= 1
        if not line.sharing[task.cell]:
            del line.sharing[task.cell]
            line.tasks.appendleft(Task(task.cell, joining=True))

    def again(self, model: str, task: Task) -> None:
        """The worker died over a task: it waits again, before all others."""
        line = self._lines[model]
        line.busy -= 1
        if task.share is None:
            line.tasks.appendleft(task)
        elif task.cell in line.sharing:
            line.shares.appendleft(task)

    def left(self, model: str) -> None:
        """The worker of a model is gone; another one is wanted."""
        self._alone.append(model)

    def drop(self, model: str) -> list[PlannedCell]:
        """Gives a model up; the cells that were not done."""
        line = self._lines[model]
        cells = dict.fromkeys((*line.sharing, *(task.cell for task in line.tasks)))
        for waiting in (line.tasks, line.shares, line.sharing):
            waiting.clear()
        return list(cells)

    def over(self, model: str) -> bool:
        """Return True if a model has no open or running task."""
        line = self._lines[model]
        return not (line.tasks or line.shares or line.busy)

    @property
    def has_helpers(self) -> bool:
        """Return True if free workers may help with shares: no model waits for a worker."""
        return not self._alone

    @property
    def is_joined(self) -> bool:
        """Return True if no model has an open or running task."""
        return all(self.over(model) for model in self._lines)
