"""Measures of one's own of association tests: computed where their inputs are stored, else refused with the reason."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tiltmeter
from tiltmeter import Answers, catalog

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from neutral_data import associations
from neutral_data.kit import Cell


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    catalog.forget()


def own(folder: Path, name: str, *reads: str) -> str:
    formula = "np.mean(x, axis=-1) - np.mean(y, axis=-1)" if set(reads) == {"x", "y"} else f"np.mean({reads[0]}, axis=-1)"
    declared = f'Measure(reads={reads!r}, cites="a test", role="bias", neutral=0.0, direction="two-sided")'
    lines = ["import numpy as np", "from tiltmeter.measures import Measure", f"MEASURE = {declared}", "",
             f"def {name}({', '.join(reads)}):", f"    return {formula}"]  # fmt: skip
    (folder / f"{name}.py").write_text("\n".join(lines), "utf-8")
    return str(folder / f"{name}.py")


def answers(design: str) -> Answers:
    return associations.make(np.random.default_rng(1), Cell("associations", "estimate", design, 8), np.array([6.0, 0.0]))


@pytest.mark.parametrize("reads", [("x", "y"), ("y", "x")])
def test_a_measure_of_two_sets_of_targets_is_computed(tmp_path: Path, reads: tuple[str, str]) -> None:
    known, file = answers("seat"), own(tmp_path, "mean_gap", *reads)
    rows = tiltmeter.estimate(known, file, by=(), resamples=200)
    rows = rows[(rows["model"] == "m0") & (rows["group"] == "t0")]
    table = known.table[(known.table["model"] == "m0") & (known.table["test"] == "t0")]
    means = table.groupby("set")["value"].mean()
    (row,) = rows.to_dict("records")
    assert row["value"] == pytest.approx(means["X"] - means["Y"]) and row["low"] < row["value"] < row["high"]
    assert row["p"] < 0.05 and row["n"] == 16
    (change,) = tiltmeter.compare(known, "m1", file, resamples=200).query("group == 't0'").to_dict("records")
    assert change["value"] == pytest.approx(row["value"]) and change["low"] < change["difference"] < change["high"]


def test_each_measure_is_corrected_over_its_own_tests(tmp_path: Path) -> None:
    known, file = answers("seat"), own(tmp_path, "mean_gap", "x", "y")
    both, alone = (tiltmeter.compare(known, "m1", [*names, "effect_size"], resamples=200) for names in ([file], []))
    assert set(both["measure"]) == {"mean_gap", "effect_size"}
    n = alone["corrected_over"].unique()
    assert list(both["corrected_over"].unique()) == list(n)
    assert list(both.query("measure == 'effect_size'")["p_holm"]) == list(alone["p_holm"])


@pytest.mark.parametrize(("design", "reads"), [("ilps", ("logprob", "prior")), ("ceat", ("effects", "variances"))])
def test_what_is_not_stored_is_refused_with_the_reason(tmp_path: Path, design: str, reads: tuple[str, ...]) -> None:
    known, file = answers(design), own(tmp_path, "own_measure", *reads)
    for table in (
        tiltmeter.estimate(known, file, by=(), resamples=200), tiltmeter.estimate(known, by=(), resamples=200),
        tiltmeter.compare(known, "m1", file, resamples=200),
    ):  # fmt: skip
        rows = table[table["measure"] == "own_measure"]
        assert len(rows) and rows["value"].isna().all() and all(", ".join(reads) in note for note in rows["note"])


def test_what_either_model_lacks_is_missing() -> None:
    """Of the 16 targets of a test one model lacks two of X, the other one of Y."""
    whole = answers("seat")
    lost = {("m0", "X"): 2, ("m1", "Y"): 1}

    def lose(frame: pd.DataFrame) -> pd.DataFrame:
        place = frame.groupby(["model", "test", "set"]).cumcount()
        few = pd.Series([lost.get(key, 0) for key in zip(frame["model"], frame["set"], strict=True)], frame.index)
        return frame.assign(usable=frame["usable"] & (place >= few), reason=frame["reason"].where(place >= few, "lost"))

    both = whole.mapped(lambda frame: lose(frame) if "set" in frame else frame)
    (row,) = tiltmeter.compare(both, "m1", "effect_size", resamples=100).query("group == 't0'").to_dict("records")
    assert (row["n"], row["n_missing"]) == (13, 3)
