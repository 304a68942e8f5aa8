"""SEAT from a file or the data folder to the estimates table, and what is refused or counted on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiltmeter
from association_material import associate
from conftest import CAUSAL, GOLDEN, MASKED, golden_model, reference
from support.raising import raises
from test_cli import tiltmeter as command
from tiltmeter.benchmarks import AssociationBenchmark
from tiltmeter.families import find_family
from tiltmeter.models import load_any
from tiltmeter.runs import load_run

BERT = GOLDEN / "models" / "tiny-bert-cased"
MINI = GOLDEN / "data" / "own-seat-mini.jsonl"


def test_file(folder: Path, **sets: Any) -> Path:
    """A test in SEAT's layout, with some sets replaced."""
    document = json.loads(MINI.read_text())
    for part, examples in sets.items():
        document[part]["examples"] = examples
    (folder / "mine.jsonl").write_text(json.dumps(document, indent=1))
    return folder / "mine.jsonl"


test_file.__test__ = False  # type: ignore[attr-defined]


def load(path: Path | str, **options: Any) -> AssociationBenchmark:
    bench = tiltmeter.load_benchmark(path, **options)
    assert isinstance(bench, AssociationBenchmark)
    return bench


@pytest.mark.parametrize("name", [*MASKED, *CAUSAL])
def test_own_file_equals_the_reference(name: str) -> None:
    """One JSON document in a .jsonl file is told from a table of pairs; pooling mean is bias-bench's."""
    done = associate(golden_model(name), load(MINI), cache=False)
    (row,) = done.estimates.to_dict("records")
    expected = reference("seat_bias_bench")[name]["own-seat-mini"]
    assert row["value"] == pytest.approx(expected["effect_size"], abs=1e-5)
    assert row["p"] == pytest.approx(expected["p_value"], abs=1e-9) and "exact p over 12,870" in row["note"]
    assert row["low"] < row["value"] < row["high"] and row["neutral"] == 0 and row["n"] == 16
    targets = done.facts[done.facts["set"].isin(["X", "Y"])]
    assert len(targets) == 16 and targets["value"].notna().all() and done.manifest["associations"]["vectors"] == "mean"


@pytest.mark.realdata
@pytest.mark.parametrize("name", [*MASKED, *CAUSAL])
@pytest.mark.parametrize("test", ["weat6", "weat7b", "sent-weat6b"])
def test_seat_files_equal_the_reference(realdata: Path, name: str, test: str) -> None:
    bench = load("seat", data_dir=realdata)
    (row,) = associate(golden_model(name), bench, tests=[test], cache=False).estimates.to_dict("records")
    expected = reference("seat_bias_bench")[name][test]
    assert row["value"] == pytest.approx(expected["effect_size"], abs=1e-5)
    if expected["exact"]:
        assert row["p"] == pytest.approx(expected["p_value"], abs=1e-9)
    else:  # the reference has 999 draws, ours 99,999
        assert row["p"] == pytest.approx(expected["p_value"], abs=0.05)


@pytest.mark.realdata
def test_every_seat_file_has_a_name_and_a_domain(realdata: Path) -> None:
    bench = load("seat", data_dir=realdata)
    assert len(bench.tests) == 50 and not [test.name for test in bench.tests if test.domain == "own"]
    names = [test.name for test in bench.select(["gender"])]
    assert {f"sent-weat{n}{b}" for n in (6, 7, 8) for b in ("", "b")} < set(names)
    assert {test.name for test in bench.select([])} == {test.name for test in bench.tests if test.name.startswith("sent-")}
    with raises("unknown-name", kind="test", name="weat77"):
        bench.select(["weat77"])


def test_the_embedded_tests_run_offline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("run", "-m", "plumb-mlm", "-b", "seat", "-o", tmp_path / "r", "--resamples", 100, "--all") == 0
    out, err = capsys.readouterr()
    assert "sent-plumb-gender-work-home" in out and "embedded tests are run" in err
    run = load_run(tmp_path / "r")
    assert set(run.estimates["measure"]) == {"effect_size", "mean_abs_effect"} and (run.estimates["neutral"] == 0).all()
    tested = run.estimates[run.estimates["measure"] == "effect_size"]
    assert (tested["p_holm"] >= tested["p"]).all() and tested["p"].between(0, 1, inclusive="right").all()
    assert (tmp_path / "r" / "associations.parquet").is_file()
    assert command("run", "-m", "plumb-mlm", "-b", "seat", "-o", tmp_path / "r", "--resamples", 100) == 0
    again = load_run(tmp_path / "r")
    assert again.manifest["evaluations"][0]["associations"]["vectors_computed"] == 0
    assert again.estimates["value"].tolist() == run.estimates["value"].tolist()
    assert command("compare", tmp_path / "r") == 2
    assert "two models" in capsys.readouterr().err


def test_pairs_and_tests_in_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("run", "-m", BERT, "-b", "starter-pairs", "-b", MINI, "-s", "aul", "-o", tmp_path / "r", "--resamples", 100)
    assert command(*words) == 0
    out = capsys.readouterr().out
    assert "tiny-bert-cased on starter-pairs" in out and "tiny-bert-cased on own-seat-mini" in out
    table = load_run(tmp_path / "r").estimates
    assert {"bias_score", "effect_size"} <= set(table["measure"]) and set(table["benchmark"]) == {"starter-pairs", MINI.stem}
    assert command("estimate", tmp_path / "r", "--resamples", 100) == 0


