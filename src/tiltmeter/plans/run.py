"""`run_study`: makes the cells of a study that are missing, and gathers them into a run folder."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import tiltmeter
from tiltmeter.errors import TiltmeterError
from tiltmeter.families.kit.seam import Watch
from tiltmeter.plans import cluster, local
from tiltmeter.plans.asked import asked_of, is_same
from tiltmeter.plans.carrying import pull
from tiltmeter.plans.cells import Plan, PlannedCell, plan
from tiltmeter.plans.engine import Engine
from tiltmeter.plans.file import StudyFile, read_study
from tiltmeter.plans.progress import DONE, FAILED, FINAL, REFUSED, Board, Ledger, Status, read_status
from tiltmeter.plans.vanished import noticing_vanished, refuse_vanished, title_of
from tiltmeter.runs.cells import find_kept, store_of
from tiltmeter.runs.folder import output_folder, reserved
from tiltmeter.runs.gathered import tables_of, write_gathered
from tiltmeter.runs.reading import Run, RunOnDisk, verify_run
from tiltmeter.storage.cells import Kept
from tiltmeter.storage.depot import Depot
from tiltmeter.storage.provenance import software
from tiltmeter.storage.sealed import read_seal

LOCAL = Engine()
JUDGING = ("families", "measures", "stats", "runs")
"""Our code that makes estimates of answers."""


def run_study(
    study: StudyFile | str | Path,
    *,
    engine: Engine | str = LOCAL,
    workers: int | None = None,
    watch: Watch | None = None,
) -> tuple[Run, Status]:
    """Makes what is missing and writes OUTPUT/run. Cells that failed before are tried again; one that fails stops no other.

    `engine`: what makes the cells, "local" or "ray", or an `Engine` with settings. `workers`: how many at a time.
    """
    engine = chosen(engine, workers)
    study = study if isinstance(study, StudyFile) else read_study(study)
    planned, started = plan(study), time.time()
    folder = output_folder(study.output / "run")
    ledger = Ledger(Depot(study.storage))
    ledger.depot.check()
    for _ in range(2):  # a second time for what was in the cache and is no more
        models = _prepare(planned, ledger)
        if not models and (before := _unchanged(folder, made_of(planned, read_status(planned, ledger)))):
            return before, read_status(planned, ledger)
        if models:
            _work(planned, ledger, models, engine, watch)
        found, lost = _gathered(planned, read_status(planned, ledger), ledger)
        if not lost:
            break
    refuse_vanished(lost, study.path)
    return _written(planned, ledger, folder, found, started)


def make_cells(
    study: StudyFile | str | Path,
    *,
    models: Sequence[str] = (),
    engine: Engine | str = LOCAL,
    workers: int | None = None,
    watch: Watch | None = None,
) -> Status:
    """Makes what is missing of some models (default: all) and writes no run folder: for one of several machines."""
    engine = chosen(engine, workers)
    study = study if isinstance(study, StudyFile) else read_study(study)
    planned = plan(study)
    for name in models:
        if name not in planned.models:
            raise TiltmeterError(f"{study.path} has no model '{name}'. Models: {', '.join(planned.models)}.")
    ledger = Ledger(Depot(study.storage))
    ledger.depot.check()
    if todo := _prepare(planned, ledger, models):
        _work(planned, ledger, todo, engine, watch)
    return read_status(planned, ledger)


def chosen(engine: Engine | str, workers: int | None) -> Engine:
    """The engine as it was asked for, once it is known that it can work."""
    engine = Engine(engine) if isinstance(engine, str) else engine
    engine = replace(engine, workers=workers) if workers else engine
    engine.check()
    if engine.name == "ray":
        cluster.check()
    return engine


def _work(planned: Plan, ledger: Ledger, models: list[str], engine: Engine, watch: Watch | None) -> None:
    """Makes the cells of these models and shows how many are there."""
    shown, board = 0, Board(planned, ledger)
    with watch(planned.study.title, len(planned.cells)) if watch else nullcontext(lambda *_: None) as advance:

        def look(cells: Iterable[PlannedCell]) -> None:
            nonlocal shown
            if board.look(cells):
                now = board.status
                final = sum(state.status in FINAL for state in now.states)
                counts = ", ".join(f"{count} {name}" for name, count in now.counts.items() if count)
                advance(final - shown, counts)  # type: ignore[call-arg]
                shown = final

        look(())
        (cluster if engine.name == "ray" else local).go(planned, ledger, models, engine, look)


def _prepare(planned: Plan, ledger: Ledger, models: Sequence[str] = ()) -> list[str]:
    """The models with work left. What failed, was left by a process that died, or is asked otherwise now, waits again."""
    todo = []
    for cell in planned.cells if not models else [cell for cell in planned.cells if cell.model in models]:
        state = ledger.read(cell)
        ended = state.status in (DONE, REFUSED) and state.asked and not cell.error
        if ended and is_same(state.asked, asked_of(planned.study, cell)):
            continue
        if state.status != "waiting" or state.attempts:
            ledger.reset(cell, earlier=state.answer)
        if cell.error:  # no worker is needed to say so
            ledger.end(ledger.begin(cell), FAILED, error=cell.error)
        else:
            todo.append(cell.model)
    return list(dict.fromkeys(todo))


def _unchanged(folder: Path, content: str) -> Run | None:
    """The run folder, if it was made of the same cells in the same way and is as it was written."""
    try:
        return verify_run(folder) if folder.is_dir() and read_seal(folder).get("made_of") == content else None
    except TiltmeterError:
        return None


def made_of(planned: Plan, now: Status) -> str:
    """What names everything that decides a run folder: the cells, what is made of them, and our code that makes it."""
    study, package = planned.study, Path(tiltmeter.__file__).parent
    cells = [(state.cell, state.status, state.key, state.error) for state in now.states]
    digest = hashlib.sha256(repr((cells, study.measures, study.by, study.settings, software())).encode())
    for path in sorted(file for room in JUDGING for file in (package / room).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _gathered(planned: Plan, now: Status, ledger: Ledger) -> tuple[list[Kept], list[str]]:
    """Where the answers of all finished cells are, and which are no longer where they were (they wait again)."""
    store, cells, lost = store_of(planned.study.run_options().cache), [], []
    for cell, state in zip(planned.cells, now.states, strict=True):
        if state.status != DONE or not state.key:
            continue
        known = find_kept(store, state.key)
        if known is None and planned.study.shared and pull(store, state.key, ledger.depot):
            known = find_kept(store, state.key)
        if known is None:
            ledger.reset(cell)
            lost.append(title_of(cell.model, cell.benchmark))
            continue
        cells.append(known)
    return cells, lost


def _written(planned: Plan, ledger: Ledger, folder: Path, cells: list[Kept], started: float) -> tuple[Run, Status]:
    study, now = planned.study, read_status(planned, ledger)
    if not cells:
        errors = [state.error for state in now.states if state.error]
        raise TiltmeterError(f"No cell of {study.path} could be made. The first error: {errors[0] if errors else 'none'}")
    manifest = _manifest(planned, now, cells, started)
    with reserved(folder, manifest | {"status": "unfinished"}) as making, noticing_vanished(cells, study.path):
        manifest = write_gathered(making, cells, manifest, list(study.measures) or None, study.by, study.settings)
    return RunOnDisk(folder, manifest), now


def _manifest(planned: Plan, now: Status, cells: list[Kept], started: float) -> dict[str, Any]:
    study = planned.study
    options = {name: str(value) for name, value in study.options.items()}
    asked = {
        "models": planned.models,
        "benchmarks": list(dict.fromkeys(cell.benchmark for cell in planned.cells)),
        "measures": list(study.measures) or "all applicable",
        "by": list(study.by),
        **options,
        **vars(study.settings),
    }
    without = [
        {"model": cell.model, "benchmark": cell.benchmark, "status": state.status, "error": state.error}
        for cell, state in zip(planned.cells, now.states, strict=True)
        if state.status in (FAILED, REFUSED)
    ]
    evaluations = [cell.manifest | {"attachments": list(cell.attachments)} for cell in cells]
    return {
        "status": "finished",
        "made_of": made_of(planned, now),
        **software(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(started)),
        "asked": asked,
        "study": study.described(),
        "without": without,
        "seconds": round(time.time() - started, 3),
        "families": tables_of(cells),
        "evaluations": evaluations,
    }
