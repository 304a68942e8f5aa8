"""Two levels of chance: which texts were judged, and which seeds were trained. Both are drawn, and kept apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tiltmeter.stats.design import Design, Floats


@dataclass(frozen=True)
class TwoLevels:
    """A measure on the texts themselves (one value for each seed), and on draws of texts: seeds × draws."""

    values: Floats
    texts: Floats

    @property
    def value(self) -> float:
        """The mean over seeds."""
        return float(self.values.mean())

    def both(self, rng: np.random.Generator) -> Floats:
        """Draw texts and seeds: for each draw of texts, the mean of as many seeds drawn again."""
        n_seeds, n_draws = self.texts.shape
        if n_seeds == 1:
            return np.asarray(self.texts[0], dtype=np.float64)
        weights = Design.independent(n_seeds).weights(n_draws, rng).T
        chosen = np.where(weights > 0, weights * self.texts, 0.0)
        return np.asarray(chosen.sum(axis=0) / n_seeds, dtype=np.float64)

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
