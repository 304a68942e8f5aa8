"""Calibration: how does each metric respond to a bias of known strength that was planted in the model?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tiltmeter.builders.doses import ARMS
from tiltmeter.display import Statement, number_text, percent_text, significant_text
from tiltmeter.errors import RunError, UsageError
from tiltmeter.families.kit.evidence import Evidence
from tiltmeter.studies.kit.calibration_figures import calibration_figures
from tiltmeter.studies.kit.calibration_tables import calibrated, curves, drifts, other_arms, other_domains
from tiltmeter.studies.kit.dosed_runs import TAUGHT_NAMES, Readings, is_share, readings_of, should_rise
from tiltmeter.studies.kit.evidence_rows import evidence_rows
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.options import Confidence
from tiltmeter.studies.kit.treatment_tables import treated, treated_sentences

if TYPE_CHECKING:
    import pandas as pd

CITATION = (
    "tiltmeter (docs/calibration.md); interval of Spearman's ρ: Bonett and Wright (2000), Psychometrika 65; of what is "
    "left: Fieller (1954), Journal of the Royal Statistical Society B 16."
)
READS = "estimates"
NAMED = 6
"""So many metrics are named in a sentence; the table has all."""
LEVEL = 0.05


def calibration(evidence: Evidence, *, confidence: Confidence = 0.95) -> Finding:
    """Every metric over models that were given a dose (tiltmeter build calibration).

    Change per dose, monotonicity, sensitivity (change per dose over the spread of other seeds), the smallest dose that
    is detected with 80 % power, and a ranking with its ties.

    taught has the same for the sentences that were taught, curve the reading at each dose, drift what training with a
    neutral text does and where the neutral models lie, cross_talk what doses of other domains do, reach what doses by first
    names do, treated what methods of debiasing leave of a dose, evidence the rows for the
    evidence table. All comparisons are within seeds.
    """
    if not 0.5 <= confidence < 1:
        raise UsageError(
            f"The confidence must be at least 0.5 and below 1, such as 0.95, not {confidence}.",
            code="out-of-range",
            option="--confidence",
            value=confidence,
        )
    every = readings_of(evidence.folders)
    metrics, taught = zip(*(_apart(readings) for readings in every), strict=True)
    if not all(len(readings.metrics) for readings in metrics):
        raise RunError(
            "These runs have only the taught sentences themselves: add a benchmark (-b).",
            code="too-few",
            kind="benchmarks",
        )
    tables = {
        "calibration": _joined(calibrated(readings, confidence) for readings in metrics),
        "taught": _joined(calibrated(readings, confidence) for readings in taught if readings.read(ARMS[0])),
        "curve": _joined(curves(readings, confidence) for readings in every),
        "drift": _joined(drifts(readings, confidence) for readings in metrics),
        "cross_talk": _joined(other_domains(readings, confidence) for readings in metrics),
        "reach": _joined(other_arms(readings, confidence) for readings in every),
        "treated": _joined(treated(readings, confidence) for readings in every),
    }
    tables["evidence"] = evidence_rows(tables["calibration"], evidence.folders, {one.model: one.seeds for one in every})
    tables = {name: table for name, table in tables.items() if len(table)}
    said = [line for readings in every for line in _sentences(readings, tables)]
    return Finding("calibration", tables, calibration_figures(tables), said, {"seeds": [list(one.seeds) for one in every]})


def _apart(readings: Readings) -> tuple[Readings, Readings]:
    """The metrics, and the sentences that were taught, which are no metric but show whether a dose was learned."""
    of_taught = readings.metrics["benchmark"].isin(TAUGHT_NAMES).to_numpy()
    return readings.only(~of_taught), readings.only(of_taught)


def _joined(parts: Iterator[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    filled = list(parts)
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()


def _sentences(readings: Readings, tables: dict[str, pd.DataFrame]) -> Iterator[str]:
    mine = {name: table[table["model"] == readings.model] for name, table in tables.items()}
    for domain, rows in mine["calibration"].groupby("domain", sort=False):
        where = f"{readings.model}, {domain}"
        if "taught" in mine:
            yield from _learned(where, mine["taught"].query("domain == @domain and benchmark == 'taught-words'"))
        yield from _of_domain(where, rows, len(readings.seeds))
    if "cross_talk" in tables and len(readings.seeds) > 1:
        other = mine["cross_talk"]
        clear = int((other["p_holm"] < LEVEL).sum())
        yield f"{readings.model}: {clear} of {len(other)} readings move with a dose of another domain (cross_talk)."
    if "treated" in mine:
        yield from treated_sentences(mine["treated"])
    if readings.left_out:
        yield f"{readings.model}: left out: {'; '.join(readings.left_out)}."


def _learned(where: str, rows: pd.DataFrame) -> Iterator[str]:
    """Report whether a dose was learned, by the scorer that shows it best."""
    shares = rows[rows["measure"].map(is_share).astype(bool)]
    if len(shares):
        best = shares.loc[shares["slope"].idxmax()]
        yield (
            f"{where}: a dose moves {percent_text(best['slope'], 0, signed=True)} of the taught sentences themselves "
            f"(by {best['scorer']})."
        )


def _of_domain(where: str, rows: pd.DataFrame, seeds: int) -> Iterator[str]:
    if seeds < 2:
        text = "{where}: one seed cannot separate the dose from training noise. Only changes per dose are reported."
        yield Statement(text, "one-seed", where=where)
        return
    follows = rows[rows["p_holm"] < LEVEL]
    detected = follows[follows["smallest_dose"] <= 1]
    best = rows[rows["rank"] == 1].iloc[0]
    tied = int((rows["rank_best"] == 1).sum()) - 1
    yield (
        f"{where}: {len(follows)} of {len(rows)} metrics follow the dose, and {len(detected)} would detect the largest one "
        f"in a single model. The most sensitive is {best['metric']}: "
        f"{significant_text(best['slope'], signed=True)} per dose, "
        f"{number_text(best['sensitivity'])} times the spread over seeds; it detects a dose of "
        f"{number_text(best['smallest_dose'], 2)}. {tied} "
        "others are not distinguishable from it."
    )
    shares = rows[rows["measure"].map(should_rise).astype(bool)]
    if len(shares):
        deaf = shares[shares["p_holm"] >= LEVEL]
        yield f"{where}: {len(deaf)} of {len(shares)} shares of preferred stereotypes do not follow it: {_names(deaf)}."
    wrong = follows[follows["measure"].map(should_rise).astype(bool) & (follows["slope"] < 0)]
    if len(wrong):
        yield f"{where}: these fall when the stereotype is taught: {_names(wrong)}."


def _names(rows: pd.DataFrame) -> str:
    names = list(rows["metric"]) or ["none"]
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
