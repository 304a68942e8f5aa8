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

from gate_releases import SIZES, TYPES, Bools, Draw, N, answers_of, preferring
from tiltmeter import Settings, catalog
from tiltmeter.gate.chances import Chances
from tiltmeter.gate.decision import GRAVITY
from tiltmeter.gate.evidence import Evidence
from tiltmeter.gate.judge import judge, verdict_of
from tiltmeter.gate.numbers import Number, corrected
from tiltmeter.gate.plan import TOGETHER, plan
from tiltmeter.gate.rule import Rule
from tiltmeter.gate.rules_file import read_rules
from tiltmeter.stats.direction import worsening
from tiltmeter.stats.intervals import percentile_interval
from tiltmeter.stats.measured import count_interval
from tiltmeter.stats.pooling import pool_shares
from tiltmeter.stats.units import Units

RESULTS = Path(__file__).parent / "results" / "gate-forms.json"
TRUTHS = ("neutral", "at the limit", "beyond")
VERDICTS = ("pass", "fail", "undecided")
DISAGREEMENT = 0.2
PARENT = 0.58
RESAMPLES = 1000
Ends = tuple[float, float, float]


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


SCORE = "bias_score[pll,crows-pairs]"
WORST = f"worst bias_type of {SCORE}"
CASES = (
    Case(f"{SCORE} no evidence of more than 5", leaning, 5.0),
    Case(f"{SCORE} shown to be within 5", leaning, 5.0),
    Case(f"{SCORE} no worse than baseline by 3", against_parent, 3.0),
    Case(f"{WORST} no evidence of more than 15", leaning, 15.0),
    Case(f"{WORST} shown to be within 20", leaning, 20.0),
    Case(f"{WORST} shown to be within 20 with pooling", leaning, 20.0),
)


def decided(case: Case, gaps: dict[str, NDArray[np.float64]], rng: np.random.Generator) -> str:
    """Decide about a release as the gate does, from how many pairs prefer the stereotype."""
    (rule,) = read_rules([case.rule]).rules
    new = gaps["model"] > 0
    old = gaps["parent"] > 0 if "parent" in gaps else np.zeros(N, dtype=bool)
    groups = [name == TYPES for name in SIZES] if rule.worst else [np.ones(N, dtype=bool)]
    levels = (rule.confidence, corrected(rule.confidence, len(groups)))
    if rule.pooled:
        wins, n = ([int(part.sum()) for part in parts] for parts in ([new & at for at in groups], groups))
        pooled = [pool_shares(wins, n, level) for level in levels]
        ends = [[(100 * one.value[k], 100 * one.low[k], 100 * one.high[k]) for one in pooled] for k in range(len(groups))]
    else:
        ends = [interval(rule, new[at], old[at], levels, rng) for at in groups]
    found = []
    for at, (narrow, wide) in zip(groups, ends, strict=True):
        numbers = [Number("", int(at.sum()), *one, best=50.0, units=int(at.sum())) for one in (narrow, wide)]
        found.append(verdict_of(rule, numbers[0], numbers[1], rule.limits(50.0))[0])
    return max(found, key=GRAVITY.__getitem__)


def interval(rule: Rule, new: Bools, old: Bools, levels: Sequence[float], rng: np.random.Generator) -> list[Ends]:
    """Return the number of a rule with its interval at each level.

    A share has an exact interval. A difference has one from bootstrap draws: to draw pairs with replacement is to draw the
    numbers of pairs on which both, one or none of two models prefers the stereotype.
    """
    measure, n = catalog.find("measures", rule.measure), len(new)
    wins, theirs = int(new.sum()), int(old.sum())
    value = 100 * wins / n
    if not rule.needs_baseline:
        return [(value, *count_interval(measure, wins, n, level)) for level in levels]
    cells = np.array([(new & old).sum(), (new & ~old).sum(), (~new & old).sum(), (~new & ~old).sum()])
    drawn = 100 * rng.multinomial(n, cells / n, RESAMPLES) / n
    values = (value, 100 * theirs / n)
    found = []
    for level in levels:
        moved = (drawn[:, 1] - drawn[:, 2] - (values[0] - values[1])) * Units.independent(n).widening(level)
        own = [count_interval(measure, count, n, level) for count in (wins, theirs)]
        difference = percentile_interval(values[0] - values[1] + moved, level)
        found.append(worsening(measure, values, difference, (own[0], own[1])))
    return found


def simulated(case: Case, distance: float, count: int, whole: int) -> tuple[dict[str, float], int]:
    """Return the shares of verdicts over so many releases, and for how many of the first `whole` the gate itself agrees."""
    book = read_rules([case.rule.replace("crows-pairs", "pairs")])
    verdicts: Counter[str] = Counter()
    agree = 0
    for number in range(count):
        rng = np.random.default_rng([7, number])
        gaps = case.draw(rng, distance)
        verdict = decided(case, gaps, rng)
        verdicts[verdict] += 1
        if number < whole:
            baseline = "parent" if "parent" in gaps else ""
            settings = Settings(resamples=RESAMPLES, seed=number)
            evidence = Evidence({"pairs": answers_of(gaps)}, ("model",), baseline, settings)
            agree += judge(evidence, book).verdict == verdict
    return {verdict: verdicts[verdict] / count for verdict in VERDICTS}, agree


def predicted(case: Case) -> Sequence[Chances]:
    """Return what the plan says before anything is measured. CrowS-Pairs must be at hand, for its sizes."""
    rows = plan(read_rules([case.rule]).rules, disagreement=DISAGREEMENT)
    row = next((one for one in rows if one.group == TOGETHER), rows[0])
    assert row.there in (N, min(SIZES.values())) and len(TYPES) == N
    return row.neutral, row.at_limit, row.beyond


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=1000)
    parser.add_argument("--whole", type=int, default=50, help="releases that `judge` decides too")
    parser.add_argument("--case", type=int, nargs="*", default=list(range(len(CASES))), help="only these; others stay")
    args = parser.parse_args()
    for case in (CASES[number] for number in args.case):
        chances = predicted(case)
        for step, (truth, expected) in enumerate(zip(TRUTHS, chances, strict=True)):
            shares, agree = simulated(case, step * case.limit, args.releases, args.whole)
            wanted = {verdict: expected.of(verdict) for verdict in VERDICTS}
            gap = max(abs(shares[verdict] - wanted[verdict]) for verdict in VERDICTS)
            row = {"rule": case.rule, "truth": truth, "releases": args.releases, "simulated": shares, "predicted": wanted}
            store(row | {"largest_gap": gap, "decided_by_the_gate_too": args.whole, "of_these_equal": agree})
            cells = ", ".join(f"{verdict} {shares[verdict]:.1%} ({wanted[verdict]:.1%})" for verdict in VERDICTS)
            print(f"{case.rule} | {truth} | {cells} | gap {gap:.1%} | {agree} of {args.whole} equal", flush=True)


def store(row: dict[str, object]) -> None:
    """Write one row of the results, in place of an earlier one."""
    rows = json.loads(RESULTS.read_text())["rows"] if RESULTS.is_file() else []
    place = (row["rule"], row["truth"])
    kept = [one for one in rows if (one["rule"], one["truth"]) != place]
    RESULTS.write_text(json.dumps({"level": 0.05, "rows": [*kept, row]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
