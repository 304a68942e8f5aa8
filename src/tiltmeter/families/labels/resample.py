"""Two levels of chance: which texts were judged, and which seeds were trained. Both are drawn, and told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tiltmeter.families.labels.estimands import Question
from tiltmeter.families.labels.facts import Facts, Floats, Ints
from tiltmeter.stats.resampling import generator
from tiltmeter.stats.settings import MINIMUM_RESAMPLES, Settings

CELLS = 4_000_000
"""Weights held at once; a question about more texts than that allows gets fewer resamples, and says so."""


@dataclass(frozen=True)
class Drawn:
    """A measure on the texts themselves (one value for each seed), and on draws of texts: seeds × draws."""

    values: Floats
    texts: Floats

    @property
    def value(self) -> float:
        """The mean over seeds."""
        return float(self.values.mean())

    def both(self, rng: np.random.Generator) -> Floats:
        """Draws of texts and of seeds: for each draw of texts, the mean of as many seeds drawn again."""
        n_seeds, n_draws = self.texts.shape
        chosen = rng.integers(0, n_seeds, (n_seeds, n_draws))
        return np.asarray(np.take_along_axis(self.texts, chosen, axis=0).mean(axis=0), dtype=np.float64)

    @property
    def seeds_share(self) -> float:
        """Which part of the variance is that of the seeds; missing with one seed."""
        if len(self.values) < 2:
            return float("nan")
        defined = self.texts.mean(axis=0)
        defined = defined[~np.isnan(defined)]
        of_seeds = float(self.values.var(ddof=1)) / len(self.values)
        of_texts = float(defined.var(ddof=1)) if len(defined) > 1 else float("nan")
        return of_seeds / (of_seeds + of_texts) if of_seeds + of_texts > 0 else 0.0


def counts_of(facts: Facts, settings: Settings) -> Iterator[Floats]:
    """How often each cluster of texts is in each draw, some draws at a time; the same for all models of a benchmark."""
    rng = generator(settings.seed, "labels", facts.benchmark)
    n = int(facts.clusters.max()) + 1 if len(facts.clusters) else 0
    step = max(1, CELLS // max(1, n))
    for first in range(0, settings.resamples if n else 0, step):
        rows = min(step, settings.resamples - first)
        index = rng.integers(0, n, (rows, n)) + n * np.arange(rows)[:, None]
        yield np.bincount(index.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def drawn(question: Question, facts: Facts, settings: Settings, counts: Sequence[Floats]) -> Drawn:
    """One question on the texts and on draws of them."""
    seeds = len(next(iter(question.varying.values())))
    clusters, values, texts = facts.clusters[question.rows], [], []
    wanted = _affordable(question, settings)
    for seed in range(seeds):
        columns = dict(question.fixed) | {name: of_seed[seed] for name, of_seed in question.varying.items()}
        values.append(float(question.measure.function(**columns)))
        merged, codes, times = _merged(columns, clusters)
        texts.append(np.concatenate([
            np.atleast_1d(question.measure.function(**merged, weight=part[:, codes] * times))
            for part in _parts(counts, len(codes), wanted)
        ]))  # fmt: skip
    return Drawn(np.array(values), np.stack(texts))


def _affordable(question: Question, settings: Settings) -> int:
    """Areas are not sums, so each draw costs as much as the texts; a large sample needs fewer draws."""
    if "score" not in question.varying:
        return settings.resamples
    cost = len(question.rows) * (3 * len(question.fixed["members"]) if "members" in question.fixed else 1)
    return int(np.clip(10 * CELLS // max(1, cost), MINIMUM_RESAMPLES, settings.resamples))


def _parts(counts: Sequence[Floats], width: int, wanted: int) -> Iterator[Floats]:
    """The draws in parts that fit into memory once they are spread over texts."""
    step, left = max(1, CELLS // max(1, width)), wanted
    for part in counts:
        for first in range(0, len(part), step):
            some = part[first : first + min(step, left)]
            left -= len(some)
            if len(some):
                yield some
        if left <= 0:
            return


def _merged(columns: dict[str, Floats], clusters: Ints) -> tuple[dict[str, Floats], Ints, Floats]:
    """Texts of one cluster that are alike in everything that is read are one, with a weight: the sums are the same."""
    if "score" in columns or len(clusters) == 0:
        return columns, clusters, np.ones(len(clusters))
    key = np.vstack([clusters[None], *(np.atleast_2d(values).astype(np.int64) for values in columns.values())])
    _, first, times = np.unique(key, axis=1, return_index=True, return_counts=True)
    return {name: values[..., first] for name, values in columns.items()}, clusters[first], times.astype(np.float64)


def dealt(question: Question, facts: Facts, settings: Settings, measure: Callable[..., Floats]) -> Floats:
    """A measure when who is called toxic is dealt again at random among texts of one label (and one cluster).

    Every seed is dealt alike and measured on its own, as it is on the texts themselves.
    """
    rng = generator(settings.seed, "dealt", facts.benchmark, question.by)
    strata = question.fixed["truth"].astype(np.int64)
    if facts.clustered:
        strata = 2 * facts.clusters[question.rows] + strata
    base, found = np.argsort(strata, kind="stable"), []
    called = question.varying["called"]
    step = max(1, CELLS // max(1, called.shape[1]))
    for first in range(0, settings.resamples, step):
        rows = min(step, settings.resamples - first)
        order = np.argsort(strata + rng.random((rows, len(strata))), axis=1)
        again = np.empty((rows, len(strata)))
        of_seeds = []
        for seed in called:
            again[:, base] = seed[order]
            of_seeds.append(np.atleast_1d(measure(**dict(question.fixed) | {"called": again})))
        found.append(np.mean(of_seeds, axis=0))
    return np.concatenate(found)
