"""Robustness: does the ranking of models stay the same on a part of the benchmark?

Figure 5 of Liu (2024), with the share of subsamples that keep the ranking beside the curves: a measure may turn out less
robust than the paper found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.catalog import Entry
from tiltmeter.errors import RunError, UsageError
from tiltmeter.families.pairs.evidence import PairEvidence, align
from tiltmeter.families.pairs.paired import Floats, Paired, check_measures, choose_measures
from tiltmeter.families.pairs.studies.kit.bias_types import check_types
from tiltmeter.families.pairs.studies.kit.robustness_report import drawings, sentences
from tiltmeter.stats.measured import neutral_of, stratum_of
from tiltmeter.stats.resampling import Sample, generator, statistic
from tiltmeter.stats.significance import exact_proportion_interval
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.options import MeasureNames, Rates, Repeats, Seed, check_sampling, subsamples

CITATION = "Liu (2024), Robust Evaluation Measures, AAAI, Figure 5."


@dataclass(frozen=True)
class Trial:
    """One measure of one score on one benchmark: values of the models on all items, and on subsamples (by rate)."""

    benchmark: str
    scorer: str
    measure: Entry
    models: Sequence[str]
    full: Floats
    drawn: dict[float, Floats]
    n: dict[float, int]

    def kept(self, rate: float) -> NDArray[np.bool_]:
        """Which subsamples rank the models as the full data do. Models that tie on the full data are ignored."""
        agree = [
            _same_side(self.drawn[rate][a] - self.drawn[rate][b], self.full[a] - self.full[b]) for a, b in self._pairs()
        ]
        return np.asarray(np.all(agree, axis=0), dtype=bool)

    def concordance(self, rate: float) -> float:
        """Kendall's τ with the full ranking, averaged over subsamples."""
        signs = [
            np.sign(self.drawn[rate][a] - self.drawn[rate][b]) * np.sign(self.full[a] - self.full[b])
            for a, b in self._pairs()
        ]
        return float(np.mean(signs))

    def mean_kept(self, rate: float) -> bool:
        """Return whether values averaged over subsamples rank the models as the full data do: the paper's criterion."""
        means = self.drawn[rate].mean(axis=1)
        return all(np.sign(means[a] - means[b]) == np.sign(self.full[a] - self.full[b]) for a, b in self._pairs())

    @property
    def name(self) -> str:
        """The name for messages."""
        return f"{self.measure.name} by {self.scorer} on {self.benchmark}"

    @property
    def tied(self) -> bool:
        """Return whether all models have the same value, so that there is no ranking."""
        return not self._pairs()

    def _pairs(self) -> list[tuple[int, int]]:
        return [(a, b) for a, b in combinations(range(len(self.full)), 2) if self.full[a] != self.full[b]]


def _same_side(moved: Floats, full: float) -> NDArray[np.bool_]:
    return np.asarray(np.sign(moved) == np.sign(full), dtype=bool)


def robustness(
    evidence: PairEvidence,
    *,
    measure: MeasureNames = None,
    rates: Rates = None,
    repeats: Repeats = 100,
    distance: Annotated[bool, "Rank models by their distance from neutral instead of by value."] = False,
    seed: Seed = 0,
) -> Finding:
    """Stratified subsamples (ceil(n·rate) items of each bias type, without replacement) and the ranking of models on each.

    The same subsamples serve all models, scores and measures. Reported: share of repeats with the full-data ranking, its
    Monte Carlo interval, Kendall's τ, mean ± sd of every model's value, and (`mean_kept`) whether these means are ranked
    like the full data, which is the paper's own criterion. Measures over targets are drawn within targets.
    """
    import pandas as pd

    chosen = check_sampling(repeats, rates)
    if len(evidence.models) < 2:
        raise UsageError(
            f"robustness needs at least 2 models to rank, and these runs have only {evidence.models[0]}.",
            code="too-few", study="robustness", least=2, models=list(evidence.models),
        )  # fmt: skip
    check_measures(evidence.pairs, measure)
    trials = list(_trials(evidence, measure, chosen, repeats, distance, seed))
    if not trials:
        raise UsageError(
            "robustness: no two models share a benchmark and a scorer. Masked and causal models have no scorer in common.",
            code="empty-selection", study="robustness", models=list(evidence.models),
        )  # fmt: skip
    tied = [trial.name for trial in trials if trial.tied]
    trials = [trial for trial in trials if not trial.tied]
    if not trials:
        raise RunError(
            f"robustness: the models cannot be ranked, because all have the same {tied[0]}.",
            code="undefined-result", study="robustness", measure=tied[0],
        )  # fmt: skip
    table = pd.DataFrame([row for trial in trials for row in _shares(trial)])
    values = pd.DataFrame([row for trial in trials for row in _values(trial)])
    kept = {(trial.benchmark, trial.scorer, trial.measure.name): [trial.kept(rate) for rate in chosen] for trial in trials}
    tables = {"robustness": table, "values": values}
    words = [
        *sentences(table, values, kept),
        *([f"Left out, because the value is the same for every model: {', '.join(tied)}."] if tied else []),
    ]
    return Finding("robustness", tables, drawings(table, values), tuple(words), {"rates": chosen})


