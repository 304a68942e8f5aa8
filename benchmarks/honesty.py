"""False alarms, coverage and power of every kind of estimate, on simulated data of known truth.

python benchmarks/honesty.py --out benchmarks/results/honesty.json     # every cell, 1,000 simulations each
python benchmarks/honesty.py --only slots --simulations 100            # a look at some
python scripts/honesty_page.py                                          # docs/honesty.md from the stored table

A cell is a measure, a design (sizes, clusters, groups, distribution) and whether a value is estimated or two models are
compared. Neutral data give false alarms (p < 0.05) and coverage (the 95 % interval holds the truth); data with an effect
give power. A cell in which at most half of the simulations give an interval or a p has none, with the reason. A cell beyond
7 % false alarms or below 92 % coverage is simulated again with ten times as many fresh data sets, and these count.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from honesty_cells import CELLS, Cell, Result
from tiltmeter.stats.settings import Settings

LEVEL, CONFIDENCE = 0.05, 0.95
MOST_ALARMS, LEAST_COVERAGE = 0.07, 0.92
RESAMPLES = 199
AGAIN = 10


@dataclass
class Tally:
    """Counts of one measure in one cell."""

    runs: int = 0
    alarms: int = 0
    tested: int = 0
    held: int = 0
    intervals: int = 0
    found: int = 0
    tested_with_effect: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, result: Result, has_effect: bool) -> None:
        """Count one result."""
        if has_effect:
            self.tested_with_effect += bool(np.isfinite(result.p))
            self.found += bool(result.p < LEVEL)
            return
        self.runs += 1
        self.tested += bool(np.isfinite(result.p))
        self.alarms += bool(result.p < LEVEL)
        self.intervals += bool(np.isfinite(result.low))
        self.held += bool(result.low <= result.truth <= result.high)
        if not np.isfinite(result.low) and result.note:
            self.reasons[result.note] += 1

    def facts(self) -> dict[str, float | int | str | None]:
        """Give shares; None where at most half of the simulations have a p, or an interval."""
        tested, covered = self.tested > self.runs / 2, self.intervals > self.runs / 2
        return {
            "simulations": self.runs,
            "false_alarms": round(self.alarms / self.tested, 4) if tested else None,
            "coverage": round(self.held / self.intervals, 4) if covered else None,
            "power": round(self.found / self.tested_with_effect, 3) if tested and self.tested_with_effect else None,
            "reason": "" if covered else next((text for text, _ in self.reasons.most_common(1)), "no interval"),
        }


def tallies(cell: Cell, simulations: range) -> dict[str, Tally]:
    """Simulate a cell: neutral data, and a tenth as many data sets with an effect."""
    found: dict[str, Tally] = {}
    for run in simulations[:: cell.batch]:
        for result in _results(cell, run, has_effect=False):
            found.setdefault(result.measure, Tally()).add(result, has_effect=False)
    for run in simulations[: max(10, len(simulations) // 10)][:: cell.batch]:
        for result in _results(cell, run, has_effect=True):
            found.setdefault(result.measure, Tally()).add(result, has_effect=True)
    return found


def _results(cell: Cell, run: int, has_effect: bool) -> Iterator[Result]:
    rng = np.random.default_rng([run, 11, has_effect])
    yield from cell.simulate(rng, cell, has_effect, Settings(RESAMPLES, CONFIDENCE, run))


def is_beyond(facts: dict[str, float | int | str | None]) -> bool:
    """Say whether a cell has too many false alarms, or covers too seldom."""
    alarms, coverage = facts["false_alarms"], facts["coverage"]
    return bool((alarms is not None and alarms > MOST_ALARMS) or (coverage is not None and coverage < LEAST_COVERAGE))


def measured(cell: Cell, simulations: int, again: int) -> list[dict[str, object]]:
    """Simulate a cell, and again with fresh data where it is beyond the limits."""
    started = time.process_time()
    found = {name: tally.facts() for name, tally in tallies(cell, range(simulations)).items()}
    if again > 1 and any(map(is_beyond, found.values())):
        fresh = tallies(cell, range(simulations, simulations * (1 + again)))
        found |= {name: fresh[name].facts() for name, facts in found.items() if is_beyond(facts)}
    place = {name: value for name, value in asdict(cell).items() if name not in ("simulate", "batch")}
    print(f"{cell.family} {cell.kind} {cell.design} n={cell.n}: {time.process_time() - started:.1f} s", flush=True)
    rows = [{**place, "measure": name, **facts, "beyond": is_beyond(facts)} for name, facts in found.items()]
    for row in rows:
        shown = {name: row[name] for name in ("measure", "false_alarms", "coverage", "power", "reason")}
        print("   ", "BEYOND" if row["beyond"] else "", shown, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--again", type=int, default=AGAIN, help="times as many fresh ones where a cell is beyond limits")
    parser.add_argument("--only", default="", help="cells whose family, kind, design and size match this pattern")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    kept = json.loads(args.out.read_text(encoding="utf-8")) if args.out and args.out.exists() else []
    chosen = [cell for cell in CELLS if re.search(args.only, f"{cell.family} {cell.kind} {cell.design} n={cell.n};")]
    for cell in chosen:
        key = (cell.family, cell.kind, cell.design, cell.n)
        rows = measured(cell, args.simulations, args.again)
        kept = [row for row in kept if (row["family"], row["kind"], row["design"], row["n"]) != key] + rows
        if args.out:
            args.out.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
