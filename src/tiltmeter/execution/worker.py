"""A worker: one model, loaded once, and its cells one after another.

Whatever goes wrong with a cell is written into its state and the next one is begun; only what kills the process stops it.
Cells are idempotent: they are kept under a content key, and one that is there is not made again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from typing import Any, TypeVar

from tiltmeter.benchmarks import Benchmark
from tiltmeter.errors import ModelError, TiltmeterError
from tiltmeter.execution.cells import ask_blocks, ask_cell, open_store
from tiltmeter.execution.experiment_file import Experiment
from tiltmeter.execution.experiment_models import ExperimentModel
from tiltmeter.execution.key import CellKey, identify_model, make_key, model_identity
from tiltmeter.execution.ledger import DONE, FAILED, FINAL, REFUSED, CellState, Ledger
from tiltmeter.execution.plan import PlannedCell, plan_cells, question_of, read_asked
from tiltmeter.execution.reestimate import find_answers, reestimate
from tiltmeter.execution.sync import pull, pull_blocks, push, push_blocks
from tiltmeter.execution.variants import folder_of_variant
from tiltmeter.families import AskContext, ModelInfo, family_of
from tiltmeter.families.kit.protocol import Watch
from tiltmeter.models import KINDS, OutOfMemoryError, load_any
from tiltmeter.models.forward_pass import cap_memory
from tiltmeter.probes.work import WHOLE, Share
from tiltmeter.storage.cells import CellStore
from tiltmeter.storage.object_store import Depot
from tiltmeter.storage.provenance import usable_cache
from tiltmeter.storage.timings import timed

SMALLEST_BATCH = 512
EVERY_KIND = frozenset(KINDS)
T = TypeVar("T")


class Worker:
    """Holds one model and makes its cells."""

    def __init__(
        self,
        experiment: Experiment,
        model: str,
        cells: Sequence[PlannedCell],
        gpus: float = 0,
        token: str | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        """`gpus`: the share of a GPU that is ours. `token`: what the driver wrote into the storage, if that is checked."""
        self.experiment, self.name, self.cells = experiment, model, cells
        self.ledger = ledger or Ledger(Depot(experiment.storage))
        self.store: CellStore = open_store(experiment.run_options().cache)
        self.model: Any = None
        self.loaded: Mapping[int, tuple[Benchmark, Any]] = {}
        self.other_kinds = EVERY_KIND
        self.watch: Watch | None = None
        self._gpus, self._token = gpus, token

    def prepare(self) -> str | None:
        """End the cells that need no model, and load it for the others. Return the error of loading, if any."""
        self.find_stored()
        return self.load() if self.open_cells() else None

    def find_stored(self) -> None:
        """End the cells that need no model: those that cannot be read, are stored, or need only postprocessing."""
        for cell in self.open_cells():
            if cell.error:
                self.ledger.end(self.ledger.begin(cell), FAILED, error=cell.error)
            else:
                self._without_model(cell)

    def open_cells(self) -> list[PlannedCell]:
        """The cells that have not ended."""
        return [cell for cell in self.cells if self.ledger.read(cell).status not in FINAL]

    def load(self) -> str | None:
        """Load the model. Return the error, if any: then none of its cells can be computed."""
        try:
            self.load_model()
        except (TiltmeterError, OutOfMemoryError, MemoryError) as error:
            return str(error) or "out of memory while loading"
        return None

    def load_model(self) -> None:
        """Load the model."""
        if self.ledger.depot is not None:
            self.ledger.depot.expect(self._token)
        cap_memory(self._gpus)
        with timed("load"):
            self.model = load(self.experiment, self.experiment.model(self.name), self.ledger.depot)

    def make(self, cell: PlannedCell, workers: int = 1) -> CellState | int:
        """Compute a cell and return its state. For several workers, a large cell returns its number of shares instead."""
        state = self.ledger.read(cell)
        if state.status in FINAL:
            return state
        if ended := self._without_model(cell):  # one that was made just now may have answered it
            return ended
        state = self.begin(cell)
        try:
            asking = Asking(self, cell)
            if workers > 1 and (shares := min(workers, asking.blocks())) > 1:
                return shares
            return self.ask(asking, state)
        except RefusedError as error:
            return self.ledger.end(state, REFUSED, error=str(error))
        except Exception as error:  # one broken cell must not stop the rest
            return self.ledger.end(state, FAILED, error=_message(error))

    def ask(self, asking: Asking, state: CellState) -> CellState:
        """Query the model; errors are raised."""
        with timed("ask"):
            is_found = asking.answer()
        return self.ledger.end(state, DONE, key=asking.key.digest, is_found=is_found)

    def share(self, cell: PlannedCell, share: Share) -> str | None:
        """Compute some blocks of a cell for the worker that joins them. Return the error, which joining raises again."""
        try:
            Asking(self, cell).share(share)
        except Exception as error:
            return _message(error)
        return None

    def begin(self, cell: PlannedCell) -> CellState:
        """Record in the ledger that this worker computes a cell, with its question."""
        return self.ledger.begin(cell, self._question(cell))

    def _question(self, cell: PlannedCell) -> dict[str, Any] | None:
        return None if cell.question is None else question_of(self.experiment, cell)

    def _without_model(self, cell: PlannedCell) -> CellState | None:
        """End a cell whose answers are stored, or need only postprocessing."""
        question = self._question(cell)
        return self._find(cell, question) or (self._reestimate(cell, question) if question else None)

    def _find(self, cell: PlannedCell, question: dict[str, Any] | None) -> CellState | None:
        """End a cell that is in the cache, if the model can be identified without loading it."""
        if self.model is not None:
            return None
        try:
            model = self.experiment.model(self.name)
            identity = identify_model(model, self.experiment.run_options(model.kind))
            if identity is None:
                return None
            benchmark, options = self.loaded.get(cell.ask) or read_asked(self.experiment, cell)
            seed = self.experiment.run_options().settings.seed
            key = make_key(identity, cell.model, benchmark, cell.data, options, seed).digest
        except TiltmeterError:  # whoever asks says what is wrong
            return None
        if not _is_stored(self.store, key, self.experiment, self.ledger):
            return None
        return self.ledger.end(self.ledger.begin(cell, question), DONE, key=key, is_found=True)

    def _reestimate(self, cell: PlannedCell, question: dict[str, Any]) -> CellState | None:
        """Postprocess earlier answers, if there are any."""
        found = find_answers(self.experiment, cell, question, self.cells, self.ledger, self.store)
        if found is None:
            return None
        state = self.ledger.begin(cell, question)
        try:
            return self.ledger.end(state, DONE, key=reestimate(self.experiment, cell, found, self.ledger, self.store))
        except Exception as error:  # one broken cell must not stop the rest
            return self.ledger.end(state, FAILED, error=_message(error))


def load(experiment: Experiment, model: ExperimentModel, depot: Depot | None) -> Any:
    """The model, made first if it is a variant of another one. One in memory is renamed in a copy, if at all."""
    if model.in_memory is not None:
        loaded = model.in_memory if model.in_memory.name == model.name else copy(model.in_memory)
        loaded.name = model.name
        return loaded
    options = experiment.run_options(model.kind)
    source = str(folder_of_variant(experiment, model, depot)) if model.variant and depot else model.source
    loaded = load_any(source, **options.loading)
    loaded.name = model.name
    return loaded


def model_info(model: Any, beside: frozenset[str] = EVERY_KIND) -> ModelInfo:
    """A loaded model. The options of an experiment are for all its models, of whatever kind."""
    return ModelInfo(model.name, model.kind, model, beside)


def _is_stored(store: CellStore, key: str, experiment: Experiment, ledger: Ledger) -> bool:
    """Return True if a cell is in the cache. It is fetched from the shared storage if needed."""
    if store.find(key) is not None:
        return True
    return bool(experiment.shared and ledger.depot and pull(store, key, ledger.depot))


class RefusedError(Exception):
    """Raised when a model cannot answer a benchmark; `reason` is the error that says why."""

    def __init__(self, reason: TiltmeterError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Asking:
    """One model and one benchmark, read and checked."""

    def __init__(self, worker: Worker, cell: PlannedCell) -> None:
        self.worker, self.model, experiment = worker, worker.model, worker.experiment
        self.benchmark, self.options = worker.loaded.get(cell.ask) or read_asked(experiment, cell)
        if cell.ask not in worker.loaded:  # else it was checked when it was planned
            family_of(self.benchmark).check(self.benchmark, [], self.options)
        self.family = family_of(self.benchmark)
        self.run = experiment.run_options(self.model.kind)
        try:
            if cell.is_default and self.model.kind not in self.family.DEFAULT_KINDS:
                raise ModelError(
                    f"{self.benchmark.name} is not a default benchmark for {self.model.name}. Name it with -b to run it.",
                    code="wrong-model-kind",
                    model=self.model.name,
                    kind=self.model.kind,
                    benchmark=self.benchmark.name,
                )
            self.family.check(self.benchmark, [model_info(self.model, worker.other_kinds)], self.options)
        except TiltmeterError as error:
            raise RefusedError(error) from None
        self.key: CellKey = make_key(
            model_identity(self.model), cell.model, self.benchmark, cell.data, self.options, self.run.settings.seed
        )

    def _context(self, batch: int | str, share: Share = WHOLE) -> AskContext:
        kinds = self.worker.other_kinds | {self.model.kind}
        cache = usable_cache(self.model, self.run.cache)
        return AskContext(cache, batch, self.run.settings.seed, kinds, self.worker.watch, share)

    def blocks(self) -> int:
        """Number of blocks that are computed; 0 if the cell is stored."""
        return 0 if self._is_stored() else self.family.blocks(self.model, self.benchmark, self.options)

    def _is_stored(self) -> bool:
        return _is_stored(self.worker.store, self.key.digest, self.worker.experiment, self.worker.ledger)

    @property
    def _depot(self) -> Depot | None:
        return self.worker.ledger.depot if self.worker.experiment.shared else None

    def answer(self) -> bool:
        """Store the answers. Return True if they were stored before."""
        is_found = self._is_stored()
        if not is_found:
            if self._depot:
                pull_blocks(self.run.cache, self.key.digest, self._depot)
            self._fitting(
                lambda batch: ask_cell(
                    self.model, self.benchmark, self.options, self._context(batch), self.key, self.worker.store
                )
            )
        if self._depot:
            push(self.worker.store, self.key.digest, self._depot)
        return is_found

    def share(self, share: Share) -> None:
        """Compute some blocks, and store them beside the others."""
        made = self._fitting(lambda batch: ask_blocks(self.model, self.benchmark, self.options, self._context(batch, share)))
        if self._depot:
            push_blocks(self.run.cache, self.key.digest, [made], self._depot)

    def _fitting(self, act: Callable[[int | str], T]) -> T:
        """Call a function with smaller batches until memory suffices."""
        batch: int | str = self.run.batch_tokens
        with getattr(self.model, "unchanged", nullcontext)():
            while True:
                try:
                    return act(batch)
                except OutOfMemoryError:
                    batch = _halved(batch)


def _halved(batch: int | str) -> int:
    smaller = 8 * SMALLEST_BATCH if isinstance(batch, str) else batch // 2
    if smaller < SMALLEST_BATCH:
        raise ModelError(
            f"Out of memory even with batches of {batch} tokens. Use a smaller model, --precision bf16, or another device.",
            code="out-of-memory",
            tokens=batch,
        )
    return smaller


def _message(error: Exception) -> str:
    kind = "" if isinstance(error, TiltmeterError | RefusedError) else f"{type(error).__name__}: "
    return f"{kind}{' '.join(str(error).split())[:600]}"


def work(experiment: Experiment, model: str, cells: Sequence[PlannedCell] | None = None) -> None:
    """Make the open cells of one model."""
    mine = plan_cells(experiment).of(model) if cells is None else cells
    worker = Worker(experiment, model, mine)
    problem = worker.prepare()
    for cell in mine:
        if problem and worker.ledger.read(cell).status not in FINAL:
            worker.ledger.end(worker.ledger.begin(cell), FAILED, error=problem)
        else:
            worker.make(cell)
