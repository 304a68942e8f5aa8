"""How well the study knows the reliability of domain scores: variances over groups whose scores have noise.

    python benchmarks/reliability_of_variances.py --out benchmarks/results/reliability-of-variances.json

Simulated models with groups that differ (by a spread of `size` times the
noise, more in some models than in others), the median reliability by errors that are known, by errors read off resamples,
and by the latter without the noise that resampling adds (`noise_once`). Also `clear_r` of two such scores.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.stats.attenuation import clear, noise_once, reliability
from tiltmeter.stats.correlations import interval, pearson
from tiltmeter.stats.intervals import bounded_interval

Floats = NDArray[np.float64]
MODELS, RUNS, RESAMPLES = 10, 400, 400
WIDE = 2 * 1.959964


def read_off(groups: Floats, rng: np.random.Generator) -> Floats:
    """Standard errors of variances (a row of groups per model) as the study reads them off intervals."""
    again = groups[:, :, None] + rng.standard_normal((*groups.shape, RESAMPLES))
    edges = [
        bounded_interval(float(value), draws, 0.95, (0.0, np.inf))
        for value, draws in zip(groups.var(1, ddof=1), again.var(1, ddof=1), strict=True)
    ]
    return np.array([(high - low) / WIDE for low, high in edges])


def reliabilities(k: int, size: float, rng: np.random.Generator) -> dict[str, float]:
    """One row: the truth, and medians by errors that are known, as the study has them, and read off."""
    found = []
    for _ in range(RUNS):
        truth = size * np.exp(0.5 * rng.standard_normal((MODELS, 1))) * rng.standard_normal((MODELS, k))
        seen = truth + rng.standard_normal((MODELS, k))
        value, error, true = seen.var(1, ddof=1), read_off(seen, rng), truth.var(1, ddof=1)
        known, once = np.sqrt((2 + 4 * true) / (k - 1)), noise_once(value, error, np.full(MODELS, float(k)))
        shares = [reliability(value, one) for one in (known, once, error)]
        found.append([*shares, true.var(ddof=1), value.var(ddof=1)])
    table = np.array(found)
    true_share = table[:, 3].mean() / table[:, 4].mean()
    known, once, twice = np.median(table[:, :3], axis=0)
    row = {"groups": k, "size": size, "true": true_share, "known": known, "noise_once": once, "noise_twice": twice}
    print(row, flush=True)
    return {name: round(float(number), 4) for name, number in row.items()}


def correlations(k: int, size: float, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Two rows: r of the true scores and `clear_r`, where it is given."""
    found = []
    for _ in range(RUNS):
        level = rng.standard_normal((2, MODELS))
        level[1] = 0.8 * level[0] + 0.6 * level[1]
        true = size**2 * np.exp(1.2 * level)
        profile = rng.standard_normal((2, 1, k))
        profile = (profile - profile.mean(-1, keepdims=True)) / profile.std(-1, ddof=1, keepdims=True)
        seen = np.sqrt(true)[:, :, None] * profile + rng.standard_normal((2, MODELS, k))
        x, y = seen.var(-1, ddof=1)
        plain = read_off(seen[0], rng), read_off(seen[1], rng)
        once = tuple(noise_once(v, e, np.full(MODELS, float(k))) for v, e in zip((x, y), plain, strict=True))
        edges = interval(x, y, 200, 0.95, rng)
        given = [clear(x, y, errors, edges, 0.95, rng).r for errors in ((once[0], once[1]), plain)]
        found.append([float(pearson(*true)), *given])
    table = np.array(found)
    rows = []
    for name, column in (("noise_once", 1), ("noise_twice", 2)):
        there = np.isfinite(table[:, column])
        shares = {"given": there.mean(), "clear_r": table[there, column].mean(), "true_r": table[there, 0].mean()}
        rows.append({"groups": k, "size": size, "errors": name} | {key: round(float(n), 4) for key, n in shares.items()})
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    out = parser.parse_args().out
    random = np.random.default_rng(1)
    sizes = {2: (0.0, 1.0, 1.5, 2.5), 4: (0.0, 1.0, 1.5, 2.5), 7: (0.0, 0.7, 1.0, 1.5)}
    found = {
        "reliabilities": [reliabilities(groups, size, random) for groups in sizes for size in sizes[groups]],
        "correlations": [row for size in (1.0, 2.5) for row in correlations(4, size, random)],
    }
    if out:
        out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
