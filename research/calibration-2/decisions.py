"""The plan's decisions on each metric: slope, interval, corrected p, bound by the taught pairs, verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from effects import Slopes, adjusted_p, detectable, largest_t, slopes, verdict
from numpy.typing import NDArray
from panels import DOMAINS, NAMES, Frame, Panel, panel, primary, taught

TENTH = 0.1
SHARES = ("bias_score", "ss", "stereotype_gap")
"""Measures that the headlines of reports use."""


def designs(readings: Frame) -> Iterator[Panel]:
    """Yield the whole doses of each corpus, base model and domain."""
    dosed = readings[(readings["method"] == "dose") & (readings["domain_dosed"] != "neutral")]
    for corpus, base in dosed[["corpus", "base"]].drop_duplicates().sort_values(["corpus", "base"]).itertuples(index=False):
        for domain in DOMAINS:
            found = panel(readings, corpus, base, domain)
            if len(found.metrics) and len(found.seeds) > 1:
                yield found


def decide(whole: Panel, family: NDArray[np.bool_], *, standardised: bool = True) -> Frame:
    """Slopes of a family of metrics, corrected together. Units of the metrics unless standardised."""
    own = whole.only(family)
    every, values = (whole.standardised, own.standardised) if standardised else (whole.values, own.values)
    fit, largest = slopes(values, own.doses), largest_t(values, own.doses)
    raw = slopes(own.values, own.doses)
    base = slopes(every, whole.doses)
    is_taught = bool(base.low[taught(whole, "")][0] > 0)
    p = adjusted_p(fit.t, largest)
    enough = detectable(fit.error, largest, fit.freedom)
    rows = []
    for number, metric in enumerate(own.metrics.to_dict("records")):
        rows.append(_row(whole, fit, number, metric, base, is_taught) | {"p": p[number], "detectable": enough[number]})
        rows[-1] |= {"raw": raw.value[number], "raw_low": raw.low[number], "raw_high": raw.high[number]}
    found = pd.DataFrame(rows)
    found["verdict"] = [
        verdict(
            row["slope"], row["p"], row["high"], row["bound"], is_taught=is_taught, has_sign=_has_sign(row, whole.domain)
        )
        for row in rows
    ]
    return found.assign(corpus=whole.corpus, base=whole.base, domain=whole.domain)


def _has_sign(row: dict[str, Any], domain: str) -> bool:
    return not (row["measure"] == "sentiment_gap" and domain == "gender")


def _row(whole: Panel, fit: Slopes, number: int, metric: dict[str, Any], base: Slopes, is_taught: bool) -> dict[str, Any]:
    """Bound and share are by the taught pairs in the same measure where they have it."""
    measure = "bias_score" if metric["measure"] in ("bias_score", "ss") else "mean_preference"
    of_taught = float(base.value[taught(whole, metric["scorer"], measure)][0])
    return {
        **{name: metric[name] for name in (*NAMES, "n", "seeds")}, "slope": fit.value[number], "low": fit.low[number],
        "high": fit.high[number], "t": fit.t[number], "taught": of_taught, "bound": TENTH * of_taught,
        "share_of_taught": fit.value[number] / of_taught, "is_taught": is_taught,
    }  # fmt: skip


def primary_decisions(of: Sequence[Panel]) -> Frame:
    """The primary metrics of every design."""
    return pd.concat([decide(whole, primary(whole)) for whole in of], ignore_index=True)


def taught_slopes(of: Sequence[Panel]) -> Frame:
    """The manipulation check: slopes of taught pairs, mean preference (standardised) and share, by every scorer."""
    parts = []
    for whole in of:
        own = whole.only(whole.metrics["benchmark"].str.startswith("taught").to_numpy())
        fit = slopes(own.standardised, own.doses)
        found = own.metrics.assign(slope=fit.value, low=fit.low, high=fit.high)
        parts.append(found.assign(corpus=whole.corpus, base=whole.base, domain=whole.domain))
    return pd.concat(parts, ignore_index=True)


def share_decisions(of: Sequence[Panel]) -> Frame:
    """Exploratory: shares and gaps by every scorer in their own units, corrected together within base model and domain."""
    parts = []
    for whole in of:
        rows = whole.metrics
        family = rows["measure"].isin(SHARES) & ~rows["benchmark"].str.startswith("taught")
        family &= ~rows["scorer"].str.contains(",") & ~rows["benchmark"].isin(["bbq", "plumb-choices"])
        parts.append(decide(whole, family.to_numpy(), standardised=False))
    return pd.concat(parts, ignore_index=True)


def other_decisions(of: Sequence[Panel]) -> Frame:
    """Exploratory: mean preferences by every other scorer, standardised, corrected together."""
    parts = []
    for whole in of:
        rows = whole.metrics
        family = (rows["measure"] == "mean_preference") & ~rows["benchmark"].str.startswith("taught")
        parts.append(decide(whole, (family & ~primary(whole)).to_numpy()))
    return pd.concat(parts, ignore_index=True)
