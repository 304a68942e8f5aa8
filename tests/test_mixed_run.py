"""Pairs, slots and association tests in one run: one table, one folder, and each kind estimated by its own measures."""

from __future__ import annotations

import json
import lzma
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pandas as pd
import pytest

import tiltmeter
from conftest import GOLDEN
from test_cli import tiltmeter as command
from tiltmeter import TiltmeterError, catalog
from tiltmeter.associating import Asking
from tiltmeter.evaluating import Options
from tiltmeter.group_estimating import Settings
from tiltmeter.running import run
from tiltmeter.runs import Run, load_run

BERT = GOLDEN / "models" / "tiny-bert-cased"
GPT2 = GOLDEN / "models" / "tiny-gpt2"
QUICK = Options(settings=Settings(100), limit=12, cache=False)


@cache
def mixed() -> Run:
    folder = Path(mkdtemp(prefix="tiltmeter-mixed-"))
    return run(BERT, ["starter-pairs", "plumb-slots", "seat"], "aul", output=folder, options=QUICK)


def test_each_kind_has_its_rows_and_its_table() -> None:
    estimates = mixed().estimates
    of = estimates.groupby("benchmark")["measure"].agg(set)
    assert {"bias_score", "kls"} <= of["starter-pairs"]
    assert {"mps", "mnt", "mnt_gap"} <= of["plumb-slots"]
    assert of["seat"] == {"effect_size", "mean_abs_effect"}
    again = load_run(mixed().folder)
    pd.testing.assert_frame_equal(again.estimates, estimates, check_dtype=False)
    assert {one["benchmark"]["name"] for one in again.manifest["evaluations"]} == set(of.index)
    for name in ("scores", "slots", "associations", "items"):
        assert (mixed().folder / f"{name}.parquet").is_file()


def test_everything_is_printed_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("-b", "starter-pairs", "-b", "plumb-slots", "-b", "seat", "-s", "aul", "--limit", 12, "--resamples", 100)
    assert command("run", "-m", BERT, *asked, "-o", tmp_path / "r") == 0
    out = capsys.readouterr().out
    for benchmark in ("starter-pairs", "plumb-slots", "seat"):
        assert out.count(f"tiny-bert-cased × {benchmark}") == 1
        assert out.count(f"tiny-bert-cased on {benchmark}:") == 1


def test_a_measure_named_takes_the_rows_of_its_kind_alone(tmp_path: Path) -> None:
    one = run(BERT, ["starter-pairs", "seat"], "aul", ["effect-size"], output=tmp_path / "r", options=QUICK)
    assert set(one.estimates["measure"]) == {"effect_size"}
    two = run(BERT, ["starter-pairs", "seat"], "aul", ["bias_score"], output=tmp_path / "r", options=QUICK)
    assert set(two.estimates["measure"]) == {"bias_score"}
    with pytest.raises(TiltmeterError, match="no benchmark here has that"):
        run(BERT, "starter-pairs", "aul", ["effect_size"], output=tmp_path / "s", options=QUICK)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("model", "scorers", "measures", "asked"),
    [
        (BERT, None, None, {"plumb-pairs", "plumb-slots"}),
        (BERT, "aul", None, {"plumb-pairs"}),
        (BERT, None, "bias_score", {"plumb-pairs"}),
        (BERT, None, "mps", {"plumb-slots"}),
        (BERT, "aul", ["bias_score", "mps"], {"plumb-pairs", "plumb-slots"}),
        (BERT, "aul", "mps", {"plumb-slots"}),
        (GPT2, None, None, {"plumb-pairs"}),
        (GPT2, None, "mps", {"plumb-slots"}),
    ],
)
def test_without_benchmarks_the_embedded_ones_that_are_concerned(
    tmp_path: Path, model: Path, scorers: str | None, measures: str | list[str] | None, asked: set[str]
) -> None:
    done = run(model, None, scorers, measures, tmp_path / "r", replace(QUICK, limit=3))
    assert set(done.estimates["benchmark"]) == asked
    assert {one["benchmark"]["name"] for one in done.manifest["evaluations"]} == asked
    assert set(done.manifest["asked"]["benchmarks"]) == asked


@pytest.mark.parametrize(("by", "slots"), [("target", True), ("stereotype", True), ("all", True), ("contrast", False)])
def test_a_column_that_the_slots_do_not_have_leaves_them_out(tmp_path: Path, by: str, slots: bool) -> None:
    done = run(BERT, options=replace(QUICK, limit=3, by=[by]), output=tmp_path / "r")
    assert ("plumb-slots" in set(done.estimates["benchmark"])) == slots
    assert command("estimate", tmp_path / "r", "--by", by, "--resamples", 100) == 0


def test_a_column_of_the_pairs_alone_groups_the_pairs_of_a_stored_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(BERT, options=replace(QUICK, limit=3), output=tmp_path / "r")
    assert command("estimate", tmp_path / "r", "--by", "contrast", "--json", "--resamples", 100) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["by"] for row in rows if row["benchmark"] == "plumb-pairs"} == {"all", "contrast"}
    assert {row["by"] for row in rows if row["benchmark"] == "plumb-slots"} == {"group", "gap"}
    for asked in (["--by", "nothing"], ["--by", "contrast", "--measure", "mps"]):
        assert command("estimate", tmp_path / "r", *asked, "--resamples", 100) == 2


