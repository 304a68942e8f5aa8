"""Arrays of metrics × doses × seeds from the stored readings, with the unit of each metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from readings import KINDS, PRIMARY

Floats = NDArray[np.float64]
Frame = pd.DataFrame
WHOLE, ALL = (-1.0, 0.0, 1.0), (-1.0, -0.5, 0.0, 0.5, 1.0)
DOMAINS = ("gender", "race", "religion")
TAUGHT = "taught-words", "taught-natural"
WITHOUT_PAIRS = {"plumb-slots": ("slots", "stereotype_gap"), "seat": ("mean", "effect_size"),
                 "bold": ("sentiment/vader", "sentiment_gap"),
                 "plumb-prompts": ("sentiment/vader", "sentiment_gap")}  # fmt: skip
NAMES = ("benchmark", "scorer", "measure")


@dataclass(frozen=True)
class Panel:
    """Readings of some metrics on the models of one corpus, base model and dosed domain.

    Attributes:
        metrics: One row each: benchmark, scorer, measure, number of items, seeds.
        values: Metrics × doses × seeds, in the metrics' own units; NaN where a seed lacks a dose.
        units: Metrics × seeds: what a standardised reading is divided by.
    """

    corpus: str
    base: str
    domain: str
    metrics: Frame
    values: Floats
    units: Floats
    doses: Floats
    seeds: tuple[int, ...]

    @property
    def standardised(self) -> Floats:
        """Readings in units."""
        return self.values / self.units[:, None, :]

    def only(self, keep: Sequence[bool] | NDArray[np.bool_]) -> Panel:
        """Some of the metrics, and the seeds that one of them has."""
        keep = np.asarray(keep, dtype=bool)
        values = self.values[keep]
        seeds = np.isfinite(values).all(1).any(0) if keep.any() else np.zeros(len(self.seeds), dtype=bool)
        own = tuple(np.array(self.seeds)[seeds].tolist())
        metrics = self.metrics[keep].reset_index(drop=True)
        return Panel(
            self.corpus, self.base, self.domain, metrics, values[:, :, seeds], self.units[keep][:, seeds], self.doses, own
        )


def panel(
    readings: Frame, corpus: str, base: str, domain: str, doses: Sequence[float] = WHOLE, method: str = "dose"
) -> Panel:
    """Gather all metrics about a domain from the models of its doses. A seed without one of the doses is NaN."""
    of_base = readings[(readings["corpus"] == corpus) & (readings["base"] == base) & (readings["domain"] == domain)]
    treated = of_base[of_base["method"] == method]
    own = treated[treated["domain_dosed"].isin([domain, "neutral"]) & treated["dose"].isin(list(doses))]
    wide = own.pivot(index=list(NAMES), columns=["dose", "seed"], values="value")
    seeds = sorted({seed for _, seed in wide.columns})
    columns = pd.MultiIndex.from_product([sorted(doses), seeds])
    values = wide.reindex(columns=columns).to_numpy(dtype=float).reshape(len(wide), len(doses), len(seeds))
    lacks = ~np.isfinite(values).all(1)
    values = np.where(lacks[:, None, :], np.nan, values)
    kept = ~lacks.all(1)
    metrics = wide.index.to_frame(index=False)[kept].reset_index(drop=True)
    first = own.drop_duplicates(list(NAMES)).set_index(list(NAMES))["count"]
    n = [int(first[tuple(row)]) for row in metrics.itertuples(index=False)]
    metrics = metrics.assign(n=n, seeds=(~lacks).sum(1)[kept])
    units = _units(of_base[of_base["method"] == "dose"], metrics, domain, seeds)
    return Panel(corpus, base, domain, metrics, values[kept], units, np.array(sorted(doses)), tuple(seeds)).only(
        np.ones(len(metrics), dtype=bool)
    )


def _units(of_base: Frame, metrics: Frame, domain: str, seeds: Sequence[int]) -> Floats:
    """Standard deviation over items in each seed's neutral model; without pairs, over seeds of models without this dose."""
    units = np.full((len(metrics), len(seeds)), np.nan)
    for number, (benchmark, scorer, measure) in enumerate(metrics[list(NAMES)].itertuples(index=False)):
        own = of_base[(of_base["benchmark"] == benchmark) & (of_base["scorer"] == scorer) & (of_base["measure"] == measure)]
        if measure in ("mean_preference", "bias_score", "ss"):
            neutral = own[own["domain_dosed"] == "neutral"].set_index("seed")["std"].reindex(seeds)
            units[number] = neutral.to_numpy(dtype=float) if measure == "mean_preference" else 1.0
        else:
            undosed = own[own["domain_dosed"] != domain].groupby(["domain_dosed", "dose"])["value"].var()
            units[number] = np.sqrt(undosed.mean())
    return units


def primary(panel: Panel) -> NDArray[np.bool_]:
    """Which metrics the plan calls primary (the taught pairs are none)."""
    scorers = PRIMARY[KINDS[panel.base]]
    return np.array([
        WITHOUT_PAIRS.get(benchmark) == (scorer, measure)
        or (measure == "mean_preference" and scorers.get(benchmark) == scorer and benchmark not in TAUGHT)
        for benchmark, scorer, measure in panel.metrics[list(NAMES)].itertuples(index=False)
    ], dtype=bool)  # fmt: skip


def taught(panel: Panel, scorer: str, measure: str = "mean_preference") -> NDArray[np.bool_]:
    """The taught pairs by the same scorer; by the usual one where they have no scores by it."""
    rows = panel.metrics
    name = "taught-natural" if "taught-natural" in set(rows["benchmark"]) else "taught-words"
    own = (rows["benchmark"] == name) & (rows["measure"] == measure)
    wanted = own & (rows["scorer"] == scorer)
    usual = own & (rows["scorer"] == PRIMARY[KINDS[panel.base]]["taught-words"])
    return np.asarray(wanted if wanted.any() else usual)
