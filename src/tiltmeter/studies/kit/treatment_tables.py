"""Remaining share of a dose after debiasing, in the taught sentences and according to each metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiltmeter.builders.doses import ARMS
from tiltmeter.display import Statement, percent_text
from tiltmeter.stats.doses import Found, alike, noise, ratio, slopes
from tiltmeter.stats.significance import holm
from tiltmeter.studies.kit.calibration_tables import STILL, WORDS, about, ends, noted, own_metrics
from tiltmeter.studies.kit.dosed_runs import TAUGHT_NAMES as TAUGHT
from tiltmeter.studies.kit.dosed_runs import Readings, is_share

if TYPE_CHECKING:
    import pandas as pd

UNCLEAR = "no clear dose before"
LEVEL = 0.05


def treated(readings: Readings, confidence: float) -> pd.DataFrame:
    """Share of a dose that a method leaves: the change per dose before and after it, metric by metric, and their ratio."""
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
    before, values = readings.values[own][:, same], readings.values[own][:, after]
    first, second = slopes(before, doses, known, confidence), slopes(values, doses, noise(values), confidence)
    left, low, high = _left(before, values, doses, confidence)
    level = values[:, list(doses).index(0.0)].mean(1) - readings.values[own][:, readings.neutral(WORDS)].mean(1)
    table = about(readings, own, domain).assign(method=arm, **ends("before", first), **ends("after", second))
    table = table.assign(p_before=_corrected(table["benchmark"], first.p), left=left, left_low=low, left_high=high)
    table = table.assign(at_zero_moved=level)
    return table.assign(note=_notes(first, left, low))


def _left(
    before: NDArray[np.float64], after: NDArray[np.float64], doses: NDArray[np.float64], confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Estimate the remaining share, paired: a model and its debiased copy share errors, which cancel where much remains.

    So both changes have the noise of these cells alone, and not that of all doses, by which their pairs are not known.
    """
    noises = noise(before), noise(after)
    first, second = (slopes(*one, confidence) for one in zip((before, after), (doses, doses), noises, strict=True))
    return ratio(second, first, alike(*noises))


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
    """Yield the remaining dose for each method: in the taught sentences, and by metrics that followed the dose.

    Those are chosen after Holm's correction: a metric that seemed to follow it by chance would seem to be cured by chance.
    """
    for (model, domain, method), rows in table.groupby(["model", "domain", "method"], sort=False):
        where = f"{model}, {domain}, {method}"
        of_taught = rows["benchmark"].isin(TAUGHT)
        shares = rows[of_taught & rows["measure"].map(is_share).astype(bool)]
        if len(shares):
            yield _of_taught(where, shares.loc[shares["before"].idxmax()])
        saw = rows[~of_taught & (rows["p_before"] < LEVEL)]
        if len(saw):
            yield _of_metrics(where, saw)


def _of_taught(where: str, best: pd.Series) -> Statement:
    """With its interval, or why there is none: a share of nearly nothing may be any number."""
    moved = (
        f"a dose moved {percent_text(best['before'], 0, signed=True)} of the taught sentences before, and "
        f"{percent_text(best['after'], 0, signed=True)} after "
        f"(by {best['scorer']})."
    )
    if not best["p_before"] < LEVEL or np.isnan(best["left_low"]):
        return Statement(
            "{where}: the remaining share cannot be estimated, since the taught sentences were not clearly learned: {moved}",
            "not-learned", where=where, moved=moved,
        )  # fmt: skip
    left, low, high = (100 * best[name] for name in ("left", "left_low", "left_high"))
    return Statement(
        "{where}: it leaves {left:.0f} % [{low:.0f}, {high:.0f}] of what was taught: {moved}",
        "remaining-dose", where=where, left=left, low=low, high=high, moved=moved,
    )  # fmt: skip


def _of_metrics(where: str, saw: pd.DataFrame) -> Statement:
    """Every metric is counted once."""
    low, high = saw["left_low"], saw["left_high"]
    less, more, turned = ((high < 1) & (high >= 0)).sum(), (low > 1).sum(), (high < 0).sum()
    counts = f"{less} say that less of it is left" + (f", {more} that more is" if more else "")
    counts += f", {turned} that it is reversed" if turned else ""
    unsure = len(saw) - less - more - turned
    return Statement(
        "{where}: of {of} metrics that followed the dose, {counts}, and {unsure} cannot decide; "
        "their median is {median:.0f} %.",
        "metrics", where=where, of=len(saw), less=int(less), more=int(more), reversed=int(turned), unsure=int(unsure),
        counts=counts, median=100 * saw["left"].median(),
    )  # fmt: skip
