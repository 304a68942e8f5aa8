"""Correlation over few models against known answers: how often intervals cover r, how often p errs, what noise hides.

    python benchmarks/correlation_coverage.py --simulations 1000 --out benchmarks/results/correlation-coverage.json

Models are drawn from a normal distribution of two metrics with a known correlation, or from a skewed (log-normal) one, since
domain scores are variances. For `clear_r` the metrics are seen with errors of known size, as domain scores are.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facts import machine
from tiltmeter.stats.attenuation import LEAST_SHARE, clear, reliability
from tiltmeter.stats.correlations import correlate, interval, pearson

MODELS = (10, 19, 40)
TRUTHS = (0.0, 0.8)
RELIABILITIES = ((1.0, 1.0), (0.95, 0.95), (0.8, 0.8), (0.65, 0.65), (0.5, 0.95), (0.5, 0.5), (0.3, 0.3))
"""The true shares of the two metrics' variances over models that are no error of measurement."""
RESAMPLES = 1000
SKEWED = 0.6
"""Standard deviation of the logarithm. The skewness is 2.3; a variance over two groups has 2.8, one over four 1.6."""


def drawn(
    truth: float, n: int, rng: np.random.Generator, skewed: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two metrics of n models. Skewed: exponentials of normal values, whose correlation gives the truth in closed form."""
    spread = SKEWED**2
    inner = np.log(1 + truth * np.expm1(spread)) / spread if skewed else truth
    a, b = rng.standard_normal((2, n))
    x, y = a, inner * a + np.sqrt(1 - inner**2) * b
    return (np.exp(SKEWED * x), np.exp(SKEWED * y)) if skewed else (x, y)


def coverage(truth: float, n: int, simulations: int, confidence: float, seed: int, skewed: bool) -> dict[str, Any]:
    """The share of intervals that hold the truth, and of p below .05."""
    rng = np.random.default_rng([seed, n, int(100 * truth), skewed])
    inside, below, above, found = 0, 0, 0, 0
    for number in range(simulations):
        one = correlate(*drawn(truth, n, rng, skewed), resamples=RESAMPLES, confidence=confidence, seed=number)
        inside += one.low <= truth <= one.high
        below, above = below + (one.high < truth), above + (one.low > truth)
        found += one.p < 0.05
    error = 100 * np.sqrt(confidence * (1 - confidence) / simulations)
    return {
        "models": n, "r": truth, "shape": "skewed" if skewed else "normal", "simulations": simulations,
        "nominal": 100 * confidence,
        "covered": round(100 * inside / simulations, 2), "standard_error": round(float(error), 2),
        "too_low": round(100 * below / simulations, 2), "too_high": round(100 * above / simulations, 2),
        "p_below_05": round(100 * found / simulations, 2),
    }  # fmt: skip


def noise(truth: float, n: int, shares: tuple[float, float], asked: tuple[int, float, int], skewed: bool) -> dict[str, Any]:
    """r as it is seen through errors of measurement; as Spearman's formula corrects it, whenever it can; as `clear` does."""
    simulations, confidence, seed = asked
    rng = np.random.default_rng([seed, n, int(100 * truth), skewed, *(int(100 * share) for share in shares)])
    spread = float(np.sqrt(np.expm1(SKEWED**2) * np.exp(SKEWED**2))) if skewed else 1.0
    errors = [np.full(n, spread * np.sqrt(1 / share - 1)) for share in shares]
    seen, plain, found, inside, below = [], [], [], 0, 0
    for _ in range(simulations):
        u, v = (z + error * rng.standard_normal(n) for z, error in zip(drawn(truth, n, rng, skewed), errors, strict=True))
        seen.append(float(pearson(u, v)))
        product = reliability(u, errors[0]) * reliability(v, errors[1])
        if min(reliability(u, errors[0]), reliability(v, errors[1])) > 0:
            plain.append(seen[-1] / np.sqrt(product))
        edges = interval(u, v, RESAMPLES, confidence, rng)
        one = clear(u, v, (errors[0], errors[1]), edges, confidence, rng)
        if np.isfinite(one.r):
            found.append(one.r)
            inside, below = inside + (one.low <= truth <= one.high), below + (one.high < truth)
    given = len(found)
    return {
        "models": n, "r": truth, "shape": "skewed" if skewed else "normal", "reliabilities": shares,
        "simulations": simulations, "seen": _mean(seen), "spearman": _mean(plain),
        "clear": _mean(found), "bias": round(_mean(found) - truth, 4) if given else None,
        "standard_error": round(float(np.std(found, ddof=1) / np.sqrt(given)), 4) if given > 1 else None,
        "above_1": round(100 * float(np.mean(np.abs(found) > 1)), 2) if given else None,
        "nominal": 100 * confidence, "covered": round(100 * inside / given, 2) if given else None,
        "too_low": round(100 * below / given, 2) if given else None,
        "not_given": round(100 * (1 - given / simulations), 2),
    }  # fmt: skip


def _mean(values: list[float]) -> float:
    return round(float(np.mean(values)), 4)


def main() -> None:
    """Everything; what is finished is written at once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    began = time.perf_counter()
    results: dict[str, Any] = {"machine": machine(1), "resamples": RESAMPLES, "least_share": LEAST_SHARE}
    results |= {"coverage": [], "disattenuation": []}
    for n in MODELS:
        for truth in TRUTHS:
            for skewed in (False, True):
                asked = (arguments.simulations, arguments.confidence, arguments.seed)
                results["coverage"].append(coverage(truth, n, *asked, skewed))
                print(json.dumps(results["coverage"][-1]), flush=True)
                asked = (4 * arguments.simulations, *asked[1:])
                for shares in RELIABILITIES:
                    results["disattenuation"].append(noise(truth, n, shares, asked, skewed))
                    print(json.dumps(results["disattenuation"][-1]), flush=True)
            results["seconds"] = round(time.perf_counter() - began, 1)
            arguments.out.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