def _trials(
    evidence: PairEvidence, names: Any, rates: Sequence[float], repeats: int, distance: bool, seed: int
) -> Iterator[Trial]:
    everything = evidence.chosen(evidence.scorers)
    for benchmark, scorer in dict.fromkeys((paired.benchmark, paired.scorer) for paired in everything):
        same = [paired for paired in everything if (paired.benchmark, paired.scorer) == (benchmark, scorer)]
        if len(same) < 2:
            continue
        for entry in choose_measures(same[0], names):
            if entry.spec.neutral is None and distance:
                continue
            yield _trial(same, entry, rates, repeats, distance, seed)


def _trial(pairs: Sequence[Paired], entry: Entry, rates: Sequence[float], repeats: int, distance: bool, seed: int) -> Trial:
    common = align(pairs, pairs[0].roles_of(entry))
    check_types("robustness", common, spread=entry.spec.weighted)
    samples = [paired.complete_for(entry)[0].sample(stratum_of(entry)) for paired in common]
    shift = neutral_of(entry) if distance else 0.0

    def value(values: Floats) -> Floats:
        return np.abs(values - shift) if distance else values

    full = np.array([float(value(statistic(entry, sample.columns, sample.parts))) for sample in samples])
    drawn, n = {}, {}
    for rate in rates:
        rng = generator(seed, "robustness", pairs[0].benchmark, stratum_of(entry), f"{rate:g}")
        index = subsamples(samples[0].stratum, rate, repeats, rng)
        drawn[rate] = np.array([value(_on(entry, sample, index)) for sample in samples])
        n[rate] = index.shape[1]
    return Trial(pairs[0].benchmark, pairs[0].scorer, entry, [paired.model for paired in pairs], full, drawn, n)


def _on(entry: Entry, sample: Sample, index: Any) -> Floats:
    """The measure on each subsample. All have the same number of items per stratum, so they share one row of codes."""
    return statistic(entry, sample.rows(entry.parameters, index), sample.parts[index[0]])


def _shares(trial: Trial) -> Iterator[dict[str, Any]]:
    for rate in trial.drawn:
        kept = trial.kept(rate)
        low, high = exact_proportion_interval(int(kept.sum()), len(kept), 0.95)
        yield {
            "benchmark": trial.benchmark, "scorer": trial.scorer, "measure": trial.measure.name, "rate": rate,
            "n": trial.n[rate], "models": len(trial.models), "repeats": len(kept), "kept": 100 * float(kept.mean()),
            "low": low, "high": high, "kendall_tau": trial.concordance(rate), "mean_kept": trial.mean_kept(rate),
        }  # fmt: skip


def _values(trial: Trial) -> Iterator[dict[str, Any]]:
    for rate, drawn in trial.drawn.items():
        for model, full, values in zip(trial.models, trial.full, drawn, strict=True):
            yield {
                "benchmark": trial.benchmark, "scorer": trial.scorer, "measure": trial.measure.name, "model": model,
                "rate": rate, "n": trial.n[rate], "full": float(full), "mean": float(values.mean()),
                "sd": float(values.std(ddof=1)),
            }  # fmt: skip
