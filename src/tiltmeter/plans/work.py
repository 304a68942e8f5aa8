"""A worker: one model, loaded once, and its cells one after another. `python -m tiltmeter.plans.work MODEL DRIVER`.

Whatever goes wrong with a cell is written into its state and the next one is begun; only what kills the process stops it.
Cells are idempotent: they are kept under a content key, and one that is there is not made again.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tiltmeter.errors import TiltmeterError
from tiltmeter.families import How, Known, family_of
from tiltmeter.models import KINDS, OutOfMemoryError, load_any
from tiltmeter.models.passing import cap_memory
from tiltmeter.plans.again import find_answers, judge_again
from tiltmeter.plans.asked import asked_of
from tiltmeter.plans.carrying import pull, pull_blocks, push, push_blocks
from tiltmeter.plans.cells import PlannedCell, plan, question_of
from tiltmeter.plans.file import StudyFile
from tiltmeter.plans.making import folder_of_variant
from tiltmeter.plans.progress import DONE, FAILED, FINAL, REFUSED, CellState, Ledger
from tiltmeter.plans.variants import StudyModel
from tiltmeter.probes.work import WHOLE, Share
from tiltmeter.runs.cells import key_of, make, make_blocks, store_of
from tiltmeter.storage.depot import Depot

SMALLEST_BATCH = 512
EVERY_KIND = frozenset(KINDS)
T = TypeVar("T")


class Worker:
    """Holds one model and makes its cells."""

    def __init__(
        self, study: StudyFile, model: str, cells: Sequence[PlannedCell], gpus: float = 0, token: str | None = None
    ) -> None:
        """`gpus`: how much of one is ours. `token` is what the storage must say, or it is not the driver's storage."""
        self.study, self.name, self.cells = study, model, cells
        self.ledger = Ledger(Depot(study.storage))
        self.model: Any = None
        self._gpus, self._token = gpus, token

    def prepare(self) -> str | None:
        """Ends what needs no model, and loads it if anything else is left. What is wrong with the model, if anything."""
        for cell in (cell for cell in self.cells if self.ledger.read(cell).status not in FINAL):
            if cell.error:
                self.ledger.end(self.ledger.begin(cell), FAILED, error=cell.error)
            else:
                self._judge(cell, asked_of(self.study, cell))
        return self.load() if any(self.ledger.read(cell).status not in FINAL for cell in self.cells) else None

    def load(self) -> str | None:
        """Loads the model. What is wrong with it, if anything: then none of its cells can be made."""
        try:
            self.ledger.depot.expect(self._token)
            cap_memory(self._gpus)
            self.model = load(self.study, self.study.model(self.name), self.ledger.depot)
        except (TiltmeterError, OutOfMemoryError, MemoryError) as error:
            return str(error) or "out of memory while loading"
        return None

    def make(self, cell: PlannedCell, workers: int = 1) -> CellState | int:
        """Makes a cell and says how it ended. With several workers: in how many shares, if it is large, instead."""
        state = self.ledger.read(cell)
        if state.status in FINAL:
            return state
        asked = asked_of(self.study, cell)
        if judged := self._judge(cell, asked):  # one that was made just now may have answered it
            return judged
        state = self.ledger.begin(cell, asked)
        try:
            asking = _Asking(self.study, self.model, cell, self.ledger.depot)
            if workers > 1 and (shares := min(workers, asking.blocks())) > 1:
                return shares
            return self.ledger.end(state, DONE, key=asking.answer())
        except _RefusedError as error:
            return self.ledger.end(state, REFUSED, error=str(error))
        except Exception as error:  # one broken cell must not stop the rest
            return self.ledger.end(state, FAILED, error=_told(error))

    def share(self, cell: PlannedCell, share: Share) -> str | None:
        """Makes some blocks of a cell, for whoever joins it. What went wrong goes wrong there too, and is said there."""
        try:
            _Asking(self.study, self.model, cell, self.ledger.depot).share(share)
        except Exception as error:
            return _told(error)
        return None

    def _judge(self, cell: PlannedCell, asked: dict[str, Any]) -> CellState | None:
        """Judges what was answered before, if it was."""
        found = find_answers(self.study, cell, asked, self.cells, self.ledger)
        if found is None:
            return None
        state = self.ledger.begin(cell, asked)
        try:
            return self.ledger.end(state, DONE, key=judge_again(self.study, cell, found, self.ledger))
        except Exception as error:  # one broken cell must not stop the rest
            return self.ledger.end(state, FAILED, error=_told(error))


