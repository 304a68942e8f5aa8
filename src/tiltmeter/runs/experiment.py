"""`run_experiment`: makes the cells of an experiment file that are missing, and writes them to a run folder."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiltmeter.errors import RunError, TiltmeterError
from tiltmeter.execution.cells import open_store
from tiltmeter.execution.engine import Engine
from tiltmeter.execution.executor import Executor, check_models, choose_engine
from tiltmeter.execution.experiment_file import Experiment, read_experiment
from tiltmeter.execution.key import measure_versions
from tiltmeter.execution.ledger import FAILED, REFUSED, Ledger, Status
from tiltmeter.execution.missing_cells import noticing_vanished
from tiltmeter.execution.plan import Plan, plan_cells
from tiltmeter.families.kit.protocol import Watch
from tiltmeter.families.kit.versions import versions_of
from tiltmeter.runs.folder import output_folder, reserved
from tiltmeter.runs.merge import finished_manifest, write_run
from tiltmeter.runs.reading import Run, RunOnDisk, verify_run
from tiltmeter.storage.object_store import Depot
from tiltmeter.storage.progress import watch_of
from tiltmeter.storage.provenance import software
from tiltmeter.storage.seals import read_seal

LOCAL = Engine()


def run_experiment(
    experiment: Experiment | str | Path,
    *,
    engine: Engine | str = LOCAL,
    workers: int | None = None,
    progress: bool = False,
    watch: Watch | None = None,
) -> tuple[Run, Status]:
    """Compute missing cells and write OUTPUT/run. Cells that failed before are tried again; one that fails stops no other.

    Args:
        experiment: an experiment file.
        engine: what makes the cells, "local" or "ray", or an `Engine` with settings.
        workers: how many at a time.
        progress: show a bar with the time left, or a line every half minute where there is no terminal.
        watch: another display of progress.

    Returns:
        The run over all cells that are done, and the status of every cell.

    Raises:
        InputError: The experiment file cannot be read.
        RunError: Stored answers vanished while the run was written.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import tiltmeter
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder) / "experiment.toml"
        ...     text = ['models = ["plumb-mlm"]', 'benchmarks = ["plumb-pairs"]', "[run]", "limit = 8"]
        ...     _ = file.write_text("\\n".join(text))
        ...     run, status = tiltmeter.run_experiment(file)
        ...     estimates = run.estimates
        >>> status.counts["done"], sorted(set(estimates["model"]))
        (1, ['plumb-mlm'])
    """
    engine, started = choose_engine(engine, workers), time.time()
    planned = plan_cells(experiment if isinstance(experiment, Experiment) else read_experiment(experiment))
    experiment = planned.experiment
    folder = output_folder(experiment.output / "run")
    executor = _executor(planned, engine, watch_of(watch, progress))
    with reserved(folder, _manifest(planned, started) | {"status": "unfinished"}) as making:
        if not executor.prepare() and (before := _unchanged(folder, made_of(planned, executor.status))):
            return before, executor.status
        cells, now = executor.execute(), executor.status
        if not cells:
            errors = [state.error for state in now.states if state.error]
            raise RunError(
                f"No cell of {experiment.path} could be made. The first error: {errors[0] if errors else 'none'}",
                code="empty-selection",
                file=str(experiment.path),
                errors=len(errors),
            )
        more = {"made_of": made_of(planned, now), "study": experiment.described(), "without": _without(now)}
        manifest = finished_manifest(_manifest(planned, started) | more, cells, started)
        with noticing_vanished(cells, experiment.path):
            manifest = write_run(
                making, cells, manifest, list(experiment.measures) or None, experiment.by, experiment.settings
            )
    return RunOnDisk(folder, manifest), now


def make_cells(
    experiment: Experiment | str | Path,
    *,
    models: Sequence[str] = (),
    engine: Engine | str = LOCAL,
    workers: int | None = None,
    watch: Watch | None = None,
) -> Status:
    """Makes what is missing of some models (default: all) and writes no run folder: for one of several machines."""
    engine = choose_engine(engine, workers)
    planned = plan_cells(experiment if isinstance(experiment, Experiment) else read_experiment(experiment))
    check_models(planned, models)
    executor = _executor(planned, engine, watch)
    executor.make(executor.prepare(models))
    return executor.status


def _executor(planned: Plan, engine: Engine, watch: Watch | None) -> Executor:
    depot = Depot(planned.experiment.storage)
    depot.check()
    return Executor(planned, Ledger(depot), open_store(planned.experiment.run_options().cache), engine, watch)


def _unchanged(folder: Path, content: str) -> Run | None:
    """The run folder, if it was made of the same cells in the same way and is as it was written."""
    try:
        return verify_run(folder) if folder.is_dir() and read_seal(folder).get("made_of") == content else None
    except TiltmeterError:
        return None


def made_of(planned: Plan, now: Status) -> str:
    """Names everything that decides a run folder: the cells, and what is computed from them by which versions."""
    experiment = planned.experiment
    cells = [(state.cell, state.status, state.key, state.error) for state in now.states]
    families = {cell.family: versions_of(cell.family) for cell in planned.cells if cell.family}
    versions = (families, measure_versions(), software())
    whole = repr((cells, experiment.measures, experiment.by, experiment.settings, versions))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()


def _without(now: Status) -> list[dict[str, Any]]:
    return [
        {"model": cell.model, "benchmark": cell.benchmark, "status": state.status, "error": state.error}
        for cell, state in zip(now.plan.cells, now.states, strict=True)
        if state.status in (FAILED, REFUSED)
    ]


def _manifest(planned: Plan, started: float) -> dict[str, Any]:
    experiment = planned.experiment
    asked = {
        "models": planned.models,
        "benchmarks": list(dict.fromkeys(cell.benchmark for cell in planned.cells)),
        "measures": list(experiment.measures) or "all applicable",
        "by": list(experiment.by),
        **{name: value if isinstance(value, int | float) else str(value) for name, value in experiment.options.items()},
        **vars(experiment.settings),
    }
    begun = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(started))
    return {**software(), "started": begun, "asked": asked}
