"""Data of the stereotype judge: intersentence items behind their context, tables that are added, the paper's recipe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tiltmeter.errors import InputError, UsageError
from tiltmeter.judges.kit.labelled import read_labelled
from tiltmeter.judges.kit.training import RECIPES


def sentences(kind: str, n: int) -> list[dict[str, Any]]:
    labels = ("stereotype", "anti-stereotype", "unrelated")
    return [{"id": f"{kind}{n}{label}", "gold_label": label, "sentence": f"{kind} {n} {label}."} for label in labels]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A StereoSet of both parts and a CrowS-Pairs, in their layouts."""
    from tiltmeter.benchmarks.crows_pairs import SOURCE as CROWS
    from tiltmeter.benchmarks.stereoset import SOURCE

    def rows(part: str, context: str) -> list[dict[str, Any]]:
        same = {"bias_type": "gender", "target": "sister"}
        return [{"id": f"{part}{n}", "context": context, "sentences": sentences(part, n), **same} for n in range(60)]

    whole = {"data": {"intrasentence": rows("intra", "My sister is BLANK."), "intersentence": rows("inter", "She came in.")}}
    stereoset, crows = tmp_path / SOURCE.relative, tmp_path / CROWS.relative
    for path in (stereoset, crows):
        path.parent.mkdir(parents=True, exist_ok=True)
    stereoset.write_text(json.dumps(whole))
    lines = [f'{n},"Women are late {n}.","Men are late {n}.",stereo,gender' for n in range(60)]
    crows.write_text("\n".join([",sent_more,sent_less,stereo_antistereo,bias_type", *lines]) + "\n")
    return tmp_path


def texts(data: Path, **options: Any) -> list[str]:
    found = read_labelled("stereotype", None, data, **options)
    return [row.text for part in (found.train, found.held_out, found.test) for row in part if "inter " in row.text]


def test_intersentence_items_stand_behind_their_context(data: Path) -> None:
    assert len(texts(data)) == 120 and all(text.startswith("She came in. inter ") for text in texts(data))
    assert texts(data, intersentence="none") == []
    assert all(text.startswith("inter ") for text in texts(data, intersentence="alone"))
    with pytest.raises(UsageError) as caught:
        read_labelled("regard", None, data, intersentence="none")
    assert caught.value.code == "inapplicable-option"


def test_a_table_is_added(data: Path, tmp_path: Path) -> None:
    table = tmp_path / "frames.csv"
    table.write_text("text,label\n" + "".join(f"own {n},{'stereotype' if n % 2 else 'other'}\n" for n in range(100)))
    alone, both = read_labelled("stereotype", None, data), read_labelled("stereotype", None, data, add=table)
    assert len(both.train) > len(alone.train) and set(alone.train) < set(both.train) and both.names == alone.names
    own = {
        row.text: row.label for part in (both.train, both.held_out, both.test) for row in part if row.text.startswith("own")
    }
    assert len(own) == 100 and own["own 1"] == both.negative and own["own 2"] != both.negative
    table.write_text("text,label\n" + "".join(f"own {n},{('a', 'b', 'stereotype')[n % 3]}\n" for n in range(100)))
    with pytest.raises(InputError) as caught:
        read_labelled("stereotype", None, data, add=table)
    assert caught.value.code == "unknown-name"


def test_the_papers_recipe_has_no_warm_up() -> None:
    for name in ("toxicity", "stereotype"):
        assert RECIPES[name].warmup == 0.0 and RECIPES[name].dropout == 0.1
