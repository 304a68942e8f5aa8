"""A worker: one model, loaded once, and its cells one after another. `python -m tiltmeter.plans.work FILE MODEL DRIVER`.

Whatever goes wrong with a cell is written into its state and the next one is begun; only what kills the process stops it.
Cells are idempotent: they are kept under a content key, and one that is there is not made again.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.families import How, Known, family_of
from tiltmeter.models import OutOfMemoryError, load_any
from tiltmeter.plans.again import find_answers, judge_again
from tiltmeter.plans.asked import asked_of
from tiltmeter.plans.carrying import pull, push
from tiltmeter.plans.cells import PlannedCell, plan, question_of
from tiltmeter.plans.file import StudyFile, read_study
from tiltmeter.plans.making import folder_of_variant
from tiltmeter.plans.progress import DONE, FAILED, FINAL, REFUSED, Ledger
from tiltmeter.plans.variants import StudyModel
from tiltmeter.runs.cells import key_of, obtain, store_of
from tiltmeter.storage.depot import Depot

SMALLEST_BATCH = 512


def work(study: StudyFile, model: str, cells: Sequence[PlannedCell] | None = None) -> None:
    """Makes the open cells of one model."""
    ledger = Ledger(Depot(study.storage))
    every = plan(study).of(model) if cells is None else list(cells)
    mine = [cell for cell in every if ledger.read(cell).status not in FINAL]
    for cell in [cell for cell in mine if cell.error]:
        ledger.end(ledger.begin(cell), FAILED, error=cell.error)
    mine = [cell for cell in mine if not cell.error]
    mine = [cell for cell in mine if not _judge(study, cell, every, ledger)]
    if not mine:
        return
    try:
        loaded = load(study, study.model(model), ledger.depot)
    except (TiltmeterError, OutOfMemoryError, MemoryError) as error:
        for cell in mine:
            ledger.end(ledger.begin(cell), FAILED, error=str(error) or "out of memory while loading")
        return
    for cell in mine:
        if not _judge(study, cell, every, ledger):  # one that was made just now may have answered it
            _make(study, loaded, cell, ledger)


def load(study: StudyFile, model: StudyModel, depot: Depot) -> Any:
    """The model, made first if it is a variant of another one."""
    options = study.run_options(model.kind)
    source = str(folder_of_variant(study, model, depot)) if model.variant else model.source
    loaded = load_any(source, **options.loading)
    loaded.name = model.name
    return loaded


def _judge(study: StudyFile, cell: PlannedCell, cells: Sequence[PlannedCell], ledger: Ledger) -> bool:
    """Judges what was answered before, if it was; whether it was."""
    asked = asked_of(study, cell)
    found = find_answers(study, cell, asked, cells, ledger)
    if found is None:
        return False
    state = ledger.begin(cell, asked)
    try:
        ledger.end(state, DONE, key=judge_again(study, cell, found, ledger))
    except Exception as error:  # one broken cell must not stop the rest
        ledger.end(state, FAILED, error=_told(error))
    return True


def _make(study: StudyFile, model: Any, cell: PlannedCell, ledger: Ledger) -> None:
    state = ledger.begin(cell, asked_of(study, cell))
    try:
        key = _answer(study, model, cell, ledger.depot)
        ledger.end(state, DONE, key=key)
    except _RefusedError as error:
        ledger.end(state, REFUSED, error=str(error))
    except Exception as error:  # one broken cell must not stop the rest
        ledger.end(state, FAILED, error=_told(error))


def _told(error: Exception) -> str:
    kind = "" if isinstance(error, TiltmeterError) else f"{type(error).__name__}: "
    return f"{kind}{' '.join(str(error).split())[:600]}"


class _RefusedError(Exception):
    """The model cannot be asked this at all."""


def _answer(study: StudyFile, model: Any, cell: PlannedCell, depot: Depot) -> str:
    """The key of the cell's answers, which are in the cache afterwards."""
    benchmark, options = question_of(study, cell)
    try:
        family_of(benchmark).check(benchmark, [Known(model.name, model.kind, model)], options)
    except TiltmeterError as error:
        raise _RefusedError(str(error)) from None
    run = study.run_options(model.kind)
    batch: int | str = run.batch_tokens
    while True:
        how = How(run.cache, batch, run.settings.seed, frozenset({model.kind}))
        key, store = key_of(model, benchmark, options, how), store_of(run.cache)
        if study.shared:
            pull(store, key, depot)
        try:
            obtain(model, benchmark, options, how)
        except OutOfMemoryError:
            batch = _halved(batch)
            continue
        if study.shared:
            push(store, key, depot)
        return key


def _halved(batch: int | str) -> int:
    smaller = 8 * SMALLEST_BATCH if isinstance(batch, str) else batch // 2
    if smaller < SMALLEST_BATCH:
        raise TiltmeterError(f"Out of memory, also with batches of {batch} tokens.")
    return smaller


def _end_with(driver: int) -> None:
    """A worker whose driver was killed, be it while this was importing, ends too: the next call would work beside it."""

    def watch() -> None:
        while os.getppid() == driver:
            time.sleep(0.5)
        os._exit(3)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    _end_with(int(sys.argv[3]))
    try:
        work(read_study(sys.argv[1]), sys.argv[2])
    except TiltmeterError as problem:
        sys.exit(f"tiltmeter: {problem}")
