"""What methods of debiasing leave of a known dose, and what each metric would make you believe that they leave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiltmeter.builders.doses import ARMS
from tiltmeter.stats.doses import Found, noise, ratio, slopes
from tiltmeter.stats.significance import holm
from tiltmeter.studies.kit.calibrating import STILL, WORDS, about, ends, noted, own_metrics
from tiltmeter.studies.kit.dosed import TAUGHT_NAMES as TAUGHT
from tiltmeter.studies.kit.dosed import Readings

if TYPE_CHECKING:
    import pandas as pd

UNCLEAR = "no clear dose before"
SHARE = "bias_score"
LEVEL = 0.05


def treated(readings: Readings, confidence: float) -> pd.DataFrame:
    """How much of a dose each method leaves: the change per dose before and after it, metric by metric, and their ratio."""
    import pandas as pd

    parts = []
    for domain in readings.read(WORDS):
        for arm in readings.arms():
            if arm not in ARMS and domain in readings.domains(arm):
                parts.append(_treated(readings, domain, arm, confidence))
    return noted(pd.concat(parts, ignore_index=True)) if parts else pd.DataFrame()


def _treated(readings: Readings, domain: str, arm: str, confidence: float) -> pd.DataFrame:
    own, known, _, _ = own_metrics(readings, domain)
    after = readings.of(domain, arm)
    doses = np.array([readings.cells[n].dose for n in after])
    same = [next(m for m in readings.of(domain, WORDS) if readings.cells[m].dose == dose) for dose in doses]
    first = slopes(readings.values[own][:, same], doses, known, confidence)
    values = readings.values[own][:, after]
    second = slopes(values, doses, noise(values), confidence)
    left, low, high = ratio(second, first)
    level = values[:, list(doses).index(0.0)].mean(1) - readings.values[own][:, readings.neutral(WORDS)].mean(1)
    table = about(readings, own, domain).assign(method=arm, **ends("before", first), **ends("after", second))
    table = table.assign(p_before=_corrected(table["benchmark"], first.p), left=left, left_low=low, left_high=high)
    table = table.assign(at_zero_moved=level)
    return table.assign(note=_notes(first, left, low))


def _corrected(benchmarks: pd.Series, p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Holm's correction over the metrics, and over the taught sentences on their own: those are not in doubt."""
    taught, found = benchmarks.isin(TAUGHT).to_numpy(), p.copy()
    for some in (taught, ~taught):
        found[some] = holm(list(p[some]))
    return found


def _notes(first: Found, left: NDArray[np.float64], low: NDArray[np.float64]) -> NDArray[np.object_]:
    unclear = np.isnan(low) & ~np.isnan(first.low)
    return np.where(np.isnan(left), STILL, np.where(unclear, UNCLEAR, "")).astype(object)


def treated_sentences(table: pd.DataFrame) -> Iterator[str]:
    """For each method: what is left of the sentences that were taught, and what the metrics say that followed the dose.

    Those are chosen after Holm's correction: a metric that seemed to follow it by chance would seem to be cured by chance.
    """
    for (model, domain, method), rows in table.groupby(["model", "domain", "method"], sort=False):
        where = f"{model}, {domain}, {method}"
        of_taught = rows["benchmark"].isin(TAUGHT)
        shares = rows[of_taught & (rows["measure"] == SHARE)]
        if len(shares):
            best = shares.loc[shares["before"].idxmax()]
            yield (
                f"{where}: it leaves {best['left']:.0%} of what was taught: a dose moved {best['before']:+.0f} % of the "
                f"taught sentences before, and {best['after']:+.0f} % after (by {best['scorer']})."
            )
        saw = rows[~of_taught & (rows["p_before"] < LEVEL)]
        if len(saw):
            less, unsure = (saw["left_high"] < 1).sum(), ((saw["left_low"] <= 1) & (saw["left_high"] >= 1)).sum()
            yield (
                f"{where}: of {len(saw)} metrics that followed the dose, {less} say that less of it is left, and "
                f"{unsure} cannot tell; in the median they say {saw['left'].median():.0%}."
            )
