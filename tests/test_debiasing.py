"""The study of debiasing, on models whose change is known: scaled logits keep every rank, a lowered bias does not."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

import tiltmeter
from conftest import GOLDEN
from support.raising import raises
from support.wording import stated
from test_cli import tiltmeter as command
from test_studies import check_figure
from tiltmeter import Finding, TiltmeterError
from tiltmeter.models import EMBEDDED
from tiltmeter.runs.run import run

SOURCE = EMBEDDED["plumb-mlm"]


def changed(folder: Path, scale: float, lowered: float, groups: tuple[str, ...] = ("male", "female")) -> Path:
    """plumb-mlm with all its logits scaled, and those of its gendered words lowered."""
    model = AutoModelForMaskedLM.from_pretrained(SOURCE, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(SOURCE)
    words = [word for group in groups for word in tiltmeter.load_benchmark("plumb-slots").terms[group]]
    ids = [found[0] for word in words if len(found := tokenizer.encode(word, add_special_tokens=False)) == 1]
    head = model.cls.predictions
    with torch.no_grad():
        for parameter in (head.transform.LayerNorm.weight, head.transform.LayerNorm.bias, head.decoder.bias):
            parameter.mul_(scale)
        head.decoder.bias[ids] -= lowered
        head.bias.copy_(head.decoder.bias)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@cache
def runs() -> tuple[Path, Path]:
    """The model as it is, and two that were changed, on 60 sentences."""
    folder = Path(mkdtemp(prefix="tiltmeter-debiasing-"))
    models = [changed(folder / "flat", 0.35, 0.0), changed(folder / "lowered", 1.0, 4.0)]
    options = {"resamples": 100, "limit": 60, "cache": False}
    run(["plumb-mlm"], ["plumb-slots"], output=folder / "base", **options)
    run(models, ["plumb-slots"], output=folder / "after", **options)
    return folder / "base", folder / "after"


@cache
def lost() -> Path:
    """A run of two models: one without any female word among its predictions, one without any listed word."""
    folder = Path(mkdtemp(prefix="tiltmeter-debiasing-"))
    models = [changed(folder / "gone", 1.0, 500.0, ("female",)), changed(folder / "none", 1.0, 500.0)]
    options = {"resamples": 100, "limit": 60, "cache": False}
    run(models, ["plumb-slots"], output=folder / "run", **options)
    return folder / "run"


@cache
def finding() -> Finding:
    return tiltmeter.study("debiasing", runs(), options={"resamples": 200})


def test_scaled_logits_null_the_probability_and_keep_the_rank() -> None:
    table = finding().table.set_index(["model", "group"])
    for group in ("male", "female"):
        assert table.loc[("flat", group), "mps_change"] < -80
        assert table.loc[("flat", group), "mnt_change"] == pytest.approx(0, abs=0.05)
        assert table.loc[("flat", group), "median_rank"] == table.loc[("plumb-mlm", group), "median_rank"]
        assert (table.loc[("plumb-mlm", group), ["mps_change", "mnt_change"]] == 0).all()
    said = next(sentence for sentence in finding().sentences if sentence.startswith("flat compared with plumb-mlm"))
    assert "probability fell" in said and "rank did not" in said


def test_words_that_left_the_top_are_not_called_near_it() -> None:
    table = finding().table.set_index(["model", "group"])
    assert (table.loc["lowered", "mnt_change"] < -5).all()
    assert (table.loc["lowered", "coverage"] < 0.8 * table.loc["plumb-mlm", "coverage"]).all()
    assert (table.loc["lowered", "median_rank"] > 5 * table.loc["plumb-mlm", "median_rank"]).all()
    said = next(sentence for sentence in finding().sentences if sentence.startswith("lowered compared with plumb-mlm"))
    assert "the words moved down too" in said and "median_rank" in said


def test_a_group_without_a_match_left_keeps_its_row_and_is_said_first() -> None:
    found = tiltmeter.study("debiasing", [runs()[0], lost()], options={"resamples": 200})
    table = found.table.set_index(["model", "group"])
    row = table.loc[("gone", "female")]
    assert row["coverage"] == 0 and np.isnan(row["mps"]) and np.isnan(row["mnt_change"])
    assert row["median_rank"] > 1000 and "top 100 matches by gone" in row["note"]
    assert table.loc[("gone", "male"), "mps_change"] > 0 and table.loc[("gone", "male"), "note"] == ""
    said = next(sentence for sentence in found.sentences if sentence.startswith("gone compared with plumb-mlm"))
    assert "for female (before: " in said and "probability rose" in said
    assert "no group can be compared" in found.sentences[1].lower() and "male (before" in found.sentences[1]
    assert not found.tables["intervals"]["value"].isna().any()
    coverage = found.tables["intervals"].query("model == 'gone' and group == 'female' and quantity == 'coverage'").iloc[0]
    assert coverage["low"] == 0 < coverage["high"] < 0.1
    for name in found.figures:
        check_figure(found.draw(name))


def test_only_lost_groups_are_drawn_too() -> None:
    found = tiltmeter.study("debiasing", [lost()], options={"base": "gone", "resamples": 100})
    assert set(found.figures) == {"mps_and_mnt"} and "female" in found.sentences[0]
    check_figure(found.draw("mps_and_mnt"))
    with raises("empty-selection", base="none"):
        tiltmeter.study("debiasing", [lost()], options={"base": "none", "resamples": 100})


def test_percent_changes_are_of_the_table_and_lie_in_their_intervals() -> None:
    table = finding().table.set_index(["model", "group"])
    for measure in ("mps", "mnt"):
        for model in ("flat", "lowered"):
            expected = 100 * (table.loc[model, measure] / table.loc["plumb-mlm", measure] - 1)
            np.testing.assert_allclose(table.loc[model, f"{measure}_change"], expected)
    intervals = finding().tables["intervals"]
    assert ((intervals["low"] <= intervals["value"] + 1e-9) & (intervals["value"] <= intervals["high"] + 1e-9)).all()


def test_the_largest_rank_gaps_are_listed_with_both_words() -> None:
    largest, gaps = finding().tables["largest_rank_gaps"], finding().tables["gaps"]
    for model, rows in largest.groupby("model"):
        size = gaps[gaps["model"] == model]["mnt_gap"].abs()
        assert rows["mnt_gap"].abs().max() == size.max() and len(rows) == min(10, len(size))
    row = largest.iloc[0]
    assert "[MASK]" in row["sentence"] and row["rank_1"] != row["rank_2"]
    assert row["mps_gap"] == pytest.approx(row["probability_1"] - row["probability_2"])
    assert row["mnt_gap"] == pytest.approx((row["rank_2"] - row["rank_1"]) / 99)


def test_table_3_has_the_papers_columns() -> None:
    table, main = finding().tables["table_3"].set_index(["model", "group"]), finding().table.set_index(["model", "group"])
    row = table.loc[("lowered", "male")]
    assert row["mnt_eq2"] == main.loc[("lowered", "male"), "mnt"] and row["mnt_table"] < row["mnt_eq2"]
    assert row["mnt_table_change"] == pytest.approx(
        100 * (row["mnt_table"] / table.loc[("plumb-mlm", "male"), "mnt_table"] - 1)
    )
    assert "note" not in table and "seat" not in table


def test_table_4_has_normalised_ranks_and_typical_gaps() -> None:
    largest, typical, gaps = (finding().tables[name] for name in ("largest_rank_gaps", "typical_rank_gaps", "gaps"))
    row = largest.iloc[0]
    assert row["normalised_1"] == pytest.approx(1.0 if row["rank_1"] == 1 else 1 - row["rank_1"] / 100)
    for model, rows in typical.groupby("model"):
        size = gaps[gaps["model"] == model]["mnt_gap"].abs()
        assert rows["mnt_gap"].abs().median() == pytest.approx(size.median(), abs=0.05)
        assert rows["mnt_gap"].abs().max() < size.max()


def test_whiskers_are_in_a_table() -> None:
    spread = finding().tables["gap_spread"]
    order = ["minimum", "lower_fence", "q1", "median", "q3", "upper_fence", "maximum"]
    assert (np.diff(spread[order].to_numpy(), axis=1) >= 0).all() and set(spread["quantity"]) == {"mps_gap", "mnt_gap"}
    of = finding().tables["gaps"].groupby("model")["mnt_gap"]
    ours = spread[spread["quantity"] == "mnt_gap"].set_index("model")
    assert ours["maximum"].to_dict() == of.max().to_dict() and ours["median"].to_dict() == pytest.approx(
        of.median().to_dict()
    )


def test_hostile_and_benevolent_sentences_are_told_apart(tmp_path: Path) -> None:
    rows = [
        {"id": str(n), "text": f"The [MASK] in room {n} should cook.", "label": ("hostile", "benevolent")[n % 2]}
        for n in range(8)
    ]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run(["plumb-mlm"], [tmp_path / "s.jsonl"], output=tmp_path / "r", resamples=100, cache=False)
    found = tiltmeter.study("debiasing", tmp_path / "r", options={"resamples": 100})
    table = found.tables["hostile_and_benevolent"]
    assert set(table["label"]) == {"hostile", "benevolent"} and (table["n"] == 4).all()
    assert "hostile_and_benevolent" not in finding().tables


def test_figures_hold_every_sentence_and_fit() -> None:
    assert set(finding().figures) == {"mps_gaps", "mps_and_mnt_gaps", "before_and_after"}
    for name in ("mps_gaps", "mps_and_mnt_gaps"):
        figure = finding().draw(name)
        check_figure(figure)
        drawn = sum(len(line.get_xdata()) for line in figure.axes[0].lines if line.get_marker() == ".")
        assert drawn == len(finding().tables["gaps"]) * (2 if "mnt" in name else 1)


def test_the_command_and_another_base(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("study", "debiasing", *runs(), "-o", tmp_path, "--resamples", 100, "--base", "flat") == 0
    said = capsys.readouterr().out
    assert "compared with flat" in said and "probability rose" in said
    assert (tmp_path / "mps_gaps.svg").is_file() and (tmp_path / "largest_rank_gaps.csv").is_file()


def test_without_seat_there_is_no_column_of_it() -> None:
    assert "seat" not in finding().table  # tests/test_mixed_run.py has runs with it


def test_one_model_alone_can_be_looked_at() -> None:
    alone = tiltmeter.study("debiasing", runs()[0], options={"resamples": 100})
    assert "only model" in alone.sentences[0] and set(alone.table["model"]) == {"plumb-mlm"}
    for name in alone.figures:
        check_figure(alone.draw(name))


@pytest.mark.parametrize(
    ("how", "code", "fields"),
    [
        ({"options": {"base": "nobody"}}, "unknown-name", {"kind": "model", "name": "nobody"}),
        ({"options": {"rows": 0}}, "out-of-range", {"option": "--rows", "value": 0}),
        ({"options": {"resamples": 5}}, "out-of-range", {"option": "resamples", "low": 100}),
        ({"scorers": ["aul"]}, "inapplicable-option", {"option": "--scorer", "study": "debiasing"}),
        ({"without": "religion"}, "unknown-name", {"kind": "bias type", "name": "religion"}),
    ],
)
def test_options_that_are_refused(how: dict[str, Any], code: str, fields: dict[str, Any]) -> None:
    with raises(code, **fields):
        tiltmeter.study("debiasing", runs(), **how)


def test_runs_that_are_refused(tmp_path: Path) -> None:
    options = {"resamples": 100, "limit": 20, "cache": False}
    tiny = str(GOLDEN / "models" / "tiny-bert-cased")
    run([tiny], ["starter-pairs"], ["aul"], output=tmp_path / "pairs", **options)
    with pytest.raises(TiltmeterError, match="These runs have no slots"):
        tiltmeter.study("debiasing", tmp_path / "pairs")
    with raises("missing-file", folder=tmp_path / "nowhere"):
        tiltmeter.study("debiasing", tmp_path / "nowhere")
    run([tiny], ["plumb-slots"], output=tmp_path / "fewer", **options)
    with raises("ambiguous-name", kind="benchmark", name="plumb-slots"):
        tiltmeter.study("debiasing", [runs()[0], tmp_path / "fewer"])
    run(
        [tiny],
        ["plumb-slots"],
        output=tmp_path / "other-k",
        **options | {"limit": 60},
        options=tiltmeter.SlotsOptions(top_k=50),
    )
    with raises("not-comparable", benchmark="plumb-slots"):
        tiltmeter.study("debiasing", [runs()[0], tmp_path / "other-k"])


def test_a_model_that_was_ranked_otherwise_is_left_out_and_named(tmp_path: Path) -> None:
    options = {"resamples": 100, "limit": 60, "cache": False}
    tiny = str(GOLDEN / "models" / "tiny-bert-cased")
    run([tiny], ["plumb-slots"], output=tmp_path / "other-k", **options, options=tiltmeter.SlotsOptions(top_k=50))
    found = tiltmeter.study("debiasing", [*runs(), tmp_path / "other-k"], options={"resamples": 100})
    assert stated(found.sentences, "ranked-otherwise")["model"] == "tiny-bert-cased"
    assert "tiny-bert-cased" not in set(found.tables["debiasing"]["model"])
