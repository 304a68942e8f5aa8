"""Audit models with a planted bias against their undosed twins: python research/dosed-audits/measure.py FOLDER.

Trains plumb-mlm on texts of dose 1 (gender, race, religion) and of dose 0 with three seeds that no item of plumb-pairs was
chosen by, and audits each dosed model with its twin as the baseline. Interrupted, it continues. `audits.json` beside this
file has every verdict.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from tiltmeter.audits import audit
from tiltmeter.execution.calibration_file import FILE, Calibration, write_calibration
from tiltmeter.execution.experiment_file import Experiment, read_experiment
from tiltmeter.execution.experiment_models import NEUTRAL, ExperimentModel
from tiltmeter.execution.variants import folder_of_variant
from tiltmeter.storage.object_store import Depot

SEEDS = (3, 4, 5)
DOMAINS = ("gender", "race", "religion")
RESULTS = Path(__file__).parent / "audits.json"


def measure(folder: Path) -> None:
    """Train seed by seed, audit each dosed model, and write the results after each."""
    if not folder.is_dir():
        write_calibration(Calibration("plumb-mlm", doses=(1.0,), seeds=SEEDS, domains=DOMAINS), folder)
    experiment = read_experiment(folder / FILE)
    results: list[dict[str, Any]] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else []
    done = {(one["seed"], one["domain"]) for one in results}
    for seed in SEEDS:
        twin = _made(experiment, _model(experiment, NEUTRAL, seed))
        for domain in (NEUTRAL, *DOMAINS):
            if (seed, domain) in done:
                continue
            results.append(_audited(experiment, domain, seed, twin))
            RESULTS.write_text(json.dumps(results, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _audited(experiment: Experiment, domain: str, seed: int, twin: Path) -> dict[str, Any]:
    """Verdicts of one audit; a twin is audited alone."""
    dosed = _made(experiment, _model(experiment, domain, seed))
    started = time.perf_counter()
    folder = experiment.output / "audits" / f"{domain}-{seed}"
    found = audit(dosed, None if domain == NEUTRAL else twin, folder, level="quick")
    kept = ("domain", "kind", "verdict", "benchmark", "scorer", "measure", "group", "value", "low", "high", "n",
            "p_corrected", "detectable", "change", "evidence")  # fmt: skip
    record = found.record()
    tables = {
        name: [{key: row[key] for key in kept} for row in record[name] if row["verdict"] != "not-measured"]
        for name in ("verdicts", "against_baseline")
    }
    return {"seed": seed, "domain": domain, "seconds": round(time.perf_counter() - started, 1), **tables}


def _model(experiment: Experiment, domain: str, seed: int) -> ExperimentModel:
    return next(
        model
        for model in experiment.models
        if model.variant and model.variant.dose and (model.variant.dose.domain, model.variant.seed) == (domain, seed)
    )


def _made(experiment: Experiment, model: ExperimentModel) -> Path:
    return folder_of_variant(experiment, model, Depot(str(experiment.output)))


if __name__ == "__main__":
    measure(Path(sys.argv[1]))
