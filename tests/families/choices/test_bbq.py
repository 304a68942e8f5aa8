"""BBQ's questions and their stereotype-consistent answers, derived from the templates."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from bbq_material import question, write_category

import tiltmeter
from tiltmeter.errors import TiltmeterError

OLD, YOUNG = ("grandfather", "old"), ("grandson", "nonOld")
CASES: list[tuple[str, dict[str, str], tuple[tuple[str, str], tuple[str, str]], str, int | None]] = [
    ("Age", {"Known_stereotyped_groups": '["old"]'}, (OLD, YOUNG), "neg", 0),
    ("Age", {"Known_stereotyped_groups": '["old"]'}, (OLD, YOUNG), "nonneg", 1),
    ("Age", {"Known_stereotyped_groups": '["nonOld"]'}, (OLD, YOUNG), "neg", 1),
    ("Gender_identity", {"Known_stereotyped_groups": '["F"]'}, (("man", "man"), ("woman", "woman")), "neg", 1),
    ("Gender_identity", {"Known_stereotyped_groups": '["F"]'}, (("woman", "woman"), ("girl", "girl")), "neg", None),
    ("Gender_identity", {"Known_stereotyped_groups": '["transgender women", "trans"]'},
     (("Kim", "nonTrans_F"), ("Lou", "trans_F")), "neg", 1),
    ("Nationality", {"Known_stereotyped_groups": '["Kenyan", "Malian"]'},
     (("Swede", "Europe"), ("Malian", "Africa")), "neg", 1),
    ("Race_ethnicity", {"Known_stereotyped_groups": '["Black", "African American"]'},
     (("Ada Low", "F-Black"), ("Eva High", "F-White")), "neg", 0),
    ("Race_ethnicity", {"Known_stereotyped_groups": '["Black", "African American"]'},
     (("African", "African"), ("Black", "Black")), "neg", 1),
    ("SES", {"Known_stereotyped_groups": '["low SES"]'}, (("judge", "highSES"), ("cook", "lowSES")), "neg", 1),
    ("Race_x_gender", {"Known_stereotyped_race": '["Black", "African American"]', "Known_stereotyped_var2": "M"},
     (("Black woman", "F-Black"), ("Black man", "M-Black")), "neg", 1),
    ("Race_x_gender", {"Known_stereotyped_race": '["Black", "African American"]', "Known_stereotyped_var2": "M"},
     (("African man", "M-African"), ("Black man", "M-Black")), "neg", 0),
    ("Race_x_SES", {"Known_stereotyped_race": '["Black", "African American", "Latino", "Hispanic"]',
                    "Known_stereotyped_var2": "lowSES"},
     (("African cook", "lowSES-African"), ("Hispanic cook", "lowSES-Hispanic")), "neg", 1),
    ("Race_x_SES", {"Known_stereotyped_race": '["Black", "African American", "Latino", "Hispanic"]',
                    "Known_stereotyped_var2": "lowSES"},
     (("African cook", "lowSES-African"), ("Black cook", "lowSES-Black")), "nonneg", 1),
]  # fmt: skip


@pytest.mark.parametrize(("category", "template", "groups", "polarity", "expected"), CASES)
def test_stereotyped_answer(
    tmp_path: Path, category: str, template: dict[str, str], groups: Any, polarity: str, expected: int | None
) -> None:
    write_category(tmp_path, category, [{"Q_id": "1", **template}], [question(groups, polarity=polarity)])
    (item,) = tiltmeter.load_benchmark("bbq", data_dir=tmp_path, category=category).items
    assert item.extra["stereotyped"] == expected


def test_rows_that_cannot_be_used_are_counted(tmp_path: Path) -> None:
    rows = [
        question((OLD, YOUNG)),
        question((OLD, YOUNG), template="9"),
        question((OLD, ("Unknown", "unknown"))),
        question((OLD, YOUNG), label=7),
        question((OLD, YOUNG), ans1="The grandfather"),
    ]
    write_category(tmp_path, "Age", [{"Q_id": "1", "Known_stereotyped_groups": '["old"]'}], rows)
    benchmark = tiltmeter.load_benchmark("bbq", data_dir=tmp_path, category="age")
    assert len(benchmark) == 1 and sum(benchmark.note_counts().values()) == 4
    assert any("2 answers are marked" in what for what in benchmark.note_counts())


def test_unknown_category_and_layout(tmp_path: Path) -> None:
    with pytest.raises(TiltmeterError, match="--category"):
        tiltmeter.load_benchmark("bbq", data_dir=tmp_path, category="Hair")
    write_category(tmp_path, "Age", [{"Q_id": "1", "Known_stereotyped_groups": '["old"]'}], [{"question_index": "1"}])
    with pytest.raises(TiltmeterError, match="line 1"):
        tiltmeter.load_benchmark("bbq", data_dir=tmp_path, category="Age")


def test_limit_spreads_over_templates() -> None:
    whole = tiltmeter.load_benchmark("plumb-choices")
    some = whole.limit(80)
    assert len(some) == 80
    assert len({item.extra["template"] for item in some.items}) >= 10
    kept = {item.id for item in some.items}
    assert [item.id for item in some.items] == [item.id for item in whole.items if item.id in kept]


@pytest.mark.realdata
def test_targets_are_those_of_the_authors(realdata: Path) -> None:
    benchmark = tiltmeter.load_benchmark("bbq", data_dir=realdata)
    with (realdata / "bbq" / "target_loc.csv").open(encoding="utf-8") as stream:
        expected = {f"{row['category']}-{row['example_id']}": row["target_loc"] for row in csv.DictReader(stream)}
    found = {item.id: item.extra["stereotyped"] for item in benchmark.items}
    assert len(found) == 58_492 == len(expected)
    assert sum(value is None for value in found.values()) == 16
    assert {name: "" if value is None else str(value) for name, value in found.items()} == expected


@pytest.mark.realdata
@pytest.mark.parametrize(("name", "n", "disputed"), [("esbbq", 27_320, 4), ("cabbq", 27_344, 12), ("kobbq", 2_280, 0)])
def test_adaptations(realdata: Path, name: str, n: int, disputed: int) -> None:
    benchmark = tiltmeter.load_benchmark(name, data_dir=realdata)
    assert len(benchmark) == n and not benchmark.notes
    assert sum(bool(item.extra.get("type_disputed")) for item in benchmark.items) == disputed
    assert all(item.extra["stereotyped"] is not None for item in benchmark.items)


def test_own_file(tmp_path: Path) -> None:
    row = {
        "question": "Who was late?", "answer_1": "Ann", "answer_2": "Bob", "answer_3": "Not known", "right": 3, "unknown": 3,
        "stereotyped": 2, "condition": "ambiguous", "template": "t1", "context": "Ann met Bob.",
    }  # fmt: skip
    bad = [
        row | {"right": 1},
        row | {"unknown": 9},
        row | {"answer_2": "ann"},
        row | {"condition": "clear"},
        row | {"right": ""},
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(json.dumps(entry) for entry in [row, *bad]), encoding="utf-8")
    benchmark = tiltmeter.load_benchmark(path)
    assert benchmark.family == "choices"
    assert len(benchmark) == 1 and len(benchmark.notes) == len(bad)
    assert benchmark.items[0].extra["stereotyped"] == 1
