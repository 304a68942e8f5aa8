"""The command line as a user meets it: what is printed, what is written, what it exits with."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conftest import GOLDEN
from tiltmeter import TiltmeterError, estimate
from tiltmeter.cli import main
from tiltmeter.runs import load_answers, load_run

BERT, ALBERT, GPT = (str(GOLDEN / "models" / name) for name in ("tiny-bert-cased", "tiny-albert", "tiny-gpt2"))


def tiltmeter(*words: object) -> int:
    """Runs the command line in this process and gives its exit code."""
    before = sys.argv
    sys.argv = ["tiltmeter", *map(str, words)]
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    finally:
        sys.argv = before
    return 0


def refused(*words: object) -> TiltmeterError:
    """Run a command that must end with exit code 2, and return its error, so that code and fields can be checked."""
    before = sys.argv
    sys.argv = ["tiltmeter", *map(str, words)]
    try:
        with pytest.raises(SystemExit) as stop:
            main()
    finally:
        sys.argv = before
    assert stop.value.code == 2
    error = stop.value.__context__
    assert isinstance(error, TiltmeterError), error
    return error


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two masked models on the embedded pairs."""
    assert (
        tiltmeter(
            "run",
            "-m",
            BERT,
            "-m",
            ALBERT,
            "-b",
            "starter-pairs",
            "-o",
            tmp_path / "run",
            "--resamples",
            100,
            "-s",
            "aul",
            "-s",
            "cps",
        )
        == 0
    )
    return tmp_path / "run"


def test_the_default_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert tiltmeter("run", "--limit", 24) == 0
    out, _ = capsys.readouterr()
    for model in ("plumb-mlm", "plumb-clm"):
        assert f"{model} on plumb-pairs: " in out
    assert "lms" in out and "icat" in out
    assert "neutral 50" in out and "bias_score" in out and "kls" in out
    assert "significant lean" in out
    assert re.search(r"^plumb-mlm on plumb-slots:", out, re.MULTILINE)
    assert "plumb-clm on plumb-slots" not in out and "mps_gap" in out
    (folder,) = (tmp_path / "runs").iterdir()
    assert {path.name for path in folder.iterdir()} == {
        "manifest.json", "items.parquet", "scores.parquet", "slots.parquet", "predictions.parquet", "estimates.csv",
        "estimates.json", "observations", "report.html",
    }  # fmt: skip


