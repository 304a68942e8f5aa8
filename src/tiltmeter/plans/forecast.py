"""What a study would cost: its cells, model passes, memory and time, from a short trial of every model."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.families import How, family_of
from tiltmeter.families.kit.seam import Watch
from tiltmeter.models import load_any
from tiltmeter.models.hashing import weight_files
from tiltmeter.models.places import folder_of
from tiltmeter.plans.cells import Plan, PlannedCell, load_asked, plan
from tiltmeter.plans.engine import default_workers
from tiltmeter.plans.file import StudyFile, read_study
from tiltmeter.plans.progress import FINAL, Ledger, read_status
from tiltmeter.plans.variants import StudyModel
from tiltmeter.plans.work import EVERY_KIND, known_of
from tiltmeter.runs.options import FamilyOptions
from tiltmeter.storage.depot import Depot

if TYPE_CHECKING:
    import pandas as pd

TRIAL = 8
"""Items of each benchmark that a model is asked in the trial. Their time per item is taken for all."""


@dataclass(frozen=True)
class Forecast:
    """A row per cell, and what it comes to."""

    table: pd.DataFrame
    sentences: tuple[str, ...]


def forecast(study: StudyFile | str | Path, watch: Watch | None = None) -> Forecast:
    """The plan of a study. Models that are not on this machine are listed without figures: nothing is downloaded."""
    import pandas as pd

    study = study if isinstance(study, StudyFile) else read_study(study)
    planned = plan(study)
    now = read_status(planned, Ledger(Depot(study.storage)))
    states = {state.cell: state.status for state in now.states}
    rows: list[dict[str, Any]] = []
    with watch("Trying each model", len(planned.models)) if watch else nullcontext(lambda *_: None) as advance:
        for name in planned.models:
            rows += _rows(study, study.model(name), [cell for cell in planned.cells if cell.model == name], states)
            advance(1)
    table = pd.DataFrame(rows).astype(dict.fromkeys(("passes", "seconds", "memory_gb"), "float64"))
    return Forecast(table, tuple(_sentences(planned, table)))


def _rows(study: StudyFile, model: StudyModel, cells: list[PlannedCell], states: dict[str, str]) -> Iterator[dict[str, Any]]:
    tried = _trial(study, model, [cell for cell in cells if states[cell.name] not in FINAL and not cell.error])
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


def _trial(study: StudyFile, model: StudyModel, cells: list[PlannedCell]) -> dict[str, dict[str, Any]]:
    """What a few items of each benchmark cost. A variant is tried as its parent, and a hub model not at all."""
    if not cells:
        return {}
    try:
        folder, _ = folder_of(model.source, None) if _is_here(model.source) else (None, None)
        if folder is None:
            return {cell.name: {"note": "not on this machine: no trial"} for cell in cells}
        size = sum(path.stat().st_size for path in weight_files(folder)) / 2**30
        loaded = load_any(model.source, **study.run_options(model.kind).loading)
    except TiltmeterError as error:
        return {cell.name: {"note": str(error)} for cell in cells}
    made = "plus making it" if model.variant else ""
    return {cell.name: {"memory": round(2 * size + 0.5, 1), "note": made} | _one(study, loaded, cell) for cell in cells}


def _is_here(source: str) -> bool:
    from tiltmeter.models.places import EMBEDDED

    return source in EMBEDDED or Path(source).exists()


def _one(study: StudyFile, model: Any, cell: PlannedCell) -> dict[str, Any]:
    ask = study.asks[cell.ask]
    benchmark, told = load_asked(study, ask), FamilyOptions.read(ask.options)
    few = replace(benchmark, items=benchmark.items[:TRIAL]) if benchmark.items else benchmark
    options, run = told[benchmark.family], study.run_options(model.kind)
    try:
        family_of(few).check(few, [known_of(model)], options)
        started = time.perf_counter()
        how = How(False, run.batch_tokens, run.settings.seed, EVERY_KIND)
        answers = family_of(few).ask(model, few, options, how)
    except TiltmeterError as error:
        return {"note": str(error)}
    scale = len(benchmark.items) / max(1, len(few.items)) if benchmark.items else 1.0
    passes = sum(manifest.get("batches_computed", 0) for manifest in answers.manifests)
    return {"seconds": round((time.perf_counter() - started) * scale, 1), "passes": round(passes * scale)}


def _sentences(planned: Plan, table: pd.DataFrame) -> Iterator[str]:
    open_ = table[~table["status"].isin(FINAL)]
    yield f"{len(table)} cells of {table['model'].nunique()} models; {len(table) - len(open_)} are there."
    seconds = float(open_["seconds"].sum())
    if seconds:
        workers = default_workers(open_["model"].nunique(), str(planned.study.run_options().device))
        yield (
            f"About {seconds / 60:,.1f} minutes of work, {seconds / 60 / workers:,.1f} with {workers} at a time "
            f"(the time of {TRIAL} items, taken for all; small trials overstate it)."
        )
