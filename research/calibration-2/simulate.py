"""The analysis on simulated readings of known truth: python research/calibration-2/simulate.py writes data/simulated.json.

Metrics share the noise of a model (correlation 0.5), as metrics that read the same models do; five seeds, three doses.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from agreement import correlation_interval, intraclass, smallest_correlation, within_seed_correlation
from curves import isotonic
from debiasing import difference_of_left
from effects import adjusted_p, detectable, largest_t, slopes
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DOSES = np.array([-1.0, 0.0, 1.0])
METRICS, SEEDS, SHARED = 10, 5, 0.5


def readings(random: np.random.Generator, true: Floats, noise: float = 1.0, doses: Floats = DOSES) -> Floats:
    """Slopes `true`, a level for each seed, and noise that the metrics share in part."""
    shape = len(true), len(doses), SEEDS
    shared = random.normal(size=shape[1:])
    own = np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * random.normal(size=shape)
    return true[:, None, None] * doses[:, None] + random.normal(size=(len(true), 1, SEEDS)) + noise * own


def families(repeats: int, seed: int = 1) -> dict[str, float]:
    """False alarms of a family of ten without effect; power, coverage and false alarms with two true slopes."""
    random = np.random.default_rng(seed)
    none, false, covered, found, recovered, planned = 0, 0, 0, 0, 0.0, 0
    some = np.zeros(METRICS)
    for _ in range(repeats):
        data = readings(random, np.zeros(METRICS))
        none += _detected(data).any()
        # a slope that the corrected test should detect with 80 % power
        some[:2] = float(detectable(np.array([1 / np.sqrt(10)]), largest_t(data, DOSES), np.array([9.0]))[0])
        data = readings(random, some)
        fit, hits = slopes(data, DOSES), _detected(data)
        false += hits[2:].any()
        found += int(hits[:2].sum())
        recovered += float((fit.value[:2] / some[:2]).sum())
        covered += int(((fit.low <= some) & (some <= fit.high)).sum())
        planned += 2
    return {
        "false alarms, no effect": none / repeats,
        "false alarms, two true": false / repeats,
        "power planned 80 %": found / planned,
        "coverage of slopes": covered / repeats / METRICS,
        "recovered": recovered / planned,
    }


def _detected(data: Floats) -> NDArray[np.bool_]:
    return adjusted_p(slopes(data, DOSES).t, largest_t(data, DOSES)) < 0.05


def agreement(repeats: int, seed: int = 2, true: float = 0.6) -> dict[str, float]:
    """ICC of twenty metrics and five seeds, with coverage of its interval; correlations over five doses with theirs."""
    random = np.random.default_rng(seed)
    found, covered, bootstrap, fisher, power = [], 0, 0, 0, 0
    cut = smallest_correlation(3, SEEDS)
    for _ in range(repeats):
        targets = np.sqrt(true) * random.normal(size=(20, 1))
        one = intraclass(targets + np.sqrt(1 - true) * random.normal(size=(20, SEEDS)))
        found.append(one.value)
        covered += one.low <= true <= one.high
        x, y = _pair(random, true)
        both = within_seed_correlation(x, y, 500)
        bootstrap += both.low <= true <= both.high
        low, high = correlation_interval(both.value, 3, SEEDS)
        fisher += low <= true <= high
        low, _ = correlation_interval(within_seed_correlation(*_pair(random, cut), 2).value, 3, SEEDS)
        power += low > 0
    return {
        "ICC, true 0.6": float(np.mean(found)),
        "coverage of ICC": covered / repeats,
        "coverage, seeds resampled": bootstrap / repeats,
        "coverage, Fisher": fisher / repeats,
        "power of the smallest correlation": power / repeats,
    }


def _pair(random: np.random.Generator, true: float) -> tuple[Floats, Floats]:
    shape = 3, SEEDS
    x, level = random.normal(size=shape), 3 * random.normal(size=SEEDS)
    return x + level, true * x + np.sqrt(1 - true**2) * random.normal(size=shape) - level


def others(repeats: int, seed: int = 3) -> dict[str, float]:
    """Isotonic fits of a step; equivalence of two methods that leave 40 %, and of 40 against 60 %."""
    random = np.random.default_rng(seed)
    doses = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    truth = np.array([-1.0, -1.0, 0.0, 0.2, 1.0])
    errors, equal, more, wrong = [], 0, 0, 0
    for _ in range(repeats):
        values = truth[:, None] + 0.3 * random.normal(size=(5, SEEDS))
        errors.append(np.sqrt(((isotonic(doses, values.mean(1)) - truth) ** 2).mean()))
        before = 1 + 0.05 * random.normal(size=SEEDS)
        after = {name: left + 0.05 * random.normal(size=SEEDS) for name, left in (("a", 0.4), ("b", 0.4), ("c", 0.55))}
        equal += difference_of_left(before, after["a"], after["b"]).verdict == "no more"
        more += difference_of_left(before, after["a"], after["c"]).verdict == "more"
        wrong += difference_of_left(before, after["a"], 0.5 + 0.05 * random.normal(size=SEEDS)).verdict == "no more"
    return {
        "error of isotonic fits": float(np.mean(errors)),
        "equal: no more": equal / repeats,
        "15 points apart: more": more / repeats,
        "at the margin: no more": wrong / repeats,
    }


if __name__ == "__main__":
    results = {"families": families(1000), "agreement": agreement(1000), "others": others(1000)}
    place = Path(__file__).parent / "data" / "simulated.json"
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(place.read_text("utf-8"))
