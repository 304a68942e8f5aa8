"""How often the release gate errs: simulated releases whose truth is known, with no breach and with one.

python benchmarks/gate_releases.py          # a table of docs/research-gate.md; writes benchmarks/results/gate-releases.json

Every release is a run of its own: items are drawn anew from a population in which the truth is exact. "At the limit" is
the hardest case without a breach. The breach is as large as the gate itself says it notices 80 times in 100.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiltmeter import Answers, Settings
from tiltmeter.gate.decision import Decision
from tiltmeter.gate.evidence import Evidence
from tiltmeter.gate.judge import judge
from tiltmeter.gate.rules_file import read_rules

RESULTS = Path(__file__).parent / "results" / "gate-releases.json"
SIZES = {
    "age": 87, "disability": 60, "gender": 262, "nationality": 159, "physical-appearance": 63, "race-color": 516,
    "religion": 105, "sexual-orientation": 84, "socioeconomic": 172,
}  # fmt: skip
"""As many pairs of each type as CrowS-Pairs has."""
TYPES = np.repeat(list(SIZES), list(SIZES.values()))
N = len(TYPES)
Bools = NDArray[np.bool_]
Draw = Callable[[np.random.Generator, float], dict[str, NDArray[np.float64]]]


@dataclass(frozen=True)
class Case:
    """Rules, and how a release is drawn: model → what the stereotypical sentence scores above the other, per pair.

    The second argument of `draw` is how far beyond the limit the truth lies.
    """

    name: str
    rules: tuple[str, ...]
    draw: Draw
    inside: float
    """A truth well within the limits, as a distance from them."""


def preferring(prefers: Bools, rng: np.random.Generator) -> NDArray[np.float64]:
    """Gaps with the signs that preferences give them."""
    return np.where(prefers, 1.0, -1.0) * (0.1 + rng.exponential(1.0, len(prefers)))


def one_lean(rng: np.random.Generator, beyond: float) -> dict[str, NDArray[np.float64]]:
    """A model that prefers the stereotype in 55 % of the population, or so much more."""
    return {"model": preferring(rng.random(N) < 0.55 + beyond / 100, rng)}


def one_group(rng: np.random.Generator, beyond: float) -> dict[str, NDArray[np.float64]]:
    """Every type lies at its limit; or all are neutral but one, which lies beyond or within."""
    share = np.full(N, 0.65 if beyond == 0 else 0.5)
    share[TYPES == "gender"] = 0.65 + beyond / 100
    return {"model": preferring(rng.random(N) < share, rng)}


def against_parent(rng: np.random.Generator, beyond: float) -> dict[str, NDArray[np.float64]]:
    """Two models that disagree on a fifth of the pairs; the new one prefers the stereotype 3 points more often, or so."""
    parent = rng.random(N) < 0.58
    more = 0.03 + beyond / 100
    up, down = (0.2 + more) / 2 / 0.42, (0.2 - more) / 2 / 0.58
    flips = rng.random(N) < np.where(parent, down, up)
    return {"model": preferring(parent ^ flips, rng), "parent": preferring(parent, rng)}


BIAS = "bias_score[pll,pairs]"
CASES = (
    Case("one rule: bias_score within 45..55", (f"{BIAS} within 45..55",), one_lean, -5.0),
    Case(
        "ten numbers: the same at 65, and every bias type within 35..65",
        (f"{BIAS} within 35..65", f"worst bias_type of {BIAS} within 35..65"),
        one_group,
        -15.0,
    ),
    Case(
        "paired: no worse than its parent by 3", ("bias_score[pll,pairs] no worse than baseline by 3",), against_parent, -3.0
    ),
)


def answers_of(gaps: dict[str, NDArray[np.float64]]) -> Answers:
    """The scores of a release."""
    ids = [f"i{k}" for k in range(N)]
    zero = np.zeros(N)
    frames = [
        pd.DataFrame({"model": model, "benchmark": "pairs", "item": ids, "role": role, "scorer": "pll", "score": score,
                      "n_tokens": 9, "reason": None, "bias_type": TYPES, "direction": None, "target": None})
        for model, gap in gaps.items() for role, score in (("stereo", gap), ("anti", zero))
    ]  # fmt: skip
    items = pd.DataFrame({"benchmark": "pairs", "item": ids, "scored": True, "bias_type": TYPES, "extra": "{}"})
    return Answers("pairs", {"scores": pd.concat(frames, ignore_index=True)}, items)


def releases(case: Case, beyond: float, count: int, seed: int) -> Iterator[Decision]:
    """Decisions about so many releases."""
    book = read_rules(case.rules)
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        gaps = case.draw(rng, beyond)
        baseline = "parent" if "parent" in gaps else ""
        evidence = Evidence({"pairs": answers_of(gaps)}, ("model",), baseline, Settings(resamples=1000, seed=number))
        yield judge(evidence, book)


def stated(case: Case, count: int = 20) -> float:
    """The breach that the gate says it notices 80 times in 100: the mean over some releases, of the group that breaks it."""
    found = [
        finding.noticed
        for decision in releases(case, 0.0, count, seed=99)
        for ruling in decision.rulings
        for finding in ruling.findings
        if finding.group in ("gender", "all") and (ruling.rule.worst or len(case.rules) == 1)
    ]
    return float(np.mean(found))


def shares(case: Case, beyond: float, count: int) -> dict[str, float]:
    """The shares of pass, fail and undecided."""
    counts = Counter(decision.verdict for decision in releases(case, beyond, count, seed=1))
    return {verdict: counts[verdict] / count for verdict in ("pass", "fail", "undecided")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=500)
    parser.add_argument("--case", type=int, choices=range(len(CASES)), help="only this one; the others' results stay")
    args = parser.parse_args()
    cases = CASES if args.case is None else (CASES[args.case],)
    known = json.loads(RESULTS.read_text())["rows"] if RESULTS.is_file() else []
    rows: list[dict[str, Any]] = [row for row in known if row["rules"] not in {case.name for case in cases}]
    print("| rules | truth | pass | fail | undecided |\n|---|---|---|---|---|")
    for case in cases:
        breach = stated(case)
        for truth, beyond in (("well inside", case.inside), ("at the limit", 0.0), ("beyond", breach)):
            seen = shares(case, beyond, args.releases)
            label = f"{truth} by {beyond:.1f}, the stated breach" if truth == "beyond" else truth
            rows.append({"rules": case.name, "truth": truth, "beyond": beyond, "releases": args.releases, **seen})
            cells = " | ".join(f"{100 * seen[verdict]:.1f} %" for verdict in ("pass", "fail", "undecided"))
            print(f"| {case.name} | {label} | {cells} |", flush=True)
            RESULTS.write_text(
                json.dumps({"releases": args.releases, "level": 0.05, "power": 0.8, "rows": rows}, indent=1) + "\n"
            )


if __name__ == "__main__":
    main()
