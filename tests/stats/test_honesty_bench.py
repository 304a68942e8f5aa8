"""The honesty bench: every design can be simulated, and no measure is left out."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from tiltmeter import Settings, catalog

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from honesty import LABELS, again_of, merged, rows_of_work, start_process
from honesty_cells import CELLS
from honesty_tally import Tally, rows_of, tallies
from neutral_data.kit import Cell
from tiltmeter.families.kit import questions
from tiltmeter.stats import significance
from tiltmeter.stats.estimates import Estimate

SMALLEST = {(cell.family, cell.kind, cell.design): cell for cell in sorted(CELLS, key=lambda cell: -cell.n)}
WITHOUT_DESIGN = {
    "single_effect": "a word's own effect, which ces combines",
    "fpr_variance_chance": "what chance gives; it has neither interval nor test",
}  # fmt: skip


def named(cell: Cell) -> set[str]:
    return set(import_module(f"neutral_data.{cell.family}").measures(cell))


@pytest.mark.parametrize("cell", SMALLEST.values(), ids=lambda cell: cell.key)
def test_a_cell_gives_the_rows_of_its_measures(cell: Cell) -> None:
    rows = list(rows_of(replace(cell, batch=1), 0, 0.0, Settings(100)))
    found = {row.measure for _, row in rows}
    assert found == named(cell) if cell.kind == "estimate" else found <= named(cell)
    assert all(np.isfinite(row.value) or row.note for _, row in rows)


def test_every_measure_has_a_design() -> None:
    built_in = {entry.name for entry in catalog.entries("measures") if "tiltmeter.measures" in entry.function.__module__}
    assert built_in - set().union(*map(named, CELLS)) == set(WITHOUT_DESIGN)


def test_a_tally_counts_alarms_coverage_and_reasons() -> None:
    tally = Tally()
    base = Estimate("m", "b", "f", "s", "x", "all", "all")
    for low, high, p in ((-1, 1, 0.5), (0.5, 1, 0.01), (-2, -1, 0.2), (np.nan, np.nan, np.nan)):
        tally.add(replace(base, low=low, high=high, p=p, note="too few clusters; 3"), 0.0)
    tally.add_effect(replace(base, p=0.01))
    facts = tally.facts()
    assert facts["simulations"] == 4 and facts["intervals"] == facts["tests"] == 3
    assert facts["coverage"] == round(1 / 3, 4) and facts["false_alarms"] == round(1 / 3, 4) and facts["power"] == 1.0
    assert tally.reasons == {"too few clusters": 1} and facts["reason"] == ""


def test_cells_that_were_simulated_again_replace_their_rows() -> None:
    one, other = ({"family": cell.family, "kind": cell.kind, "design": cell.design, "n": cell.n} for cell in CELLS[:2])
    gone = {"family": "pairs", "kind": "estimate", "design": "of an earlier version", "n": 3}
    assert merged([other, one | {"power": 0.1}, gone], [one | {"power": 0.2}]) == [one | {"power": 0.2}, other]


def test_only_measures_beyond_the_limits_are_simulated_again() -> None:
    cell = next(cell for cell in CELLS if cell.key == "pairs compare normal n=30")
    names = ("bias_score", "mean_preference", "kls", "jss", "jss_liu")
    stored = [
        {**vars(cell), "measure": name, "simulations": 10, "beyond": name == "mean_preference", "false_alarms": 0.2}
        for name in names
    ]
    work = again_of(cell, stored, 10, 10)
    assert work is not None and work.measures == ("mean_preference",) and (work.first, work.last) == (10, 110)
    work.tally = tallies(replace(cell, batch=2), range(10, 12), {}, work.measures)
    rows = rows_of_work(work, stored)
    assert [row["measure"] for row in rows] == list(names) and set(work.tally) == {"mean_preference"}
    assert [row["simulations"] for row in rows] == [10, 2, 10, 10, 10] and rows[0] is stored[0]


def test_a_process_of_simulations_estimates_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a process for each core already."""
    places = (questions, "MOST_THREADS"), (LABELS, "THRESHOLDS"), (LABELS, "called_of"), (significance, "SHUFFLES")
    for module, name in places:
        monkeypatch.setattr(module, name, None)
    with warnings.catch_warnings():
        start_process()
    assert questions.MOST_THREADS == 1 and significance.SHUFFLES == 999