def test_a_run_folder_holds_what_is_promised(run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["status"] == "finished"
    assert manifest["schema"] == 2 and manifest["families"] == {"pairs": ["scores"]}
    evaluation = manifest["evaluations"][0]
    assert len(evaluation["model"]["weights_sha256"]) == 64
    assert len(evaluation["benchmark"]["data_sha256"]) == 64
    assert manifest["asked"]["seed"] == 0 and manifest["versions"]["torch"]
    scores = pd.read_parquet(run / "scores.parquet")
    assert list(scores.columns[:8]) == ["model", "benchmark", "item", "role", "scorer", "score", "n_tokens", "reason"]
    assert len(scores) == 2 * 2 * 60 * 2
    tokens = pd.read_parquet(next((run / "observations" / "tiny-albert" / "starter-pairs" / "each").iterdir()))
    one = tokens[(tokens["item"] == "own-20") & (tokens["role"] == "stereo")]
    total = scores.query("model == 'tiny-albert' and scorer == 'cps' and item == 'own-20' and role == 'stereo'")[
        "score"
    ].item()
    assert one[~one["modified"]]["logprob"].astype(float).sum() == pytest.approx(total, abs=1e-5)


def test_estimates_on_disk_are_those_of_the_api(run: Path) -> None:
    again = estimate(load_answers([run]), resamples=100)
    stored = pd.read_csv(run / "estimates.csv")
    assert list(stored)[:4] == ["model", "benchmark", "family", "scorer"] and set(stored["family"]) == {"pairs"}
    pd.testing.assert_series_equal(stored["value"], again["value"], rtol=1e-14, atol=0)
    rows = json.loads((run / "estimates.json").read_text())
    assert [row["value"] for row in rows] == pytest.approx(
        again["value"].where(again["value"].notna(), None).tolist(), rel=1e-12
    )
    assert load_run(run).estimates["n"].tolist() == again["n"].tolist()


def test_estimate_and_compare_commands(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        tiltmeter("estimate", run, "--measure", "bias_score", "-s", "aul", "--by", "bias_type", "--resamples", 100, "--json")
        == 0
    )
    rows = json.loads(capsys.readouterr().out)
    assert {row["scorer"] for row in rows} == {"aul"} and {row["by"] for row in rows} == {"all", "bias_type"}
    assert tiltmeter("compare", run, "--measure", "bias_score", "--resamples", 100) == 0
    shown = capsys.readouterr().out
    assert "tiny-albert" in shown and "baseline" in shown
    assert tiltmeter("compare", run, "--baseline", "tiny-albert", "--measure", "kls", "--resamples", 100, "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["model"] for row in rows} == {"tiny-bert-cased"}
    assert all(row["difference"] == pytest.approx(row["value"] - row["baseline_value"]) for row in rows)


def test_masked_and_causal_models_in_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    triples = GOLDEN / "data" / "triples_stereoset_format.json"
    assert (
        tiltmeter(
            "run", "-m", BERT, "-m", GPT, "-b", "starter-pairs", "-b", triples, "-o", tmp_path / "r", "--resamples", 100
        )
        == 0
    )
    table = load_run(tmp_path / "r").estimates
    assert set(table["benchmark"]) == {"starter-pairs", "stereoset"}
    assert "stereoset_masked" in set(table[table["model"] == "tiny-bert-cased"]["scorer"])
    assert set(table[table["model"] == "tiny-gpt2"]["scorer"]) == {"causal", "causal_mean", "stereoset_causal"}
    assert set(table[table["benchmark"] == "starter-pairs"]["measure"]) == {
        "bias_score",
        "kls",
        "jss",
        "jss_liu",
        "mean_preference",
    }
    assert {"ss", "lms", "icat"} <= set(table[table["benchmark"] == "stereoset"]["measure"])
    capsys.readouterr()
    assert tiltmeter("compare", tmp_path / "r") == 2
    assert "no scorer" in " ".join(capsys.readouterr().err.split())


def test_your_own_pairs_with_columns_and_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (tmp_path / "mine.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["a", "b", "kind", "region"])
        for n in range(12):
            writer.writerow(
                [f"The tall boy number {n} won.", f"The short boy number {n} won.", "size", "north" if n % 2 else "south"]
            )
    words = ["--columns", "stereo=a,anti=b,bias_type=kind", "--by", "region", "--resamples", 100, "--json", "--limit", 10]
    assert tiltmeter("run", "-m", BERT, "-b", tmp_path / "mine.csv", "-s", "aul", "-o", tmp_path / "r", *words) == 0
    rows = json.loads(capsys.readouterr().out)
    counts = {row["group"]: row["n"] for row in rows if row["measure"] == "bias_score"}
    assert counts == {"all": 10, "north": 5, "south": 5}


def test_import_of_published_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [";sent_more;sent_less;sent_more_score;sent_less_score;score;stereo_antistereo;bias_type"]
    for n in range(20):
        more, less = -20 - n, -20 - (n if n == 3 else n + (1 if n % 4 else -1))
        lines.append(
            f"{n};He, the {n}th, left.;She, the {n}th, left.;{more};{less};1;{'stereo' if n % 3 else 'antistereo'};gender"
        )
    file = tmp_path / "published.csv"
    file.write_text("\n".join(lines), encoding="utf-8")
    assert tiltmeter("import", file, "-o", tmp_path / "r", "-m", "bert", "-s", "cps_nyu", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    (overall,) = (row for row in rows if row["measure"] == "bias_score" and row["by"] == "all")
    assert (overall["n"], overall["n_ties"], overall["model"], overall["scorer"]) == (20, 1, "bert", "cps_nyu")
    assert overall["value"] == pytest.approx(100 * 14 / 20)


@pytest.mark.parametrize("what", ["families", "scorers", "measures", "benchmarks", "models", "views", "studies"])
def test_list(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tiltmeter("list", what) == 0
    assert capsys.readouterr().out.strip()
    assert tiltmeter("list", what, "--json") == 0
    assert all(row["name"] for row in json.loads(capsys.readouterr().out))


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert tiltmeter("--version") == 0
    assert capsys.readouterr().out.startswith("tiltmeter ")
    assert tiltmeter("run", "--help-all") == 0
    shown = capsys.readouterr().out
    for option in ("--by", "--limit", "--seed", "--device", "--precision", "--batch-tokens", "--json"):
        assert option in shown
    for panel, option in (
        ("Pairs of sentences", "--alignment"), ("Words that fill a mask", "--top-k"), ("Association tests", "--corpus"),
    ):  # fmt: skip
        assert option in shown[shown.index(panel) :]  # the options of a family are in a panel of its own


def test_help_shows_fifteen_options_and_names_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert tiltmeter("run", "--help") == 0
    first, _, rest = capsys.readouterr().out.partition("more options")
    explained = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", first, re.M)
    assert len(explained) == 15 + 2 and explained[-2:] == ["--help", "--help-all"]
    assert tiltmeter("run", "--help-all") == 0
    everything = set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", capsys.readouterr().out, re.M))
    named = re.findall(r"--[a-z-]+", rest.partition("\n")[2])
    assert len(named) == len(set(named)) > 50
    assert {*explained, *named} == everything
    assert all(panel in rest for panel in ("Pairs of sentences:", "Words that fill a mask:", "Estimates:"))


@pytest.mark.parametrize(
    "old, new", [(["--explained", "-1"], "--attribution-texts"), (["--explained=-1"], "--attribution-texts")]
)
def test_a_former_flag_works_and_warns(old: list[str], new: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tiltmeter("run", "-b", "plumb-labels", *old) == 2
    warning, error = capsys.readouterr().err.strip().splitlines()
    assert warning.startswith("Warning:") and error.startswith("Error:") and new in warning and new in error


def test_a_bare_list_names_the_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    assert tiltmeter("list") == 0
    shown = capsys.readouterr().out
    assert all(kind in shown for kind in ("benchmarks", "models", "judges")) and "classifiers" not in shown


def test_an_earlier_run_is_replaced_where_that_was_asked_for(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("run", "-m", GPT, "-b", "starter-pairs", "-o", run, "--resamples", 100)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert tiltmeter(*words) == 2 and "--overwrite" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    assert tiltmeter(*words, "--overwrite") == 0
    again = load_run(run)
    assert set(again.answers["pairs"].to_pandas()["model"]) == {"tiny-gpt2"}
    assert [path.name for path in (run / "observations").iterdir()] == ["tiny-gpt2"]
    assert np.isfinite(again.manifest["seconds"])


def test_progress_goes_to_standard_error_only(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    os.environ.pop("FORCE_COLOR", None)
    words = ("run", "-m", BERT, "-b", "starter-pairs", "-o", run, "-s", "aul", "--resamples", 100, "--json")
    assert tiltmeter(*words, "--overwrite") == 0
    json.loads(capsys.readouterr().out)
