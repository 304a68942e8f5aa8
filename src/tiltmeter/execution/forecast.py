"""Forecast of an experiment: its cells, model passes, memory and time, from a short trial of every model."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tiltmeter.benchmarks import Benchmark
from tiltmeter.display import counted, number_text
from tiltmeter.errors import TiltmeterError
from tiltmeter.execution.engine import default_workers
from tiltmeter.execution.experiment_file import Experiment, read_experiment
from tiltmeter.execution.experiment_models import ExperimentModel
from tiltmeter.execution.ledger import FINAL, Ledger, read_status
from tiltmeter.execution.options import FamilyOptions
from tiltmeter.execution.plan import Plan, PlannedCell, load_asked, plan_cells
from tiltmeter.execution.worker import EVERY_KIND, model_info
from tiltmeter.families import AskContext, family_of
from tiltmeter.families.kit.protocol import Watch
from tiltmeter.models import load_any
from tiltmeter.models.hashing import weight_files
from tiltmeter.models.places import folder_of
from tiltmeter.storage.object_store import Depot

if TYPE_CHECKING:
    import pandas as pd

FEW, MORE = 8, 32
"""Items of each benchmark in the first and in the second trial of a model."""
LONG = 3.0
"""Seconds from which on a trial is the only one."""
ABSENT = "not on this machine: no trial"


@dataclass(frozen=True)
class Forecast:
    """A row per cell, and what it comes to."""

    table: pd.DataFrame
    sentences: tuple[str, ...]


def forecast(experiment: Experiment | str | Path, watch: Watch | None = None) -> Forecast:
    """The plan of an experiment. Models that are not on this machine are listed without figures: nothing is downloaded."""
    import pandas as pd

    experiment = experiment if isinstance(experiment, Experiment) else read_experiment(experiment)
    planned = plan_cells(experiment)
    now = read_status(planned, Ledger(Depot(experiment.storage)))
    states = {state.cell: state.status for state in now.states}
    rows: list[dict[str, Any]] = []
    with watch("Trying each model", len(planned.models)) if watch else nullcontext(lambda *_: None) as advance:
        for name in planned.models:
            rows += _rows(experiment, experiment.model(name), [cell for cell in planned.cells if cell.model == name], states)
            advance(1)
    table = pd.DataFrame(rows).astype(dict.fromkeys(("passes", "seconds", "memory_gb"), "float64"))
    return Forecast(table, tuple(_sentences(planned, table)))


def _rows(
    experiment: Experiment, model: ExperimentModel, cells: list[PlannedCell], states: dict[str, str]
) -> Iterator[dict[str, Any]]:
    tried = _trial(experiment, model, [cell for cell in cells if states[cell.name] not in FINAL and not cell.error])
    for cell in cells:
        found = tried.get(cell.name, {})
        yield {
            "model": cell.model,
            "benchmark": cell.benchmark,
            "status": "cannot be read" if cell.error else states[cell.name],
            "items": cell.items,
            "passes": found.get("passes"),
            "seconds": found.get("seconds"),
            "memory_gb": found.get("memory"),
            "note": cell.error or found.get("note", ""),
        }


def _trial(experiment: Experiment, model: ExperimentModel, cells: list[PlannedCell]) -> dict[str, dict[str, Any]]:
    """Measure the cost of a few items of each benchmark. A variant is tried as its parent; hub models are skipped."""
    if not cells:
        return {}
    try:
        folder, _ = folder_of(model.source, None) if _is_here(model.source) else (None, None)
        if folder is None:
            return {cell.name: {"note": ABSENT} for cell in cells}
        size = sum(path.stat().st_size for path in weight_files(folder)) / 2**30
        loaded = load_any(model.source, **experiment.run_options(model.kind).loading)
    except TiltmeterError as error:
        return {cell.name: {"note": str(error)} for cell in cells}
    made = "plus making it" if model.variant else ""
    known = {"memory": round(2 * size + 0.5, 1), "note": made}
    return {cell.name: known | _trial_of_cell(experiment, loaded, cell) for cell in cells}


def _trial_of_cell(experiment: Experiment, model: Any, cell: PlannedCell) -> dict[str, Any]:
    ask = experiment.asks[cell.ask]
    benchmark = load_asked(experiment, ask)
    return trial_cost(experiment, model, benchmark, FamilyOptions.read(ask.options)[benchmark.family])


def _is_here(source: str) -> bool:
    from tiltmeter.models.places import EMBEDDED

    return source in EMBEDDED or Path(source).exists()


def trial_cost(experiment: Experiment, model: Any, benchmark: Benchmark, options: Any) -> dict[str, Any]:
    """Return the seconds and passes of a model on a benchmark, from a trial of a few items."""
    run = experiment.run_options(model.kind)
    how = AskContext(False, run.batch_tokens, run.settings.seed, EVERY_KIND)

    def tried(n: int) -> Tried:
        few = benchmark.sample(n)
        family_of(few).check(few, [model_info(model)], options)
        started = time.perf_counter()
        answers = family_of(few).ask(model, few, options, how)
        passes = sum(manifest.get("batches_computed", 0) for manifest in answers.manifests)
        return Tried(few.workload, time.perf_counter() - started, passes)

    try:
        trials = [tried(FEW)]
        if trials[0].seconds < LONG and trials[0].items < benchmark.workload:
            trials = [tried(FEW), tried(MORE)]  # the first woke everything up
    except TiltmeterError as error:
        return {"note": str(error)}
    seconds, passes = extrapolated(trials, benchmark.workload)
    return {"seconds": round(seconds, 1), "passes": round(passes)}


class Tried(NamedTuple):
    """A trial: of so many items, and what they cost."""

    items: int
    seconds: float
    passes: int


def extrapolated(tried: Sequence[Tried], items: int) -> tuple[float, float]:
    """Seconds and passes of so many items: what two trials differ by is for their items, and the rest is paid once.

    >>> extrapolated([Tried(8, 2.5, 3), Tried(32, 5.5, 9)], 1000)
    (126.5, 281.25)
    >>> extrapolated([Tried(1, 5.0, 2)], 1)
    (5.0, 2.0)
    """
    first, last = tried[0], tried[-1]
    passes = last.passes * items / max(1, last.items)
    if last.items == first.items:
        return last.seconds * items / max(1, last.items), passes
    each = max(0.0, last.seconds - first.seconds) / (last.items - first.items)
    return max(0.0, last.seconds - each * last.items) + each * items, passes


def _sentences(planned: Plan, table: pd.DataFrame) -> Iterator[str]:
    open_ = table[~table["status"].isin(FINAL)]
    n_models = table["model"].nunique()
    yield f"{counted(len(table), 'cell')} of {counted(n_models, 'model')}; {len(table) - len(open_)} done already."
    seconds = float(open_["seconds"].sum())
    if seconds:
        workers = default_workers(open_["model"].nunique(), str(planned.experiment.run_options().device))
        yield (
            f"About {number_text(seconds / 60)} minutes of work, {number_text(seconds / 60 / workers)} with "
            f"{workers} at a time "
            f"(from {FEW} and {MORE} items of each benchmark; where {FEW} take long, from these alone, which overstates it)."
        )
