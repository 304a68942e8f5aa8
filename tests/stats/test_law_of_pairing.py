"""In every family a difference is that of two estimates over the items that both models have answers for."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tiltmeter import Answers, Settings, catalog
from tiltmeter.families import find_family
from tiltmeter.families.kit.protocol import measures_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from honesty_cells import CELLS
from neutral_data.kit import Cell

COMPARED = list({(cell.family, cell.design): cell for cell in CELLS if cell.kind == "compare"}.values())
LOST: dict[str, dict[str, object]] = {
    "pairs": {"score": np.nan, "reason": "lost"},
    "slots": {"matched": False},
    "heldout": {"reason": "lost", "log_likelihood": np.nan, "hits": np.nan},
    "labels": {"probability": np.nan, "reason": "lost"},
    "generations": {"score": np.nan, "negative": np.nan, "positive": np.nan, "reason": "lost"},
    "choices": {"chosen": np.nan, "reason": "lost", "changed": np.nan, "score": np.nan},
    "associations": {"value": np.nan, "usable": False, "reason": "lost"},
}
"""How a family's tables show that an answer is missing."""
COUNT_MISSING = {"unparsed_share", "refused_share", "coverage", "mps_all"}
"""Measures about all items, answered or not."""
SETTINGS = Settings(49, 0.95, 3)


def units(frame: pd.DataFrame, family: str) -> pd.Series:
    """The unit of each row that both models must have: an item, or a word of a set of a test."""
    return frame["test"] + frame["set"] + frame["text"] if family == "associations" else frame["item"]


def lose(answers: Answers, family: str, is_lost: Callable[[pd.Series, pd.Series], np.ndarray]) -> Answers:
    """Mark some answers as missing."""

    def marked(frame: pd.DataFrame) -> pd.DataFrame:
        columns = {name: value for name, value in LOST[family].items() if name in frame}
        if "model" not in frame or not columns or (family == "generations" and "negative" not in frame):
            return frame
        rows = is_lost(units(frame, family), frame["model"])
        return frame.assign(
            **{name: frame[name].astype(object).where(~rows, value) if isinstance(value, str) else
               frame[name].where(~rows, value) for name, value in columns.items()}
        )  # fmt: skip

    return answers.mapped(marked)


def part_of(unit: str) -> int:
    """Which of eight parts a unit is in: the first is lost by one model, the second by the other."""
    return zlib.crc32(unit.encode()) % 8


@pytest.mark.parametrize("cell", COMPARED, ids=lambda cell: cell.key)
def test_a_difference_is_that_of_the_common_items(cell: Cell) -> None:
    module, family = import_module(f"neutral_data.{cell.family}"), find_family(cell.family)
    entries = [catalog.find("measures", name) for name in module.measures(cell) if name not in COUNT_MISSING]
    by = module.by(cell) if hasattr(module, "by") else ()
    whole = module.make(np.random.default_rng(5), replace(cell, n=max(cell.n, 30)), np.array([1.0, 0.0]))
    whole = whole.mapped(lambda frame: frame.assign(matched=True) if "matched" in frame else frame)
    there = whole.table
    gone = {name: set(there["item"][(there["model"] == name) & there["reason"].notna()]) for name in ("m0", "m1")
            } if "item" in there else {"m0": set(), "m1": set()}  # fmt: skip

    def lost_by(name: str, unit: str) -> bool:
        return part_of(unit) == int(name[1]) or unit in gone[name]

    own = lose(whole, cell.family, lambda unit, model: np.array([*map(lost_by, model, unit)]))
    common = lose(whole, cell.family, lambda unit, _: np.array([lost_by("m0", one) or lost_by("m1", one) for one in unit]))
    values = {
        (row.model, row.scorer, row.measure, row.by, row.group): row.value
        for row in family.estimate(common, entries, by, SETTINGS)
    }
    n = 0
    for row in family.compare(own, "m0", "m1", entries, by, SETTINGS):
        place = (row.scorer, row.measure, row.by, row.group)
        if ("m0", *place) in values and np.isfinite(row.difference):
            wanted = [values[model, *place] for model in ("m0", "m1")]
            assert (row.value, row.baseline_value) == pytest.approx(tuple(wanted), rel=1e-9, abs=1e-9), row
            assert row.difference == pytest.approx(wanted[0] - wanted[1], rel=1e-9, abs=1e-9), row
            n += 1
    assert n


@pytest.mark.parametrize("cell", COMPARED, ids=lambda cell: cell.key)
def test_every_measure_of_a_family_may_be_asked_of_every_design(cell: Cell) -> None:
    """As a command does that names no measure: those that the answers do not serve are left out."""
    module, family = import_module(f"neutral_data.{cell.family}"), find_family(cell.family)
    answers = module.make(np.random.default_rng(5), replace(cell, n=min(cell.n, 10)), np.array([1.0, 0.0]))
    every, by = measures_of(family, None), module.by(cell) if hasattr(module, "by") else ()
    estimated = {row.measure for row in family.estimate(answers, every, by, SETTINGS)}
    compared = {row.measure for row in family.compare(answers, "m0", "m1", every, by, SETTINGS)}
    assert compared and compared <= estimated


@pytest.mark.parametrize("cell", COMPARED, ids=lambda cell: cell.key)
def test_models_may_have_different_items(cell: Cell) -> None:
    """The second lacks half of the items, or those of one group."""
    module, family = import_module(f"neutral_data.{cell.family}"), find_family(cell.family)
    answers = module.make(np.random.default_rng(5), replace(cell, n=min(cell.n, 30)), np.array([1.0, 0.0]))
    entries = [catalog.find("measures", name) for name in module.measures(cell)]
    by, items = module.by(cell) if hasattr(module, "by") else (), answers.items
    groups = items["target"].fillna("") if "target" in items else items["item"]
    for left_out in (items["item"].iloc[len(items) // 2 :], items["item"][groups == groups.iloc[0]]):
        lost = set(left_out)

        def fewer(frame: pd.DataFrame, lost: set[str] = lost) -> pd.DataFrame:
            if not {"model", "item"} <= set(frame):
                return frame
            return frame[~((frame["model"] == "m1") & frame["item"].isin(lost))].reset_index(drop=True)

        rows = list(family.compare(answers.mapped(fewer), "m0", "m1", entries, by, SETTINGS))
        places = {(row.scorer, row.measure, row.by, row.group) for row in rows}
        assert len(places) == len(rows)
