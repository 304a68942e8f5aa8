"""False alarms, coverage and power of every measure in every design, on simulated data of known truth.

python benchmarks/honesty.py                                # what benchmarks/results/honesty.json lacks
python benchmarks/honesty.py --only "slots compare" --fresh # some cells, again
python scripts/honesty_page.py                              # docs/honesty.md from the stored table

A cell is a design (sizes, clusters, groups, distribution) of one family, for one model (estimate) or two (compare). Neutral
data give false alarms (p < 0.05) and coverage (the 95 % interval holds the truth); data with an effect give power. Where at
most half of the simulations have an interval or a p, the cell has none, with the reason. A measure beyond 7 % false alarms
or below 92 % coverage is simulated again with ten times as many fresh data sets, and these count. Results are stored cell
by cell.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from honesty_cells import CELLS
from neutral_data.kit import MANY, Cell
from tiltmeter import catalog
from tiltmeter.families.kit.protocol import find_family
from tiltmeter.families.labels import estimands
from tiltmeter.stats import significance
from tiltmeter.stats.estimates import Difference, Estimate
from tiltmeter.stats.settings import Settings

LEVEL, CONFIDENCE, RESAMPLES = 0.05, 0.95, 199
MOST_ALARMS, LEAST_COVERAGE = 0.07, 0.92
AGAIN = 10
STORED = Path(__file__).parent / "results" / "honesty.json"
Row = Estimate | Difference
Facts = dict[str, Any]


@dataclass
class Tally:
    """Counts of one measure in one cell."""

    runs: int = 0
    alarms: int = 0
    tested: int = 0
    held: int = 0
    intervals: int = 0
    found: int = 0
    with_effect: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row, truth: float) -> None:
        """Count one result of neutral data."""
        self.runs += 1
        self.tested += bool(np.isfinite(row.p))
        self.alarms += bool(row.p < LEVEL)
        self.intervals += bool(np.isfinite(row.low))
        self.held += bool(row.low <= truth + 1e-9 and truth - 1e-9 <= row.high)
        if not np.isfinite(row.low):
            self.reasons[row.note.split(";")[0] or "no interval"] += 1

    def add_effect(self, row: Row) -> None:
        """Count one result of data with an effect."""
        self.with_effect += 1
        self.found += bool(row.p < LEVEL)

    def facts(self) -> Facts:
        """Give shares; None where at most half of the simulations have a p, or an interval."""
        tested, covered = self.tested > self.runs / 2, self.intervals > self.runs / 2
        return {
            "simulations": self.runs,
            "false_alarms": round(self.alarms / self.tested, 4) if tested else None,
            "coverage": round(self.held / self.intervals, 4) if covered else None,
            "power": round(self.found / self.with_effect, 3) if tested and self.with_effect else None,
            "intervals": self.intervals,
            "tests": self.tested,
            "reason": "" if covered else next((text for text, _ in self.reasons.most_common(1)), ""),
        }


def rows_of(cell: Cell, run: int, effect: float, settings: Settings) -> Iterator[tuple[str, Row]]:
    """Simulate one batch: every row that counts, with its name in the table."""
    module, family = import_module(f"neutral_data.{cell.family}"), find_family(cell.family)
    entries = [catalog.find("measures", name) for name in module.measures(cell)]
    by = module.by(cell) if hasattr(module, "by") else ()
    rng = np.random.default_rng([run, zlib.crc32(cell.key.encode()), int(effect)])
    if cell.kind == "estimate":
        rows: Iterator[Row] = family.estimate(module.make(rng, cell, np.full(cell.batch, effect)), entries, by, settings)
        yield from ((name, row) for row in rows if (name := module.label(row)))
        return
    for _ in range(cell.batch):
        answers = module.make(rng, cell, np.array([effect, 0.0]))
        yield from ((module.label(row), row) for row in family.compare(answers, "m0", "m1", entries, by, settings)
                    if module.label(row))  # fmt: skip


def truths(cell: Cell) -> dict[str, float]:
    """True values: 0 for differences, neutral, or what very large samples give."""
    if cell.kind == "compare":
        return {}
    module = import_module(f"neutral_data.{cell.family}")
    large = replace(cell, n=max(1, MANY // 10 if "cluster" in cell.design else MANY), batch=5)
    found: dict[str, list[float]] = {}
    neutral: dict[str, float] = {}
    for name, row in rows_of(large, 0, 0.0, Settings(1, CONFIDENCE, 0)):
        found.setdefault(name, []).append(row.value)
        neutral[name] = row.neutral if isinstance(row, Estimate) else 0.0
    known = module.truth if hasattr(module, "truth") else lambda *_: None
    truth = {name: float(np.mean(values)) for name, values in found.items()}
    truth |= {name: value for name, value in neutral.items() if not np.isnan(value)}
    return truth | {name: value for name in found if (value := known(cell, name)) is not None}


def tallies(cell: Cell, simulations: range) -> dict[str, Tally]:
    """Simulate a cell: neutral data, and a tenth as many data sets with an effect."""
    found: dict[str, Tally] = {}
    truth = truths(cell)
    for run in simulations[:: cell.batch]:
        for name, row in rows_of(cell, run, 0.0, Settings(RESAMPLES, CONFIDENCE, run)):
            found.setdefault(name, Tally()).add(row, truth.get(name, 0.0))
    for run in simulations[: max(10, len(simulations) // 10)][:: cell.batch]:
        for name, row in rows_of(cell, run, 1.0, Settings(RESAMPLES, CONFIDENCE, run)):
            found.setdefault(name, Tally()).add_effect(row)
    return found


def is_beyond(facts: Facts) -> bool:
    """Return whether false alarms are too many or coverage is too low."""
    return (facts["false_alarms"] or 0) > MOST_ALARMS or (
        facts["coverage"] is not None and facts["coverage"] < LEAST_COVERAGE
    )


def measured(cell: Cell, simulations: int, again: int) -> list[Facts]:
    """Simulate a cell, and again with fresh data where a supported measure is beyond the limits."""
    started = time.process_time()
    found = {name: tally.facts() for name, tally in tallies(cell, range(simulations)).items()}
    if again > 1 and cell.supported and any(map(is_beyond, found.values())):
        fresh = tallies(cell, range(simulations, simulations * (1 + again)))
        found |= {name: fresh[name].facts() for name, facts in found.items() if is_beyond(facts)}
    print(f"{cell.key}: {time.process_time() - started:.1f} s", flush=True)
    place = {name: value for name, value in asdict(cell).items() if name != "batch"}
    rows = [{**place, "measure": name, **facts, "beyond": is_beyond(facts)} for name, facts in found.items()]
    for row in rows:
        shown = {name: row[name] for name in ("measure", "false_alarms", "coverage", "power", "reason")}
        print("   ", "BEYOND" if row["beyond"] else "", *shown.values(), flush=True)
    return rows


def key_of(row: Facts) -> str:
    """Name of the cell of a stored row."""
    return Cell(row["family"], row["kind"], row["design"], row["n"]).key


def merged(stored: Sequence[Facts], rows: Sequence[Facts]) -> list[Facts]:
    """Replace the rows of cells that were simulated again; in the order of the cells."""
    new = {key_of(row) for row in rows}
    order = {cell.key: n for n, cell in enumerate(CELLS)}
    kept = [row for row in stored if key_of(row) not in new and key_of(row) in order]
    return sorted([*kept, *rows], key=lambda row: order[key_of(row)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--again", type=int, default=AGAIN, help="times as many fresh ones where a cell is beyond limits")
    parser.add_argument("--only", default="", help="cells whose name matches this pattern, such as 'pairs estimate.* n=30$'")
    parser.add_argument("--fresh", action="store_true", help="simulate stored cells again")
    parser.add_argument("--out", type=Path, default=STORED)
    args = parser.parse_args()
    warnings.simplefilter("ignore", RuntimeWarning)  # very large samples have a single resample
    significance.SHUFFLES = 999  # as many as a simulation needs
    estimands.CURVE = ()  # the same measures at other thresholds
    for cell in (cell for cell in CELLS if re.search(args.only, cell.key)):
        stored = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else []
        if not args.fresh and cell.key in {key_of(row) for row in stored if row["simulations"] >= args.simulations}:
            continue
        rows = measured(cell, args.simulations, args.again)
        stored = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else []
        args.out.write_text(json.dumps(merged(stored, rows), indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
