"""How often nominal 95 % intervals of KLS and JSS hold the true value, for plain percentiles and for ours.

python benchmarks/coverage.py          # the table of docs/intervals.md
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures.jss import jensen_shannon, jss
from tiltmeter.measures.kit.gaussian import kl
from tiltmeter.measures.kls import kls
from tiltmeter.stats.intervals import bounded_interval, percentile_interval

Floats = NDArray[np.float64]
CASES = [(0.0, 1.0), (0.1, 1.0), (0.1, 1.1), (0.3, 1.3), (0.5, 2.0)]  # difference of the means, ratio of the spreads
SIZES = (20, 60, 250)
CORRELATION = 0.9


def truth(mean: float, ratio: float) -> dict[str, float]:
    """KLS and JSS of the distributions themselves."""
    m, s, zero, one = (np.array(value) for value in (mean, ratio, 0.0, 1.0))
    forth, back = float(kl(m, one, zero, s)), float(kl(zero, s, m, one))
    similar = float(100 * (1 - jensen_shannon(m, one, zero, s)) / (1 + abs(1 - ratio)))
    return {"kls": 50.0 if forth + back < 1e-12 else 100 * max(forth, back) / (forth + back), "jss": similar}


def sample(mean: float, ratio: float, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Scores of n pairs whose two sentences have most in common."""
    shared, mine, yours = rng.normal(size=(3, n))
    own = np.sqrt(1 - CORRELATION)
    return mean + np.sqrt(CORRELATION) * shared + own * mine, ratio * (np.sqrt(CORRELATION) * shared + own * yours)


def covered(mean: float, ratio: float, n: int, repeats: int, rng: np.random.Generator) -> dict[str, float]:
    """Share of repeats in which each interval holds the truth."""
    measures: dict[str, tuple[Callable[..., Floats], tuple[float, float]]] = {
        "kls": (kls, (50, 100)),
        "jss": (jss, (0, 100)),
    }
    true = truth(mean, ratio)
    hits = {f"{name} {kind}": 0 for name in measures for kind in ("percentile", "ours")}
    for _ in range(repeats):
        stereo, anti = sample(mean, ratio, n, rng)
        index = rng.integers(0, n, (400, n))
        for name, (measure, limits) in measures.items():
            draws = measure(stereo[index], anti[index])
            plain = percentile_interval(draws, 0.95)
            ours = bounded_interval(float(measure(stereo, anti)), draws, 0.95, limits)
            hits[f"{name} percentile"] += plain[0] <= true[name] <= plain[1]
            hits[f"{name} ours"] += ours[0] <= true[name] <= ours[1]
    return {name: count / repeats for name, count in hits.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=500)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    print("| means differ by | ratio of σ | n | KLS: percentile | KLS: ours | JSS: percentile | JSS: ours |")
    print("|---|---|---|---|---|---|---|")
    for mean, ratio in CASES:
        for n in SIZES:
            shares = covered(mean, ratio, n, args.repeats, rng)
            print(
                f"| {mean} σ | {ratio} | {n} | " + " | ".join(f"{share:.2f}" for share in shares.values()) + " |", flush=True
            )


if __name__ == "__main__":
    main()
