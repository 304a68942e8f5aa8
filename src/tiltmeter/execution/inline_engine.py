"""The engine of this process: one model after another, and the first error is raised."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from contextlib import nullcontext

from tiltmeter.errors import TiltmeterError
from tiltmeter.execution.engine import Look
from tiltmeter.execution.ledger import REFUSED, Ledger
from tiltmeter.execution.plan import Plan, PlannedCell
from tiltmeter.execution.run_progress import watch_cells
from tiltmeter.execution.worker import EVERY_KIND, Asking, RefusedError, Worker
from tiltmeter.families.kit.protocol import Watch
from tiltmeter.storage.cells import CellStore
from tiltmeter.storage.timings import timed


def go(planned: Plan, ledger: Ledger, models: Sequence[str], look: Look, store: CellStore, watch: Watch | None) -> None:
    """Compute the cells, model by model. All cells of a model are checked before the first is computed."""
    kinds = dict(planned.kinds or {})
    workers = [_worker(planned, ledger, model, store) for model in models]
    open_cells = [cell for worker in workers for cell in worker.open_cells()]
    with watch_cells(open_cells, watch) as watch_of:
        for worker in workers:
            if worker.open_cells():
                worker.load_model()
                kinds[worker.name] = worker.model.kind
                others = [kinds.get(name) for name in planned.models if name != worker.name]
                worker.other_kinds = EVERY_KIND if None in others else frozenset(kind for kind in others if kind)
                with getattr(worker.model, "unchanged", nullcontext)():  # so its identity is computed once
                    _ask(worker, worker.open_cells(), watch_of)
                worker.model = None
                if worker is not workers[-1]:  # which needs its memory, also where it lies in a cycle of references
                    gc.collect()
            look(planned.of(worker.name))


def _worker(planned: Plan, ledger: Ledger, model: str, store: CellStore) -> Worker:
    """A worker whose stored cells have ended."""
    worker = Worker(planned.experiment, model, planned.of(model), ledger=ledger)
    worker.loaded, worker.store = planned.loaded, store
    with timed("ask"):
        worker.find_stored()
    return worker


def _ask(worker: Worker, cells: Sequence[PlannedCell], watch_of: Callable[[PlannedCell], Watch | None]) -> None:
    checked: list[tuple[PlannedCell, Asking]] = []
    refused: TiltmeterError | None = None
    for cell in cells:
        try:
            checked.append((cell, Asking(worker, cell)))
        except RefusedError as error:
            if not cell.is_default:
                raise error.reason from None
            worker.ledger.end(worker.begin(cell), REFUSED, error=str(error))
            refused = refused or error.reason
    if refused and all(worker.ledger.read(cell).status == REFUSED for cell in worker.cells):
        raise refused
    for cell, asking in checked:
        worker.watch = watch_of(cell)
        worker.ask(asking, worker.begin(cell))
