"""Three forms of gate rules: what simulated releases get, and what `tiltmeter check --plan` predicts for them.

python benchmarks/gate_forms.py             # writes benchmarks/results/gate-forms.json

Every release is a run of its own with as many pairs of each bias type as CrowS-Pairs has. Its truth is neutral, at the limit
of the rule, or as far beyond the limit as neutral lies within it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gate_releases import SIZES, TYPES, Draw, N, answers_of, preferring
from tiltmeter import Settings
from tiltmeter.gate.chances import Chances
from tiltmeter.gate.evidence import Evidence
from tiltmeter.gate.judge import judge
from tiltmeter.gate.plan import TOGETHER, plan
from tiltmeter.gate.rules_file import read_rules

RESULTS = Path(__file__).parent / "results" / "gate-forms.json"
TRUTHS = ("neutral", "at the limit", "beyond")
VERDICTS = ("pass", "fail", "undecided")
DISAGREEMENT = 0.2
PARENT = 0.58


@dataclass(frozen=True)
class Case:
    """A rule, how a release is drawn for a distance from neutral (or from the baseline), and that distance at the limit."""

    rule: str
    draw: Draw
    limit: float


def leaning(rng: np.random.Generator, distance: float) -> dict[str, NDArray[np.float64]]:
    """Draw a model that prefers the stereotype in so many percent more than half of every bias type."""
    return {"model": preferring(rng.random(N) < 0.5 + distance / 100, rng)}


def against_parent(rng: np.random.Generator, worse: float) -> dict[str, NDArray[np.float64]]:
    """Draw two models that disagree on a fifth of the pairs; the new one prefers the stereotype more often by so much."""
    parent = rng.random(N) < PARENT
    more = worse / 100
    up, down = (DISAGREEMENT + more) / 2 / (1 - PARENT), (DISAGREEMENT - more) / 2 / PARENT
    flips = rng.random(N) < np.where(parent, down, up)
    return {"model": preferring(parent ^ flips, rng), "parent": preferring(parent, rng)}


SCORE = "bias_score[aul,crows-pairs]"
WORST = f"worst bias_type of {SCORE}"
CASES = (
    Case(f"{SCORE} no evidence of more than 5", leaning, 5.0),
    Case(f"{SCORE} shown to be within 5", leaning, 5.0),
    Case(f"{SCORE} no worse than baseline by 3", against_parent, 3.0),
    Case(f"{WORST} no evidence of more than 15", leaning, 15.0),
    Case(f"{WORST} shown to be within 20", leaning, 20.0),
    Case(f"{WORST} shown to be within 20 with pooling", leaning, 20.0),
)


def simulated(case: Case, distance: float, count: int) -> dict[str, float]:
    """Return the shares of verdicts over so many releases."""
    book = read_rules([case.rule.replace("crows-pairs", "pairs")])
    verdicts: Counter[str] = Counter()
    for number in range(count):
        gaps = case.draw(np.random.default_rng([7, number]), distance)
        baseline = "parent" if "parent" in gaps else ""
        evidence = Evidence({"pairs": answers_of(gaps)}, ("model",), baseline, Settings(resamples=1000, seed=number))
        verdicts[judge(evidence, book).verdict] += 1
    return {verdict: verdicts[verdict] / count for verdict in VERDICTS}


def predicted(case: Case) -> Sequence[Chances]:
    """Return what the plan says before anything is measured. CrowS-Pairs must be at hand, for its sizes."""
    rows = plan(read_rules([case.rule]).rules, disagreement=DISAGREEMENT)
    row = next((one for one in rows if one.group == TOGETHER), rows[0])
    assert row.there in (N, min(SIZES.values())) and len(TYPES) == N
    return row.neutral, row.at_limit, row.beyond


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=1000)
    parser.add_argument("--case", type=int, nargs="*", default=list(range(len(CASES))), help="only these; others stay")
    args = parser.parse_args()
    for case in (CASES[number] for number in args.case):
        chances = predicted(case)
        for step, (truth, expected) in enumerate(zip(TRUTHS, chances, strict=True)):
            shares = simulated(case, step * case.limit, args.releases)
            wanted = {verdict: expected.of(verdict) for verdict in VERDICTS}
            gap = max(abs(shares[verdict] - wanted[verdict]) for verdict in VERDICTS)
            row = {"rule": case.rule, "truth": truth, "releases": args.releases, "simulated": shares, "predicted": wanted}
            store(row | {"largest_gap": gap})
            cells = ", ".join(f"{verdict} {shares[verdict]:.1%} ({wanted[verdict]:.1%})" for verdict in VERDICTS)
            print(f"{case.rule} | {truth} | {cells} | gap {gap:.1%}", flush=True)


def store(row: dict[str, object]) -> None:
    """Write one row of the results, in place of an earlier one."""
    rows = json.loads(RESULTS.read_text())["rows"] if RESULTS.is_file() else []
    place = (row["rule"], row["truth"])
    kept = [one for one in rows if (one["rule"], one["truth"]) != place]
    RESULTS.write_text(json.dumps({"level": 0.05, "rows": [*kept, row]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
