"""How often a fair coin is called biased in each category of BBQ, and how often its interval leaves out 0.

python benchmarks/choices_coin.py --data FOLDER_WITH_bbq --out OUT [--simulations 1000] [--seed 0]

Two coins answer every question with one of the two people: one is thrown for each question, the other for each template, so
that all questions of a template are answered with the stereotype or all against it. Both are fair. A coin's answers to a
template are counts, so these are simulated; test, interval and design are those of `estimate`.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from tiltmeter import catalog
from tiltmeter.benchmarks import load_benchmark
from tiltmeter.benchmarks.kit.choices import AMBIGUOUS, DISAMBIGUATED
from tiltmeter.families.choices.outcomes import EXCHANGED
from tiltmeter.stats.design import Design
from tiltmeter.stats.measured import interval_of
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.totals import Totals

CONDITIONS = {"s_amb": (AMBIGUOUS, "amb"), "s_dis": (DISAMBIGUATED, "dis")}
SETTINGS = Settings(resamples=500)


def questions(items: list[Any], condition: str) -> np.ndarray[Any, Any]:
    """The number of questions with a stereotyped answer, by template."""
    of = (item for item in items if item.extra["condition"] == condition and item.extra["stereotyped"] is not None)
    return np.array(list(Counter(str(item.extra["template"]) for item in of).values()), dtype=np.int64)


def throw(n: np.ndarray[Any, Any], coin: str, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Stereotyped answers of each template."""
    return rng.binomial(n, 0.5) if coin == "question" else n * rng.integers(0, 2, len(n))


def answers(measure: str, n: np.ndarray[Any, Any], coin: str, rng: np.random.Generator) -> dict[str, Any]:
    """What a measure reads of one coin's answers, by template."""
    stereo, whole = throw(n, coin, rng).astype(np.float64), n.astype(np.float64)
    known = {"asked": whole, "right": np.zeros(len(n)), "stereo": stereo, "anti": whole - stereo}
    short = CONDITIONS[measure][1]
    return {name: known[name.removesuffix(f"_{short}")] for name in catalog.find("measures", measure).parameters}


def is_called_biased(measure: str, columns: dict[str, Any], design: Design, rng: np.random.Generator) -> bool:
    """Return whether the test of `estimate` is significant at 5 %."""
    entry = catalog.find("measures", measure)
    return Totals(entry, columns, design).p(EXCHANGED, rng, SETTINGS) < 0.05


def is_covered(measure: str, columns: dict[str, Any], design: Design, rng: np.random.Generator) -> bool:
    """Return whether the 95 % interval of `estimate` holds 0."""
    entry, weights = catalog.find("measures", measure), design.weights(SETTINGS.resamples, rng)
    draws = np.asarray(entry.function(**{name: values * weights for name, values in columns.items()}), dtype=np.float64)
    low, high, _ = interval_of(entry, design.n_clusters, float(entry.function(**columns)), draws, SETTINGS)
    return bool(low <= 0 <= high)


def design_of(n: np.ndarray[Any, Any]) -> Design:
    """Templates of one category."""
    return Design.of(np.arange(len(n)).astype(str), np.zeros(len(n), dtype=object))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    items = list(load_benchmark("bbq", data_dir=given.data).items)
    rows = []
    for category in dict.fromkeys(item.bias_type for item in items):
        ours = [item for item in items if item.bias_type == category]
        for measure, (condition, _) in CONDITIONS.items():
            n = questions(ours, condition)
            for coin in ("question", "template"):
                rng, design = np.random.default_rng([given.seed, len(rows)]), design_of(n)
                thrown = [answers(measure, n, coin, rng) for _ in range(given.simulations)]
                called, covered = (
                    float(np.mean([judge(measure, columns, design, rng) for columns in thrown]))
                    for judge in (is_called_biased, is_covered)
                )
                rows.append({"category": category, "measure": measure, "coin": coin, "templates": len(n),
                             "questions": int(n.sum()), "called_biased": called, "covered": covered})  # fmt: skip
                print(json.dumps(rows[-1]), flush=True)
        report = {"simulations": given.simulations, "seed": given.seed, "rows": rows}
        given.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
