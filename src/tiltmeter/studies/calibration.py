"""Calibration: what does each metric read when the tilt of a model is known, because we gave it?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tiltmeter.errors import TiltmeterError
from tiltmeter.studies.kit.calibrating import calibrated, curves, drifts, other_arms, other_domains, treated
from tiltmeter.studies.kit.calibration_figures import calibration_figures
from tiltmeter.studies.kit.dosed import Readings, readings_of
from tiltmeter.studies.kit.evidence import Evidence
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.options import Confidence

if TYPE_CHECKING:
    import pandas as pd

CITATION = "tiltmeter (docs/calibration.md); interval of Spearman's ρ: Bonett and Wright (2000), Psychometrika 65."
READS = "estimates"
NAMED = 6
"""So many metrics are named in a sentence; the table has all."""
UPWARDS = ("bias_score", "ss")
"""Measures that a dose should raise: shares of pairs in which the stereotype is preferred."""


def calibration(evidence: Evidence, *, confidence: Confidence = 0.95) -> Finding:
    """Every metric over models that were given a dose (tiltmeter build calibration): change per dose, monotonicity,
    sensitivity (change per dose over the spread of other seeds), the smallest dose that is noticed with 80 % power, and a
    ranking with its ties.

    curve has the reading at each dose, drift what training with a neutral text does and where the neutral models lie,
    cross_talk what doses of other domains do, reach what doses by first names do, treated what methods of debiasing
    leave of a dose. All comparisons are within seeds.
    """
    if not 0.5 <= confidence < 1:
        raise TiltmeterError(f"The confidence must be at least 0.5 and below 1, such as 0.95, not {confidence}.")
    every = readings_of(evidence.folders)
    main = _joined(calibrated(readings, confidence) for readings in every)
    tables = {
        "calibration": main,
        "curve": _joined(curves(readings, confidence) for readings in every),
        "drift": _joined(drifts(readings, confidence) for readings in every),
        "cross_talk": _joined(other_domains(readings, confidence) for readings in every),
        "reach": _joined(other_arms(readings, confidence) for readings in every),
        "treated": _joined(treated(readings, confidence) for readings in every),
    }
    tables = {name: table for name, table in tables.items() if len(table)}
    said = [line for readings in every for line in _sentences(readings, tables)]
    return Finding("calibration", tables, calibration_figures(tables), said, {"seeds": [list(one.seeds) for one in every]})


def _joined(parts: Iterator[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    return pd.concat(list(parts), ignore_index=True)


def _sentences(readings: Readings, tables: dict[str, pd.DataFrame]) -> Iterator[str]:
    main = tables["calibration"]
    mine = main[main["model"] == readings.model]
    for domain, rows in mine.groupby("domain", sort=False):
        yield from _of_domain(f"{readings.model}, {domain}", rows, len(readings.seeds))
    if "cross_talk" in tables:
        other = tables["cross_talk"]
        other = other[(other["model"] == readings.model) & (other["p_holm"] < 0.05)]
        yield f"{readings.model}: {len(other)} readings move with a dose of another domain (cross_talk)."
    if readings.left_out:
        yield f"{readings.model}: left out: {'; '.join(readings.left_out)}."


def _of_domain(where: str, rows: pd.DataFrame, seeds: int) -> Iterator[str]:
    follows = rows[rows["p_holm"] < 0.05]
    if seeds < 2:
        yield f"{where}: one seed, so nothing tells the dose from another training. Changes per dose are given, and no more."
        return
    best = rows[rows["rank"] == 1].iloc[0]
    tied = int((rows["rank_best"] == 1).sum()) - 1
    yield (
        f"{where}: {len(follows)} of {len(rows)} metrics follow the dose. The most sensitive is {best['metric']}: "
        f"{best['slope']:+.3g} per dose, {best['sensitivity']:.1f} times the spread over seeds; it notices a dose of "
        f"{best['smallest_dose']:.2f}. {tied} others cannot be told from it."
    )
    blind = rows[(rows["p_holm"] >= 0.05) | (rows["smallest_dose"] > 1)]
    if len(blind):
        yield f"{where}: {len(blind)} metrics would not notice the largest dose in one model: {_names(blind)}."
    wrong = follows[follows["measure"].isin(UPWARDS) & (follows["slope"] < 0)]
    if len(wrong):
        yield f"{where}: these fall when the stereotype is taught: {_names(wrong)}."


def _names(rows: pd.DataFrame) -> str:
    names = list(rows["metric"])
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
