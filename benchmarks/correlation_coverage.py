"""Correlation over few models against known answers: how often intervals cover r, how often p errs, what noise hides.

    python benchmarks/correlation_coverage.py --simulations 1000 --out benchmarks/results/correlation-coverage.json

Models are drawn from a normal distribution of two metrics with a known correlation, or from a skewed (log-normal) one, since
domain scores are variances. For disattenuation the metrics are seen with errors of known size, as domain scores are.
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
from tiltmeter.stats.correlations import correlate, disattenuated, pearson

MODELS = (10, 19, 40)
TRUTHS = (0.0, 0.8)
NOISE = ((0.0, 0.0), (0.3, 0.3), (0.5, 0.5), (0.7, 0.5))
"""Standard errors of the two metrics, whose standard deviation over models is 1."""
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


def noise(truth: float, n: int, errors: tuple[float, float], simulations: int, seed: int) -> dict[str, Any]:
    """r as it is seen through errors of measurement, and as disattenuation gives it back."""
    rng = np.random.default_rng([seed, n, int(100 * truth), *(int(100 * error) for error in errors)])
    plain, seen, clear = [], [], []
    for _ in range(simulations):
        x, y = drawn(truth, n, rng)
        plain.append(float(pearson(x, y)))
        u, v = x + errors[0] * rng.standard_normal(n), y + errors[1] * rng.standard_normal(n)
        seen.append(float(pearson(u, v)))
        clear.append(disattenuated(seen[-1], u, v, (np.full(n, errors[0]), np.full(n, errors[1])))[0])
    known = np.array(clear)[np.isfinite(clear)]
    return {
        "models": n, "r": truth, "errors": errors, "simulations": simulations,
        "median_without_noise": round(float(np.median(plain)), 4), "median_seen": round(float(np.median(seen)), 4),
        "median_clear": round(float(np.median(known)), 4), "mean_clear": round(float(known.mean()), 4),
        "bias_of_median": round(float(np.median(known) - np.median(plain)), 4),
        "standard_error": round(float(1.2533 * known.std(ddof=1) / np.sqrt(len(known))), 4),
        "none_computed": round(100 * (1 - len(known) / simulations), 2),
    }  # fmt: skip


def main() -> None:
    """Everything; what is finished is written at once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    began = time.perf_counter()
    results: dict[str, Any] = {"machine": machine(1), "resamples": RESAMPLES, "coverage": [], "disattenuation": []}
    for n in MODELS:
        for truth in TRUTHS:
            for skewed in (False, True):
                asked = (arguments.simulations, arguments.confidence, arguments.seed)
                results["coverage"].append(coverage(truth, n, *asked, skewed))
                print(json.dumps(results["coverage"][-1]), flush=True)
            for errors in NOISE:
                found = noise(truth, n, errors, 4 * arguments.simulations, arguments.seed)
                results["disattenuation"].append(found)
            results["seconds"] = round(time.perf_counter() - began, 1)
            arguments.out.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
