"""The executor: makes the cells of a plan that are missing, by one of three engines, and finds the finished ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace

from tiltmeter.errors import require_known
from tiltmeter.execution import inline_engine, process_engine, ray_engine
from tiltmeter.execution.cells import as_reused
from tiltmeter.execution.engine import INLINE, Engine
from tiltmeter.execution.key import is_same
from tiltmeter.execution.ledger import DONE, FAILED, FINAL, REFUSED, WAITING, Board, Ledger, Status, read_status
from tiltmeter.execution.missing_cells import refuse_vanished, title_of
from tiltmeter.execution.plan import Plan, PlannedCell
from tiltmeter.execution.sync import pull
from tiltmeter.families.kit.protocol import Watch
from tiltmeter.storage.cells import CellStore, Kept


def choose_engine(engine: Engine | str, workers: int | None) -> Engine:
    """Return the requested engine, after checking that it can run."""
    engine = Engine(engine) if isinstance(engine, str) else engine
    engine = replace(engine, workers=workers) if workers else engine
    engine.check()
    if engine.name == "ray":
        ray_engine.check()
    return engine


class Executor:
    """Makes the cells of a plan. What is finished is in the store under its key, so the same call goes on after a kill."""

    def __init__(self, planned: Plan, ledger: Ledger, store: CellStore, engine: Engine, watch: Watch | None) -> None:
        self.planned, self.ledger, self.store = planned, ledger, store
        self._engine, self._watch = engine, watch
        self._made: set[str] = set()

    @property
    def status(self) -> Status:
        """The states of all cells."""
        return read_status(self.planned, self.ledger)

    def execute(self) -> list[Kept]:
        """Compute the missing cells and return all. Cells that vanish from the cache meanwhile are computed again, once."""
        lost: list[str] = []
        for _ in range(2):
            self.make(self.prepare())
            found, lost = self.gather()
            if not lost:
                return found
        refuse_vanished(lost, self.planned.experiment.path)
        return found

    def prepare(self, models: Collection[str] = ()) -> list[str]:
        """The models (of these, or of all) with work left. What failed or was left by a process that died waits again."""
        todo = []
        for cell in self.planned.cells:
            if models and cell.model not in models:
                continue
            state = self.ledger.adopt(cell)
            if state.status in (DONE, REFUSED) and not cell.error:
                continue
            if state.status != WAITING or state.attempts:
                self.ledger.reset(cell)
            if cell.error:  # no worker is needed to say so
                self.ledger.end(self.ledger.begin(cell), FAILED, error=cell.error)
            else:
                todo.append(cell)
        self._made |= {cell.name for cell in todo}
        return list(dict.fromkeys(cell.model for cell in todo))

    def make(self, models: Sequence[str]) -> None:
        """Compute the cells of these models and show the progress."""
        if not models:
            return
        if self._engine.name == INLINE:  # every cell shows its own progress
            inline_engine.go(self.planned, self.ledger, models, lambda _: None, self.store, self._watch)
            return
        board, planned = Board(self.planned, self.ledger), self.planned
        watch, shown = self._watch, sum(state.status in FINAL for state in board.status.states)
        left = len(planned.cells) - shown
        with watch(planned.experiment.title, left) if watch else nullcontext(lambda *_: None) as advance:

            def look(cells: Iterable[PlannedCell]) -> None:
                nonlocal shown
                if board.look(cells):
                    now = board.status
                    final = sum(state.status in FINAL for state in now.states)
                    counts = ", ".join(f"{count} {name}" for name, count in now.counts.items() if count)
                    advance(final - shown, counts)  # type: ignore[call-arg]
                    shown = final

            look(())
            go = ray_engine.go if self._engine.name == "ray" else process_engine.go
            go(planned, self.ledger, models, self._engine, look)

    def gather(self) -> tuple[list[Kept], list[str]]:
        """The finished cells, and which are no longer in the cache, or answer another question (they wait again)."""
        cells, lost = [], []
        for cell, state in zip(self.planned.cells, self.status.states, strict=True):
            if state.status != DONE or not state.key:
                continue
            kept = self._find(state.key)
            if kept is None or not _answers(kept, cell):
                self.ledger.reset(cell, attempts=1)  # so that no equal question's state is taken for it again
                lost.append(title_of(cell.model, cell.benchmark))
                continue
            cells.append(kept if cell.name in self._made and not state.is_found else as_reused(kept))
        return cells, lost

    def _find(self, key: str) -> Kept | None:
        kept, depot = self.store.find(key), self.ledger.depot
        if kept is None and self.planned.experiment.shared and depot and pull(self.store, key, depot):
            kept = self.store.find(key)
        return kept


def _answers(kept: Kept, cell: PlannedCell) -> bool:
    """Return True if a stored cell answers the question of a planned one."""
    names = {"model": cell.model, "benchmark": cell.benchmark}
    asked = {"data": cell.data, "family": cell.family, "names": names}
    if cell.question is not None:
        asked |= {"versions": cell.question["versions"], "seed": cell.question["seed"]}
    return all(is_same(kept.key[name], value) for name, value in asked.items())


def check_models(planned: Plan, models: Sequence[str]) -> None:
    """Raise an error for a model that the plan does not have."""
    require_known("model", models, planned.models, place=str(planned.experiment.path), file=planned.experiment.path)
