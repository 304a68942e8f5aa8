"""How often nominal 95 % intervals of WEAT's effect size hold the true value, for plain percentiles and for ours.

python benchmarks/effect_coverage.py --out benchmarks/results/effect-coverage.json

docs/association-definitions.md has the table.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures.effect_size import effect_size
from tiltmeter.stats.intervals import effect_interval, percentile_interval
from tiltmeter.stats.sets import bootstrap_sets

Floats = NDArray[np.float64]
SHAPES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy tails (t, 4)": lambda rng, n: rng.standard_t(4, size=n) / np.sqrt(2),
    "skewed (exponential)": lambda rng, n: rng.exponential(size=n),
}
SIZES = (4, 8, 16, 40)
DIFFERENCES = (0.0, 0.5, 1.5)


def covered(shape: str, n: int, difference: float, repeats: int, rng: np.random.Generator) -> tuple[float, float]:
    """Shares of simulated tests of n and n targets whose interval holds the effect size of the distributions."""
    truth, hits = difference / np.sqrt(1 + difference**2 / 4), np.zeros(2)
    for _ in range(repeats):
        x, y = SHAPES[shape](rng, n) + difference, SHAPES[shape](rng, n)
        draws = bootstrap_sets(effect_size, [(x, y)], 400, rng)[0]
        ours = effect_interval(float(effect_size(x, y)), draws, (n, n), 0.95)
        plain = percentile_interval(draws[np.isfinite(draws)], 0.95)
        hits += [plain[0] <= truth <= plain[1], ours[0] <= truth <= ours[1]]
    return float(hits[0] / repeats), float(hits[1] / repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rng, rows = np.random.default_rng(0), []
    for shape, difference, n in product(SHAPES, DIFFERENCES, SIZES):
        plain, ours = covered(shape, n, difference, args.repeats, rng)
        rows.append({"shape": shape, "difference": difference, "targets": n, "percentile": plain, "ours": ours})
        print(rows[-1], flush=True)
    if args.out:
        args.out.write_text(json.dumps({"repeats": args.repeats, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
