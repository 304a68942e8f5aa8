"""The engine of this process: one model after another, and the first error is raised."""

from __future__ import annotations

from collections.abc import Sequence

from tiltmeter.errors import TiltmeterError
from tiltmeter.execution.engine import Look
from tiltmeter.execution.ledger import FINAL, REFUSED, Ledger
from tiltmeter.execution.plan import Plan, PlannedCell
from tiltmeter.execution.worker import EVERY_KIND, Asking, RefusedError, Worker
from tiltmeter.families.kit.protocol import Watch
from tiltmeter.storage.cells import CellStore
from tiltmeter.storage.timings import timed


def go(planned: Plan, ledger: Ledger, models: Sequence[str], look: Look, store: CellStore, watch: Watch | None) -> None:
    """Compute the cells, model by model. All cells of a model are checked before the first is computed."""
    kinds = dict(planned.kinds or {})
    for model in models:
        worker = Worker(planned.experiment, model, planned.of(model), ledger=ledger)
        worker.loaded, worker.store, worker.watch = planned.loaded, store, watch
        with timed("ask"):
            worker.find_stored()
        if worker.open_cells():
            worker.load_model()
            kinds[model] = worker.model.kind
            others = [kinds.get(name) for name in planned.models if name != model]
            worker.other_kinds = EVERY_KIND if None in others else frozenset(kind for kind in others if kind)
            _ask(worker, [cell for cell in planned.of(model) if ledger.read(cell).status not in FINAL])
        look(planned.of(model))


def _ask(worker: Worker, cells: Sequence[PlannedCell]) -> None:
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
        worker.ask(asking, worker.begin(cell))
