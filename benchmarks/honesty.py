"""False alarms, coverage and power of every measure in every design, on simulated data of known truth.

python benchmarks/honesty.py --jobs 8                       # what benchmarks/results/honesty.json lacks
python benchmarks/honesty.py --only "slots compare" --fresh # some cells, again
python benchmarks/honesty.py --only labels --only "n=30$"   # these cells, those of the first pattern first
python scripts/honesty_page.py                              # docs/honesty.md from the stored table

A cell is a design (sizes, clusters, groups, distribution) of one family, for one model (estimate) or two (compare). Neutral
data give false alarms (p < 0.05) and coverage (the 95 % interval holds the truth); data with an effect give power. Where at
most half of the simulations have an interval or a p, the cell has none, with the reason. A measure beyond 7 % false alarms
or below 92 % coverage is simulated again with ten times as many fresh data sets, and these count.

Supported cells come first, comparisons before estimates; then what is beyond the limits, again; then small designs. Cells
are simulated in parts, by several processes. Results are stored cell by cell, unfinished cells beside them, so that a
second call goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one process for each core

import numpy as np
from numpy.typing import NDArray

from honesty_cells import CELLS
from honesty_tally import Facts as Row
from honesty_tally import Tally, added, measures_of, tallies, truths
from neutral_data.kit import Cell
from tiltmeter.families.kit import questions
from tiltmeter.families.labels.facts import Facts
from tiltmeter.stats import significance

LABELS: Any = import_module("tiltmeter.families.labels.estimate")
MOST_ALARMS, LEAST_COVERAGE = 0.07, 0.92
AGAIN = 10
PART = 40
"""Simulations that one process makes at a time; half as many of slow cells."""
LARGE = 60
"""Units from which on a cell is slow, so that it comes after the others of its kind."""
STORED = Path(__file__).parent / "results" / "honesty.json"


@dataclass(eq=False)
class Work:
    """Simulations of one cell: how many, from which number on, of which measures (none named: all), and what was found."""

    cell: Cell
    first: int
    last: int
    done: int = 0
    sent: int = 0
    seconds: float = 0.0
    rank: int = 0
    truth: dict[str, float] | None = None
    measures: tuple[str, ...] = ()
    tally: dict[str, Tally] = field(default_factory=dict)

    @property
    def is_again(self) -> bool:
        """Return whether these are the fresh simulations of a cell beyond the limits."""
        return self.first > 0

    @property
    def priority(self) -> tuple[int, int, bool, int]:
        """Order of cells: supported comparisons, supported estimates, cells beyond the limits, small designs.

        Before all, the order of the patterns that select cells; fresh simulations come after all patterns.
        """
        kind = ("compare", "estimate").index(self.cell.kind)
        group = (2 if self.is_again else kind) if self.cell.supported else 3 + kind
        return self.rank, group, self.cell.n > LARGE, CELLS.index(self.cell)

    @property
    def design(self) -> tuple[str, ...]:
        """What the truth depends on."""
        return self.cell.family, self.cell.kind, self.cell.design

    def next_part(self) -> range:
        """Take the next simulations."""
        size = PART if self.cell.n <= LARGE else PART // 2
        part = range(self.first + self.sent, min(self.first + self.sent + size, self.last))
        self.sent += len(part)
        return part

    @property
    def is_ready(self) -> bool:
        """Return whether a part can be simulated: the first one finds the truth, on which the others wait."""
        return self.truth is not None or not self.sent

    def add(self, part: range, found: Mapping[str, Tally], truth: dict[str, float], seconds: float) -> None:
        """Count what was found in a part."""
        self.tally, self.truth = added(self.tally, found), truth
        self.done, self.seconds = self.done + len(part), self.seconds + seconds

    @property
    def is_finished(self) -> bool:
        """Return whether all simulations are done."""
        return self.done >= self.last - self.first


def called_at_half(facts: Facts) -> dict[str, NDArray[np.float64]]:
    """Mark the texts that each seed calls toxic."""
    return {LABELS.HALF: (facts.score >= 0.5).astype(np.float64)}


def start_process() -> None:
    """Set what simulations need in every process."""
    warnings.simplefilter("ignore", RuntimeWarning)  # very large samples have a single resample
    significance.SHUFFLES = 999  # as many as a simulation needs
    LABELS.THRESHOLDS = ()  # the same measures at other thresholds, as those at an equal rate are
    LABELS.called_of = called_at_half
    questions.MOST_THREADS = 1


def simulate(
    cell: Cell, part: range, truth: dict[str, float] | None, measures: tuple[str, ...]
) -> tuple[dict[str, Tally], dict[str, float], float]:
    """Simulate a part of a cell; also its truth, and the processor seconds."""
    started = time.process_time()
    truth = truths(cell) if truth is None else truth
    return tallies(cell, part, truth, measures or None), truth, time.process_time() - started


def is_beyond(facts: Row) -> bool:
    """Return whether false alarms are too many or coverage is too low."""
    return (facts["false_alarms"] or 0) > MOST_ALARMS or (
        facts["coverage"] is not None and facts["coverage"] < LEAST_COVERAGE
    )


def key_of(row: Row) -> str:
    """Name of the cell of a stored row."""
    return Cell(row["family"], row["kind"], row["design"], row["n"]).key


def merged(stored: Sequence[Row], rows: Sequence[Row]) -> list[Row]:
    """Replace the rows of cells that were simulated again; in the order of the cells."""
    new = {key_of(row) for row in rows}
    order = {cell.key: n for n, cell in enumerate(CELLS)}
    kept = [row for row in stored if key_of(row) not in new and key_of(row) in order]
    return sorted([*kept, *rows], key=lambda row: order[key_of(row)])


def rows_of_work(work: Work, stored: Sequence[Row]) -> list[Row]:
    """Make the rows of a finished cell. Fresh simulations replace only the rows that were beyond the limits."""
    place = {name: value for name, value in asdict(work.cell).items() if name != "batch"}
    found = {name: tally.facts() for name, tally in work.tally.items()}
    rows = [{**place, "measure": name, **facts, "beyond": is_beyond(facts)} for name, facts in found.items()]
    if not work.is_again:
        return rows
    fresh = {row["measure"]: row for row in rows}
    return [fresh[row["measure"]] if row["beyond"] else row for row in stored if key_of(row) == work.cell.key]


class Results:
    """Stored rows, and the tallies of unfinished cells in a file beside them."""

    def __init__(self, path: Path) -> None:
        self.path, self.unfinished = path, path.with_suffix(".unfinished.json")

    def rows(self) -> list[Row]:
        """Read the stored rows."""
        found: list[Row] = json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else []
        return found

    def store(self, rows: Sequence[Row]) -> None:
        """Store the rows of a cell, whole or not at all."""
        partial = self.path.with_suffix(".part")
        partial.write_text(json.dumps(merged(self.rows(), rows), indent=0) + "\n", encoding="utf-8")
        partial.replace(self.path)

    def leave(self, works: Sequence[Work]) -> None:
        """Store unfinished cells, or remove the file where there are none."""
        if works:
            self.unfinished.write_text(json.dumps([asdict(work) for work in works]) + "\n", encoding="utf-8")
        else:
            self.unfinished.unlink(missing_ok=True)

    def resumed(self) -> dict[tuple[str, int], Work]:
        """Read unfinished cells, by name and first simulation."""
        stored = json.loads(self.unfinished.read_text(encoding="utf-8")) if self.unfinished.exists() else []
        found = {}
        for one in stored:
            tally = {name: Tally(**counts) for name, counts in one["tally"].items()}
            read = {"cell": Cell(**one["cell"]), "tally": tally, "sent": one["done"], "measures": tuple(one["measures"])}
            work = Work(**one | read)
            found[work.cell.key, work.first] = work
        return found


def needed(cells: Sequence[Cell], rows: Sequence[Row], simulations: int, again: int) -> list[Work]:
    """List what is to be simulated: cells without enough simulations, and again those that are beyond the limits."""
    found = []
    for cell in cells:
        of_cell = [row for row in rows if key_of(row) == cell.key]
        if not of_cell or any(row["simulations"] < simulations for row in of_cell):
            found.append(Work(cell, 0, simulations))
        elif work := again_of(cell, of_cell, simulations, again):
            found.append(work)
    return found


def again_of(cell: Cell, rows: Sequence[Row], simulations: int, again: int) -> Work | None:
    """Return the fresh simulations that measures of a supported cell beyond the limits need."""
    doubtful = [row["measure"] for row in rows if row["beyond"] and row["simulations"] < simulations * again]
    if again <= 1 or not cell.supported or not doubtful:
        return None
    measures = tuple(name for name in measures_of(cell) if any(row.startswith(name) for row in doubtful))
    return Work(cell, simulations, simulations * (1 + again), measures=measures)


class Bench:
    """Simulate cells in the order of their priority, in several processes."""

    def __init__(self, results: Results, args: argparse.Namespace) -> None:
        self.results, self.args = results, args
        self.waiting: list[Work] = []
        self.running: dict[Future[Any], tuple[Work, range]] = {}
        self.resumed = {} if args.fresh else results.resumed()
        self.truths: dict[tuple[str, ...], dict[str, float]] = {}
        self.until = time.monotonic() + args.stop_after if args.stop_after else float("inf")

    def enter(self, work: Work | None) -> None:
        """Put a cell among those that wait, as far as it is done already."""
        if work is not None:
            work = self.resumed.pop((work.cell.key, work.first), work)
            work.rank = len(self.args.only) if work.is_again else rank_of(work.cell, self.args.only)
            self.waiting = sorted([*self.waiting, work], key=lambda one: one.priority)

    def run(self, pool: ProcessPoolExecutor) -> None:
        """Simulate until nothing is left, or time is up."""
        while True:
            while len(self.running) < self.args.jobs and time.monotonic() < self.until and self._send(pool):
                pass
            if not self.running:
                break
            for future in wait(self.running, return_when=FIRST_COMPLETED).done:
                self._receive(future)
        left = [*(work for work in self.waiting if work.done), *self.resumed.values()]
        self.results.leave(left)
        print(f"{len(self.waiting)} cells are left, {len(left)} of them begun")

    def _send(self, pool: ProcessPoolExecutor) -> bool:
        """Have the next part simulated; return whether there was one."""
        for work in self.waiting:
            work.truth = self.truths.get(work.design) if work.truth is None else work.truth
        work = next((work for work in self.waiting if work.is_ready), None)
        if work is None:
            return False
        part = work.next_part()
        self.running[pool.submit(simulate, work.cell, part, work.truth, work.measures)] = (work, part)
        if work.first + work.sent >= work.last:
            self.waiting.remove(work)
        return True

    def _receive(self, future: Future[Any]) -> None:
        work, part = self.running.pop(future)
        work.add(part, *future.result())
        self.truths[work.design] = work.truth or {}
        if not work.is_finished:
            return
        rows = rows_of_work(work, self.results.rows())
        self.results.store(rows)
        show(work, rows)
        if not work.is_again:
            self.enter(again_of(work.cell, rows, self.args.simulations, self.args.again))


def rank_of(cell: Cell, patterns: Sequence[str]) -> int:
    """Number of the first pattern that the name of a cell matches; as many as there are patterns where none does."""
    return next((n for n, pattern in enumerate(patterns) if re.search(pattern, cell.key)), len(patterns))


def show(work: Work, rows: Sequence[Row]) -> None:
    """Print the rows of a finished cell."""
    print(f"{work.cell.key}: {work.done} simulations, {work.seconds:.1f} s", flush=True)
    for row in rows:
        shown = {name: row[name] for name in ("measure", "false_alarms", "coverage", "power", "reason")}
        print("   ", "BEYOND" if row["beyond"] else "", *shown.values(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--again", type=int, default=AGAIN, help="times as many fresh ones where a cell is beyond limits")
    only = "cells whose name matches this pattern, such as 'pairs estimate.* n=30$'; of several, the first comes first"
    parser.add_argument("--only", action="append", default=[], help=only)
    parser.add_argument("--fresh", action="store_true", help="simulate stored cells again")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--stop-after", type=float, default=0, metavar="SECONDS", help="begin nothing new after this time")
    parser.add_argument("--out", type=Path, default=STORED)
    args = parser.parse_args()
    results = Results(args.out)
    bench = Bench(results, args)
    rows = [] if args.fresh else results.rows()
    cells = [cell for cell in CELLS if not args.only or rank_of(cell, args.only) < len(args.only)]
    for work in needed(cells, rows, args.simulations, args.again):
        bench.enter(work)
    with ProcessPoolExecutor(args.jobs, initializer=start_process) as pool:
        bench.run(pool)


if __name__ == "__main__":
    main()