def test_slots_that_nobody_asked_for_are_left_out_where_they_cannot_be_asked(tmp_path: Path) -> None:
    many = replace(QUICK, limit=3, top_k=100_000)
    assert set(run(BERT, options=many, output=tmp_path / "r").estimates["benchmark"]) == {"plumb-pairs"}
    with pytest.raises(TiltmeterError, match="top-k"):
        run(BERT, "plumb-slots", options=many, output=tmp_path / "s")


def test_words_for_slots_are_asked_of_a_causal_model_too(tmp_path: Path) -> None:
    words = tmp_path / "words.json"
    words.write_text('{"one": ["he", "she"], "other": ["they", "we"]}')
    done = run(GPT2, output=tmp_path / "r", options=replace(QUICK, limit=3, terms=words))
    assert set(done.estimates["benchmark"]) == {"plumb-pairs", "plumb-slots"}
    assert done.slots is not None and set(done.slots.frame["group"]) == {"one", "other"}


def test_estimates_again_from_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("estimate", mixed().folder, "--json", "--resamples", 100) == 0
    assert '"mnt"' in capsys.readouterr().out
    run(BERT, "seat", output=tmp_path / "r", options=QUICK)
    assert command("estimate", tmp_path / "r") == 2
    assert "estimates.csv has them" in capsys.readouterr().err


def test_the_debiasing_study_shows_seat_where_both_runs_have_it(tmp_path: Path) -> None:
    for name in ("plumb-mlm", "zoo"):
        model = "plumb-mlm" if name == "plumb-mlm" else BERT
        run(model, ["plumb-slots", "seat"], output=tmp_path / name, options=QUICK)
    table = tiltmeter.study("debiasing", [tmp_path / "plumb-mlm", tmp_path / "zoo"], resamples=100).table
    seat = pd.concat(load_run(tmp_path / name).estimates for name in ("plumb-mlm", "zoo"))
    wanted = seat[(seat["measure"] == "mean_abs_effect") & (seat["group"] == "gender")].set_index("model")["value"]
    assert table.groupby("model")["seat"].first().to_dict() == pytest.approx(wanted.to_dict())


def test_a_mistake_found_after_the_start_leaves_nothing(tmp_path: Path) -> None:
    """That an archive is cut short is found only when it is read, and then a model has been loaded already."""
    (tmp_path / "text.xz").write_bytes(lzma.compress(b"These are five words here.\n" * 9000)[:-40])
    asking = Asking(corpus=[tmp_path / "text.xz"])
    with pytest.raises(TiltmeterError, match="corrupt or truncated"):
        run(BERT, "ceat", output=tmp_path / "r", options=replace(QUICK, asking=asking))
    assert not (tmp_path / "r").exists()
    (tmp_path / "mine").mkdir()
    with pytest.raises(TiltmeterError, match="corrupt or truncated"):
        run(BERT, "ceat", output=tmp_path / "mine", options=replace(QUICK, asking=asking))
    assert list((tmp_path / "mine").iterdir()) == []  # a folder that was there stays


@pytest.mark.parametrize("benchmark", ["starter-pairs", "plumb-slots", "ilps", "ceat"])
def test_static_vectors_are_refused_before_another_model_is_asked(tmp_path: Path, benchmark: str) -> None:
    (tmp_path / "v.txt").write_text("man 1 2\n")
    options = replace(QUICK, asking=Asking(corpus=[tmp_path / "v.txt"]))
    with pytest.raises(TiltmeterError, match=f"file of static vectors, .* seat alone; run {benchmark} without it"):
        run([BERT, tmp_path / "v.txt"], ["seat", benchmark], output=tmp_path / "r", options=options)


def test_figures_and_tables_of_association_tests(tmp_path: Path) -> None:
    drawn = tiltmeter.figure("estimates", mixed().folder, by="test", measure=["effect_size"])
    labels = [label.get_text() for axis in drawn.axes for label in axis.get_yticklabels()]
    tested = mixed().estimates.query("measure == 'effect_size'")
    assert len(labels) == len(tested) and any("gender-work-home" in label for label in labels)
    shown = tiltmeter.table("estimates", mixed().folder, measure=["effect_size", "mean_abs_effect"])
    assert set(shown["by"]) == {"test", "family"} and len(shown) == len(tested) + (shown["by"] == "family").sum()
    run(BERT, "seat", output=tmp_path / "r", options=QUICK)
    with pytest.raises(TiltmeterError, match="--by test"):
        tiltmeter.figure("estimates", tmp_path / "r")


@pytest.mark.parametrize("benchmark", ["seat", "plumb-slots"])
def test_no_study_of_scores_stumbles_over_a_run_without_any(tmp_path: Path, benchmark: str) -> None:
    run(BERT, benchmark, output=tmp_path / "r", options=QUICK)
    for name in catalog.names("studies"):
        if name != "debiasing":
            with pytest.raises(TiltmeterError, match="hold no scores of sentences"):
                tiltmeter.study(name, tmp_path / "r")
    with pytest.raises(TiltmeterError, match="hold no scores of sentences"):
        tiltmeter.figure("robustness", tmp_path / "r")