def load(study: StudyFile, model: StudyModel, depot: Depot) -> Any:
    """The model, made first if it is a variant of another one."""
    options = study.run_options(model.kind)
    source = str(folder_of_variant(study, model, depot)) if model.variant else model.source
    loaded = load_any(source, **options.loading)
    loaded.name = model.name
    return loaded


def known_of(model: Any) -> Known:
    """A loaded model. The options of a study are for all its models, of whatever kind."""
    return Known(model.name, model.kind, model, EVERY_KIND)


class _RefusedError(Exception):
    """The model cannot be asked this at all."""


class _Asking:
    """One model and one benchmark, read and checked."""

    def __init__(self, study: StudyFile, model: Any, cell: PlannedCell, depot: Depot) -> None:
        self.model, self.depot, self.shared = model, depot, study.shared
        self.benchmark, self.options = question_of(study, cell)
        self.family = family_of(self.benchmark)
        self.run = study.run_options(model.kind)
        try:
            self.family.check(self.benchmark, [known_of(model)], self.options)
        except TiltmeterError as error:
            raise _RefusedError(str(error)) from None
        self.store = store_of(self.run.cache)
        self.key = key_of(model, self.benchmark, self.options, self._how(self.run.batch_tokens))

    def _how(self, batch: int | str, share: Share = WHOLE) -> How:
        return How(self.run.cache, batch, self.run.settings.seed, EVERY_KIND, share=share)

    def blocks(self) -> int:
        """In how many blocks it would be asked; none where it was, or cannot be divided."""
        count = getattr(self.family, "blocks", None)
        if count is None or self._fetched() or self.store.find(self.key) is not None:
            return 0
        return int(count(self.model, self.benchmark, self.options))

    def _fetched(self) -> bool:
        return self.shared and pull(self.store, self.key, self.depot)

    def answer(self) -> str:
        """The key of the answers, which are in the cache afterwards."""
        if not self._fetched():
            if self.shared:
                pull_blocks(self.run.cache, self.key, self.depot)
            self._fitting(lambda batch: make(self.model, self.benchmark, self.options, self._how(batch), self.key))
        if self.shared:
            push(self.store, self.key, self.depot)
        return self.key

    def share(self, share: Share) -> None:
        """Some blocks, kept where the others are."""
        made = self._fitting(lambda batch: make_blocks(self.model, self.benchmark, self.options, self._how(batch, share)))
        if self.shared:
            push_blocks(self.run.cache, self.key, made, self.depot)

    def _fitting(self, act: Callable[[int | str], T]) -> T:
        """Does it with smaller batches where memory does not suffice."""
        batch: int | str = self.run.batch_tokens
        while True:
            try:
                return act(batch)
            except OutOfMemoryError:
                batch = _halved(batch)


def _halved(batch: int | str) -> int:
    smaller = 8 * SMALLEST_BATCH if isinstance(batch, str) else batch // 2
    if smaller < SMALLEST_BATCH:
        raise TiltmeterError(f"Out of memory, also with batches of {batch} tokens.")
    return smaller


def _told(error: Exception) -> str:
    kind = "" if isinstance(error, TiltmeterError | _RefusedError) else f"{type(error).__name__}: "
    return f"{kind}{' '.join(str(error).split())[:600]}"


def work(study: StudyFile, model: str, cells: Sequence[PlannedCell] | None = None) -> None:
    """Makes the open cells of one model."""
    mine = plan(study).of(model) if cells is None else cells
    worker = Worker(study, model, mine)
    problem = worker.prepare()
    for cell in mine:
        if problem and worker.ledger.read(cell).status not in FINAL:
            worker.ledger.end(worker.ledger.begin(cell), FAILED, error=problem)
        else:
            worker.make(cell)


def _end_with(driver: int) -> None:
    """A worker whose driver was killed, be it while this was importing, ends too: the next call would work beside it."""

    def watch() -> None:
        while os.getppid() == driver:
            time.sleep(0.5)
        os._exit(3)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    _end_with(int(sys.argv[2]))
    try:
        given, planned = pickle.load(sys.stdin.buffer)  # from the driver
        work(given, sys.argv[1], planned)
    except TiltmeterError as stopped:
        sys.exit(f"tiltmeter: {stopped}")
