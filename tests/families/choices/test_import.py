"""Predictions of others: published numbers of UnifiedQA to the printed digit, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tiltmeter
from support.raising import raises
from tiltmeter.families.choices.published import published

MEASURES = ("s_amb", "s_dis", "accuracy_amb", "accuracy_dis", "bias_cost")
PRINTED = {
    ("Age", "arc"): (48.9, 3.3, 33.9, 89.6, -5.5),
    ("Age", "race"): (29.8, 1.2, 54.7, 93.5, -2.2),
    ("Religion", "arc"): (24.5, 3.5, 43.8, 85.2, -4.3),
    ("Religion", "race"): (14.3, 0.2, 65.0, 88.0, -0.7),
}
"""UnifiedQA 11B in Parrish et al. (2022), Figures 2, 3, 5 and 6."""
QUESTION_ONLY = {"Age": (51.4, 30.3), "Religion": (21.3, 58.0)}


def imported(folder: Path, category: str, column: str) -> tiltmeter.Answers:
    return published(
        folder / "bbq" / "results" / "UnifiedQA" / f"preds_{category}.jsonl",
        model="unifiedqa",
        columns={"prediction": f"unifiedqa-t5-11b_pred_{column}"},
        benchmark="bbq",
        data_dir=folder,
        category=(category,),
    )


@pytest.mark.realdata
@pytest.mark.parametrize(("category", "column"), PRINTED)
def test_printed_numbers(realdata: Path, category: str, column: str) -> None:
    table = tiltmeter.estimate(imported(realdata, category, column), MEASURES, by="all", resamples=200)
    values = dict(zip(table["measure"], table["value"], strict=True))
    assert tuple(round(values[name], 1) for name in MEASURES) == PRINTED[category, column]


@pytest.mark.realdata
@pytest.mark.parametrize("category", QUESTION_ONLY)
def test_question_only(realdata: Path, category: str) -> None:
    table = tiltmeter.estimate(imported(realdata, category, "qonly"), ["s_amb", "accuracy_amb"], by="all", resamples=200)
    values = dict(zip(table["measure"], table["value"], strict=True))
    assert (round(values["s_amb"], 1), round(values["accuracy_amb"], 1)) == QUESTION_ONLY[category]


@pytest.mark.realdata
def test_physical_appearance_as_far_as_it_can_be_met(realdata: Path) -> None:
    """The paper prints 47.7 and 40.9: 36 questions of the prediction file have other answers than the data."""
    for column, expected in (("arc", 48.5), ("race", 41.6)):
        table = tiltmeter.estimate(imported(realdata, "Physical_appearance", column), "s_amb", by="all", resamples=200)
        assert round(float(table["value"].iloc[0]), 1) == expected


def predictions(tmp_path: Path, rows: list[dict[str, object]]) -> Path:
    path = tmp_path / "predictions.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_text_letter_and_number(tmp_path: Path) -> None:
    benchmark = tiltmeter.load_benchmark("plumb-choices")
    names = [item.id for item in benchmark.items]
    rows = [{"example_id": names[0], "prediction": "A"}, {"example_id": names[1], "prediction": "1"},
            {"example_id": names[2], "prediction": ""}]  # fmt: skip
    table = published(predictions(tmp_path, rows), benchmark="plumb-choices").table.set_index("item")
    assert table.loc[names[0], "chosen"] == 0 and table.loc[names[1], "chosen"] == 1
    assert table.loc[names[2], "reason"] == "empty answer" and table.loc[names[3], "reason"] == "no prediction"


@pytest.mark.parametrize(("ids", "code"), [(["age-1-1", "age-1-1"], "duplicate-name"), (["nothing"], "unknown-name")])
def test_repeated_and_unknown_ids_are_refused(tmp_path: Path, ids: list[str], code: str) -> None:
    path = predictions(tmp_path, [{"example_id": name, "prediction": "A"} for name in ids])
    with raises(code, names=[ids[0]]):
        published(path, benchmark="plumb-choices")


def test_rows_of_another_category_are_refused(tmp_path: Path) -> None:
    """Numbers of questions are the same in all categories, so that the row would count for a question it is not about."""
    age = tiltmeter.load_benchmark("plumb-choices", category="age")
    rows = [{"example_id": "1-1", "category": name, "prediction": "A"} for name in ("Age", "religion")]
    assert published(predictions(tmp_path, rows[:1]), benchmark=age).table["chosen"].notna().sum() == 1
    with raises("unknown-name", names=["religion-1-1"]):
        published(predictions(tmp_path, rows), benchmark=age)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = predictions(tmp_path, [{"example_id": "age-1-1", "answer": "A"}])
    with raises("missing-column", column="prediction"):
        published(path, benchmark="plumb-choices")


def test_a_loaded_benchmark_is_taken(tmp_path: Path) -> None:
    path = predictions(tmp_path, [{"example_id": "age-1-1", "prediction": "A"}])
    loaded = tiltmeter.load_benchmark("plumb-choices", category="age")
    assert len(tiltmeter.import_scores(path, benchmark=loaded).table) == len(loaded)
    with raises("inapplicable-option", option="category"):
        published(path, benchmark=loaded, category=("age",))
    with raises("empty-selection", benchmark="starter-pairs"):
        published(path, benchmark=tiltmeter.load_benchmark("starter-pairs"))
