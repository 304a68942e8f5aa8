"""Answers that are stored and have only to be postprocessed: of an earlier question, or of another cell of the model.

No model is loaded for it, so texts that a machine with a GPU wrote are judged wherever the judges are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tiltmeter.execution.cells import postprocess_cell
from tiltmeter.execution.experiment_file import Experiment
from tiltmeter.execution.key import POSTPROCESS, Question, is_same_but_postprocessing
from tiltmeter.execution.ledger import Ledger
from tiltmeter.execution.plan import PlannedCell, check_asked
from tiltmeter.execution.sync import pull, push
from tiltmeter.families import AskContext
from tiltmeter.storage.cells import CellStore, Kept


def find_answers(
    experiment: Experiment,
    cell: PlannedCell,
    question: Question,
    cells: Sequence[PlannedCell],
    ledger: Ledger,
    store: CellStore,
) -> Kept | None:
    """Answers to the cell's question that were postprocessed otherwise; None where there are none."""
    if not question[POSTPROCESS]:
        return None
    for key in _keys(cell, question, cells, ledger):
        kept = store.find(key)
        if kept is None and experiment.shared and ledger.depot and pull(store, key, ledger.depot):
            kept = store.find(key)
        if kept is not None:
            return kept
    return None


def _keys(cell: PlannedCell, question: Question, cells: Sequence[PlannedCell], ledger: Ledger) -> Iterator[str]:
    """Its own earlier answers first, then those of other cells of the model."""
    others = [other for other in cells if (other.model, other.family) == (cell.model, cell.family) and other != cell]
    for state in (state for one in (cell, *others) for state in ledger.states_of(one)):
        if state.key and state.question and is_same_but_postprocessing(state.question, question):
            yield state.key


def reestimate(experiment: Experiment, cell: PlannedCell, earlier: Kept, ledger: Ledger, store: CellStore) -> str:
    """Postprocesses earlier answers as the cell asks now; the key of the result."""
    run = experiment.run_options()
    benchmark, options = check_asked(experiment, cell)
    context = AskContext(run.cache, run.batch_tokens, run.settings.seed)
    key = postprocess_cell(earlier, benchmark, options, context, store).digest
    if experiment.shared and ledger.depot:
        push(store, key, ledger.depot)
    return key