def test_pooling_and_layer_are_named_in_the_result(tmp_path: Path) -> None:
    row = associate(golden_model("tiny-bert-cased"), load(MINI), pooling="cls", layer=1, cache=tmp_path).estimates.iloc[0]
    assert row["scorer"] == "cls@1"
    row = associate(golden_model("tiny-gpt2"), load(MINI), pooling="cls", cache=tmp_path).estimates.iloc[0]
    assert np.isnan(row["value"]) and "X has 0" in row["note"] and row["n_missing"] == 29
    assert "special token" in row["missing"]


def test_static_vectors_and_words_out_of_vocabulary(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sets = {
        "targ1": ["man", "boy", "ghost"],
        "targ2": ["woman", "girl"],
        "attr1": ["steel", "oil"],
        "attr2": ["silk", "rose"],
    }
    known = [word for words in sets.values() for word in words if word != "ghost"]
    lines = [f"{word} {' '.join(map(str, rng.normal(size=4)))}" for word in known]
    (tmp_path / "v.txt").write_text("\n".join(lines))
    bench = load(test_file(tmp_path, **sets))
    row = associate(load_any(tmp_path / "v.txt"), bench).estimates.iloc[0]
    assert row["scorer"] == "static" and np.isfinite(row["value"]) and row["n"] == 4
    assert json.loads(row["missing"]) == {"not in the vocabulary": 1} and row["n_missing"] == 1
    (tmp_path / "v.txt").write_text("\n".join([*lines[:-1], "rose 0 0 0 0"]))
    row = associate(load_any(tmp_path / "v.txt"), bench).estimates.iloc[0]
    assert np.isnan(row["value"]) and "B has 1 usable word " in row["note"]
    assert "a zero vector" in row["missing"]
    (tmp_path / "flat.txt").write_text("\n".join(f"{word} 1 1 1 1" for word in known))
    assert "no spread" in associate(load_any(tmp_path / "flat.txt"), bench).estimates.iloc[0]["note"]


def test_repeated_words_and_unequal_sets(tmp_path: Path) -> None:
    bench = load(test_file(tmp_path, targ1=["A man.", "A man.", "A boy.", "He left.", " "]))
    assert sum(bench.note_counts().values()) == 2
    row = associate(golden_model("tiny-bert-cased"), bench, cache=False).estimates.iloc[0]
    assert row["n"] == 3 + 8 and "unequal size" in row["note"] and "165 splits" in row["note"]


@pytest.mark.parametrize(
    ("text", "code", "fields"),
    [
        ('{"targ1": {"examples": ["a", "b"]}, "attr1": 1}', "missing-value", {"keys": ["targ2"]}),
        ('{"targ1": {"examples": ["a"]}, "attr1": 1}', "wrong-shape", {"part": "targ1", "words": 1, "least": 2}),
        ('{"targ1": {"examples": ["a", "b"], "attr1"', "wrong-format", {"expected": "one JSON document", "line": 1}),
        ('["targ1", "attr1"]', "wrong-type", {"keys": ["targ1", "targ2", "attr1", "attr2"]}),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, text: str, code: str, fields: dict[str, object]) -> None:
    (tmp_path / "t.jsonl").write_text(text)
    with raises(code, **fields):
        tiltmeter.load_benchmark(tmp_path / "t.jsonl")


def test_from_python_by_name(tmp_path: Path) -> None:
    found = associate(str(BERT), MINI, cache=tmp_path)
    assert found.estimates["value"].iloc[0] == pytest.approx(
        reference("seat_bias_bench")["tiny-bert-cased"]["own-seat-mini"]["effect_size"], abs=1e-5
    )
    with raises("unknown-name", kind="option", name="pooling", family="pairs"):
        associate(str(BERT), "starter-pairs", pooling="cls")
    with raises("inapplicable-option", benchmark="seat", family="associations"):
        tiltmeter.score(str(BERT), "seat", "aul")


@pytest.mark.parametrize(("family", "benchmark"), [("pairs", "seat"), ("slots", "seat"), ("associations", "starter-pairs")])
def test_a_benchmark_of_another_family_is_refused(family: str, benchmark: str) -> None:
    """By the family's own check: a benchmark built by hand may name a family that its items are not for."""
    with raises("empty-selection", benchmark=benchmark):
        find_family(family).check(tiltmeter.load_benchmark(benchmark), [], find_family(family).Options())


def test_a_causal_model_without_a_token_in_front_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gpt2 = GOLDEN / "models" / "tiny-gpt2"
    assert command("run", "-m", gpt2, "-b", MINI, "--pooling", "cls", "-o", tmp_path / "r", "--no-report") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "X has 0" in said and "no special token" in said


def test_bad_options_are_refused_before_a_model_is_loaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("run", "-m", "nowhere/at/all", "-b", MINI, "--pooling", "max", "-o", tmp_path / "r") == 2
    assert "'max'" in capsys.readouterr().err
    assert command("run", "-m", "nowhere/at/all", "-b", MINI, "--test", "other", "-o", tmp_path / "r") == 2
    assert "has no test 'other'" in " ".join(capsys.readouterr().err.split())
    assert command("run", "-m", BERT, "-b", MINI, "--layer", 7, "-o", tmp_path / "r") == 2
    assert "there is no layer 7" in capsys.readouterr().err
