"""Answers that are there and have only to be judged: by the same cell earlier, or by another cell of the same question.

No model is loaded for it, so texts that a machine with a GPU wrote are judged wherever the judges are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tiltmeter.families import Answers, How
from tiltmeter.plans.asked import LATER, Told, is_same_but_for_later
from tiltmeter.plans.carrying import pull, push
from tiltmeter.plans.cells import PlannedCell, question_of
from tiltmeter.plans.file import StudyFile
from tiltmeter.plans.progress import Ledger
from tiltmeter.runs.cells import renew, store_of, stored


def find_answers(
    study: StudyFile, cell: PlannedCell, asked: Told, cells: Sequence[PlannedCell], ledger: Ledger
) -> tuple[str, Answers] | None:
    """Answers to the cell's question that were judged otherwise, with their key; nothing where there are none."""
    if not asked[LATER]:
        return None  # nothing of it is done later, so nothing can have been done otherwise
    store = store_of(study.run_options().cache)
    for key in _keys(cell, asked, cells, ledger):
        known = stored(store, key)
        if known is None and study.shared and pull(store, key, ledger.depot):
            known = stored(store, key)
        if known is not None:
            return key, known
    return None


def _keys(cell: PlannedCell, asked: Told, cells: Sequence[PlannedCell], ledger: Ledger) -> Iterator[str]:
    """Its own earlier answers first, then those of other cells of the model."""
    others = [other for other in cells if (other.model, other.family) == (cell.model, cell.family) and other != cell]
    for state in map(ledger.read, (cell, *others)):
        if state.answer and is_same_but_for_later(state.answer["asked"], asked):
            yield state.answer["key"]


def judge_again(study: StudyFile, cell: PlannedCell, found: tuple[str, Answers], ledger: Ledger) -> str:
    """The key of the answers as they are judged now."""
    run = study.run_options()
    benchmark, options = question_of(study, cell)
    key = renew(*found, benchmark, options, How(run.cache, run.batch_tokens, run.settings.seed))
    if study.shared:
        push(store_of(run.cache), key, ledger.depot)
    return key
