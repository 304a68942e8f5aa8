"""p of deciding tests by more resamples: where a thousand cannot give a p that is below the corrected level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from tiltmeter.audits.deciding import Refine, Row, key_of
from tiltmeter.families import Answers
from tiltmeter.runs import Run
from tiltmeter.runs.compare import compare
from tiltmeter.runs.estimate import estimate
from tiltmeter.stats.settings import MOST_RESAMPLES, Settings

Numbers = Callable[[Answers, list[str], list[str], Settings], Any]
"""Makes a table by answers, measures, grouping columns and settings."""


def refine_estimate(run: Run, settings: Settings) -> Refine:
    """Return what computes p of estimates again."""
    return _refine(run, settings, lambda answers, measures, by, more: estimate(answers, measures, by, **asdict(more)))


def refine_difference(run: Run, baseline: str, settings: Settings) -> Refine:
    """Return what computes p of differences from a baseline again."""
    return _refine(
        run, settings, lambda answers, measures, by, more: compare(answers, baseline, measures, by, **asdict(more))
    )


def _refine(run: Run, settings: Settings, numbers: Numbers) -> Refine:
    columns = [str(name) for name in run.manifest["asked"]["by"]]
    computed: dict[tuple[str, ...], dict[tuple[str, ...], float]] = {}

    def p_of(row: Row, n: int) -> float:
        n = min(n, MOST_RESAMPLES)
        question = (
            str(row["model"]),
            str(row["benchmark"]),
            str(row["scorer"]),
            str(row["measure"]),
            str(row["by"]),
            str(n),
        )
        if question not in computed:
            models = [str(row[name]) for name in ("model", "baseline") if name in row]
            answers = run.answers[str(row["family"])]
            answers = answers.where(model=models, benchmark=str(row["benchmark"]), scorer=str(row["scorer"]))
            by = [name for name in columns if name == row["by"]]
            table = numbers(answers, [str(row["measure"])], by, replace(settings, resamples=n))
            computed[question] = {key_of(one): float(one["p"]) for one in table.to_dict("records")}
        return computed[question].get(key_of(row), float(row["p"]))

    return p_of
