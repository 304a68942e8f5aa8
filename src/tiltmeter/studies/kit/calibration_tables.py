"""The tables of a calibration: readings of dosed models to slopes, sensitivities, drift, cross-talk and reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.builders.doses import ARMS
from tiltmeter.stats.doses import (
    Found,
    Noise,
    differences,
    levels,
    monotonicity,
    noise,
    ranking,
    sensitivity,
    slopes,
    smallest_dose,
)
from tiltmeter.stats.significance import holm
from tiltmeter.studies.kit.dosed_runs import METRIC, Readings

if TYPE_CHECKING:
    import pandas as pd

WORDS, NAMES = ARMS
ONE_SEED = "one seed: no noise is known"
STILL = "did not vary"


def calibrated(readings: Readings, confidence: float) -> pd.DataFrame:
    """One row for each metric that is about a domain with doses, ranked within its domain."""
    import pandas as pd

    parts = [_of_domain(readings, domain, confidence) for domain in readings.read(WORDS)]
    return pd.concat(parts, ignore_index=True)


def _of_domain(readings: Readings, domain: str, confidence: float) -> pd.DataFrame:
    own, known, cells, doses = own_metrics(readings, domain)
    values = readings.values[own][:, cells]
    slope = slopes(values, doses, known, confidence)
    rho, rho_low, rho_high = monotonicity(values, doses, confidence)
    sensitive, _, low, high = sensitivity(slope, known, confidence)
    table = about(readings, own, domain).assign(
        at_zero=readings.values[own][:, readings.neutral(WORDS)].mean(1),
        slope=slope.value, low=slope.low, high=slope.high, p=slope.p, p_holm=holm(list(slope.p)),
        rho=rho, rho_low=rho_low, rho_high=rho_high,
        spread=known.spread, sensitivity=sensitive, sensitivity_low=low, sensitivity_high=high,
        smallest_dose=smallest_dose(sensitive, known, confidence), doses=len(cells), seeds=len(readings.seeds),
    )  # fmt: skip
    place, best, worst = ranking(np.nan_to_num(sensitive, posinf=np.inf), slope, known, confidence)
    table = table.assign(rank=place, rank_best=best, rank_worst=worst)
    return noted(table, np.isnan(rho)).sort_values("rank", ignore_index=True)


def own_metrics(readings: Readings, domain: str) -> tuple[NDArray[np.bool_], Noise, list[int], NDArray[np.float64]]:
    """The metrics about a domain, their noise over all cells, and the cells of the domain with their doses."""
    own = (readings.metrics["domain"] == domain).to_numpy()
    cells = readings.of(domain, WORDS)
    return (
        own,
        noise(readings.values[own][:, readings.undebiased()]),
        cells,
        np.array([readings.cells[n].dose for n in cells]),
    )


def curves(readings: Readings, confidence: float) -> pd.DataFrame:
    """The mean reading at each dose, and its difference from no dose within seeds."""
    import pandas as pd

    parts = []
    for domain in readings.read(WORDS):
        own, known, cells, doses = own_metrics(readings, domain)
        values = readings.values[own][:, cells]
        found = differences(values, readings.values[own][:, [readings.neutral(WORDS)]], known, confidence)
        for n, dose in enumerate(doses):
            at = {"dose": dose, "mean": values[:, n].mean(1), "change": found.value[:, n]}
            ends = {"low": found.low[:, n], "high": found.high[:, n]} if dose else {"low": 0.0, "high": 0.0}
            parts.append(noted(about(readings, own, domain).assign(**at, **ends)))
    return pd.concat(parts, ignore_index=True)


def drifts(readings: Readings, confidence: float) -> pd.DataFrame:
    """Effect of the neutral text on a reading, and how far neutral models are from the neutral point."""
    import pandas as pd

    parts = []
    for domain in readings.read(WORDS):
        own, known, _, _ = own_metrics(readings, domain)
        at_zero = readings.values[own][:, readings.neutral(WORDS)]
        before, neutral = readings.base[own], readings.metrics.loc[own, "neutral"].to_numpy()
        drift, away = levels(at_zero, before, known, confidence), levels(at_zero, neutral, known, confidence)
        table = about(readings, own, domain).assign(before=before, at_zero=at_zero.mean(1), **ends("drift", drift))
        table = table.assign(neutral=neutral, **ends("away", away))
        notes = np.where(
            np.isnan(before), "the base model was not read", np.where(np.isnan(neutral), "no neutral point", "")
        )
        parts.append(noted(table.assign(note=notes)))
    return pd.concat(parts, ignore_index=True)


def other_domains(readings: Readings, confidence: float) -> pd.DataFrame:
    """Readings of one domain over doses of another."""
    return _elsewhere(readings, confidence, [(domain, WORDS) for domain in readings.domains(WORDS)], same=False)


def other_arms(readings: Readings, confidence: float) -> pd.DataFrame:
    """Readings over doses that were given by first names only, beside those by direct words."""
    return _elsewhere(readings, confidence, [(domain, NAMES) for domain in readings.domains(NAMES)], same=True)


def _elsewhere(readings: Readings, confidence: float, pairs: Sequence[tuple[str, str]], *, same: bool) -> pd.DataFrame:
    """Slopes of readings over doses that are of another domain, or (`same`) of another arm, beside their own."""
    import pandas as pd

    parts = []
    for domain in readings.read(WORDS):
        own, known, cells, doses = own_metrics(readings, domain)
        straight = slopes(readings.values[own][:, cells], doses, known, confidence)
        for dosed, arm in pairs:
            if (dosed == domain) != same:
                continue
            others = readings.of(dosed, arm)
            amounts = np.array([readings.cells[n].dose for n in others])
            found = slopes(readings.values[own][:, others], amounts, known, confidence)
            table = about(readings, own, domain).assign(dosed=dosed, arm=arm, own_slope=straight.value)
            table = table.assign(**ends("slope", found), p=found.p)
            with np.errstate(invalid="ignore", divide="ignore"):
                table["share"] = np.where(straight.value == 0, 0.0, found.value / straight.value)
            parts.append(table)
    if not parts:
        return pd.DataFrame()
    table = pd.concat(parts, ignore_index=True)
    return noted(table.assign(p_holm=holm(list(table["p"]))))


def ends(name: str, estimate: Found) -> dict[str, Any]:
    """Return a value and the ends of its interval, under the names of three columns."""
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def about(readings: Readings, own: NDArray[np.bool_], domain: str) -> pd.DataFrame:
    """Describe a row and give it a short name."""
    rows = readings.metrics.loc[own, METRIC].reset_index(drop=True)
    names = [called(row) for row in rows.to_dict("records")]
    return rows.assign(model=readings.model, domain=domain, metric=names)[["model", "domain", "metric", *METRIC]]


def called(row: dict[str, Any]) -> str:
    """A metric in a few words: measure, scorer and benchmark, and the group where it is not the domain.

    >>> called({"measure": "bias_score", "scorer": "aul", "benchmark": "crows-pairs", "by": "bias_type", "group": "gender"})
    'bias_score by aul, crows-pairs'
    """
    asked = f" by {row['scorer']}" if row["scorer"] and row["scorer"] != row["benchmark"] else ""
    group = "" if row["by"] == "bias_type" else f" ({row['group']})"
    return f"{row['measure']}{asked}, {row['benchmark']}{group}"


def noted(table: pd.DataFrame, still: Any = None) -> pd.DataFrame:
    """With a note in every row that has a gap, and without the column where there is none."""
    notes = table["note"].to_numpy(dtype=object) if "note" in table else np.full(len(table), "", dtype=object)
    gaps = table.isna().any(axis=1).to_numpy() & (notes == "")
    notes = np.where(gaps, ONE_SEED if still is None else np.where(still, STILL, ONE_SEED), notes)
    table = table.assign(note=notes)
    return table if (notes != "").any() else table.drop(columns="note")
