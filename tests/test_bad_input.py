"""Mistakes on the command line: one message, exit code 2, nothing half-written; and Ctrl-C."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

import tiltmeter
from conftest import GOLDEN, reseal
from support.raising import check
from tiltmeter.cli import main
from tiltmeter.errors import TiltmeterError
from tiltmeter.models import LanguageModel
from tiltmeter.probes.pooling import NO_TOKENS
from tiltmeter.runs import folder as run_folder
from tiltmeter.storage.provenance import SCHEMA
from tiltmeter.storage.seals import seal

PAIRS = "stereo,anti,bias_type,place\nHe ran.,She ran.,gender,Rome\nHe is old.,He is young.,age,Oslo\n"
QUICK = ("--resamples", "100")
TINY = str(GOLDEN / "models" / "tiny-bert-cased")


class Said(NamedTuple):
    """What a command answered."""

    code: int
    out: str
    err: str
    error: TiltmeterError | None = None


Tool = Callable[..., Said]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tool:
    """Runs a command in a folder of its own that holds pairs.csv."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("pairs.csv").write_text(PAIRS)

    def call(*words: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["tiltmeter", *words])
        code, error = 0, None
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
            error = exit_.__context__ if isinstance(exit_.__context__, TiltmeterError) else None
        return Said(code, *capsys.readouterr(), error)

    return call


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of one model, to be read and copied only."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "pairs.csv").write_text(PAIRS)
    scores = tiltmeter.score("plumb-mlm", folder / "pairs.csv", ["cps", "aul"], cache=False)
    scores.save(folder / "run")
    edit_manifest(folder / "run", evaluations=[])
    return folder / "run"


def edit_manifest(run: str | Path, **changes: Any) -> None:
    """Changes entries of a manifest; None takes one away."""
    manifest = json.loads((Path(run) / "manifest.json").read_text(encoding="utf-8"))
    manifest |= {"files": None, "seal": None} | changes
    seal(Path(run), {name: value for name, value in manifest.items() if value is not None})


def refused(said: Said) -> str:
    """The one message of a refused command."""
    assert said.code == 2, said
    assert "Traceback" not in said.err
    assert said.out == ""
    lines = [line for line in said.err.splitlines() if line.strip()]
    assert sum(line.startswith("Error:") for line in lines) == 1, lines
    return said.err


def mistake(said: Said) -> TiltmeterError:
    """The error of a refused command, of which one line is printed."""
    refused(said)
    assert said.error is not None
    return said.error


def contents(folder: str | Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file())


# Words that mean nothing --------------------------------------------------

RUN_MISTAKES = {
    "benchmark": (["-b", "crows-pears"], ["crows-pears", "crows-pairs", "tiltmeter list benchmarks"]),
    "model": (["-m", "./no-such-model"], ["no-such-model"]),
    "hub model": (["-m", "no-such-model"], ["no-such-model", "plumb-mlm"]),
    "scorer": (["-s", "cqs"], ["'cqs'", "cps", "aul", "pll"]),
    "measure": (["--measure", "bias"], ["'bias'", "bias_score", "tiltmeter list measures"]),
    "measure of triples": (["--measure", "icat"], ["icat", "unrelated"]),
    "limit 0": (["--limit", "0"], ["--limit", "at least 1"]),
    "limit below 0": (["--limit", "-2"], ["--limit", "at least 1"]),
    "limit many": (["--limit", "many"], ["--limit", "whole number"]),
    "batch 0": (["--batch-tokens", "0"], ["--batch-tokens", "'0'"]),
    "batch many": (["--batch-tokens", "many"], ["--batch-tokens", "'many'"]),
    "resamples": (["--resamples", "5"], ["5 resamples"]),
    "confidence": (["--confidence", "2"], ["confidence", "0.95"]),
    "confidence nan": (["--confidence", "nan"], ["confidence", "0.95"]),
    "seed": (["--seed", "-1"], ["seed", "-1"]),
    "columns": (["--columns", "nonsense"], ["--columns", "stereo=a,anti=b", "nonsense"]),
    "columns without a name": (["--columns", "stereo="], ["--columns", "stereo=a,anti=b"]),
    "columns unknown": (["--columns", "stereo=stereo,anti=anti,colour=x"], ["colour", "bias_type"]),
    "columns not there": (["--columns", "stereo=worse,anti=anti"], ["'worse'", "'stereo'", "--columns"]),
    "by": (["--by", "planet"], ["'planet'", "bias_type", "place"]),
    "device": (["--device", "abacus"], ["abacus"]),
    "precision": (["--precision", "int8"], ["int8", "fp32", "bf16"]),
    "kind": (["--kind", "sequence"], ["sequence", "masked", "causal"]),
    "alignment": (["--alignment", "words"], ["'words'", "difflib"]),
    "encoding": (["--encoding", "klingon"], ["klingon"]),
    "causal scorer": (["-s", "causal"], ["causal", "masked"]),
    "scorer of contexts": (["-s", "stereoset-masked"], ["BLANK", "context"]),
}


def run_words(*words: str) -> list[str]:
    """`run` with what the words do not say: a tiny model, our pairs, a quick scorer, few resamples, a folder."""
    given = {"-m": [TINY], "-b": ["pairs.csv"], "-s": ["cps"], "--resamples": ["100"], "-o": ["out"]}
    return [
        "run",
        *words,
        *(word for name, rest in given.items() if name not in words for word in (name, *rest)),
    ]


@pytest.mark.parametrize("mistake", RUN_MISTAKES)
def test_a_mistake_in_run(tool: Tool, mistake: str) -> None:
    words, expected = RUN_MISTAKES[mistake]
    message = refused(tool(*run_words(*words)))
    for word in expected:
        assert word in message


@pytest.mark.parametrize("mistake", RUN_MISTAKES)
def test_a_mistake_leaves_nothing_behind(tool: Tool, mistake: str) -> None:
    """No folder that looks like an unfinished run, which the same command could never finish."""
    refused(tool(*run_words(*RUN_MISTAKES[mistake][0])))
    assert not Path("out").exists()
    assert contents(".") == ["pairs.csv"]


@pytest.mark.parametrize("mistake", RUN_MISTAKES)
def test_a_mistake_does_not_cost_an_earlier_run(tool: Tool, finished: Path, mistake: str) -> None:
    shutil.copytree(finished, "out")
    before = {name: (Path("out") / name).read_bytes() for name in contents("out")}
    refused(tool(*run_words(*RUN_MISTAKES[mistake][0])))
    assert {name: (Path("out") / name).read_bytes() for name in contents("out")} == before


@pytest.mark.parametrize("words", [["-m", "./no-such-model"], ["--measure", "bias"], ["--by", "planet"], ["-s", "cqs"]])
def test_a_mistake_is_told_before_any_model_is_asked(tool: Tool, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    def asked(*_: Any) -> None:
        raise AssertionError("a model was asked")

    monkeypatch.setattr(LanguageModel, "begin", asked)
    refused(tool(*run_words("-m", TINY, *words)))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["frobnicate"], "frobnicate"),
        (["run", "--frobnicate"], "--frobnicate"),
        (["list", "planets"], "planets"),
        (["estimate"], "RUNS"),
        (["import", "pairs.csv"], "--output"),
    ],
)
def test_a_command_that_does_not_exist(tool: Tool, words: list[str], expected: str) -> None:
    assert expected in refused(tool(*words))


# Files --------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("empty.csv", b"", ["empty.csv", "is empty"]),
        ("blank.csv", b" \n\n", ["blank.csv", "is empty"]),
        ("commas.csv", b",,\n,,\n", ["commas.csv"]),
        ("header.csv", b"stereo,anti\n", ["header.csv", "no data rows"]),
        ("columns.csv", b"worse,better\na,b\n", ["'stereo'", "'anti'", "'worse', 'better'", "--columns"]),
        ("bytes.csv", b"stereo,anti\n\xa1\xa4\xa5,\xa7\xa9\xb1\n", ["bytes.csv", "--encoding"]),
        ("zeros.csv", b"stereo,anti\na\0,b\n", ["zeros.csv", "--encoding"]),
        ("holes.csv", b"stereo,anti\na,\n,b\n", ["holes.csv", "empty anti (1)", "empty stereo (1)"]),
        ("broken.jsonl", b'{"stereo": "a"\n', ["broken.jsonl", "line 1"]),
        ("broken.json", b"{", ["broken.json", "not JSON"]),
        ("layout.json", b'{"data": {"intrasentence": null}}', ["layout.json"]),
    ],
)
def test_a_file_that_cannot_be_used(tool: Tool, name: str, content: bytes, expected: list[str]) -> None:
    Path(name).write_bytes(content)
    message = refused(tool(*run_words("-b", name)))
    for word in expected:
        assert word in message


def test_two_files_of_the_same_name(tool: Tool) -> None:
    """They are two benchmarks, in the tables as well as in the cache."""
    texts = {
        "a": "stereo,anti\nHe ran.,She ran.\n",
        "b": "stereo,anti\nMen cry.,Women cry.\nHe is.,She is.\n",
    }
    for folder, text in texts.items():
        Path(folder).mkdir()
        (Path(folder) / "mine.csv").write_text(text)
    assert tool("run", "-m", TINY, "-b", "a/mine.csv", "-s", "cps", "-o", "alone", "--no-cache", *QUICK).code == 0
    assert tool("run", "-m", TINY, "-b", "a/mine.csv", "-b", "b/mine.csv", "-s", "cps", "-o", "both", *QUICK).code == 0
    assert tool("run", "-m", TINY, "-b", "a/mine.csv", "-s", "cps", "-o", "again", *QUICK).code == 0
    alone, both, again = (pd.read_parquet(f"{run}/scores.parquet") for run in ("alone", "both", "again"))
    assert both["benchmark"].nunique() == 2
    assert not both.duplicated(["benchmark", "item", "role"]).any()
    assert again["score"].tolist() == pytest.approx(alone["score"].tolist(), abs=1e-5)


@pytest.mark.parametrize("sentence", ["   ", "\u200b", "\u00ad\u200d"])
def test_a_sentence_without_tokens(tool: Tool, sentence: str) -> None:
    """Blank to the reader: skipped. Blank to the tokenizer only: missing, with the reason."""
    Path("odd.csv").write_text(f"stereo,anti\n{sentence},She ran.\nHe ran.,She ran.\n", encoding="utf-8")
    said = tool(*run_words("-b", "odd.csv", "-s", "aul"))
    assert said.code == 0
    frame = pd.read_parquet("out/scores.parquet")
    if not sentence.strip():
        assert "skipped: empty stereo" in said.err
        assert set(frame["item"]) == {"2"}
        return
    row = frame[(frame["item"] == "1") & (frame["role"] == "stereo")].iloc[0]
    assert pd.isna(row["score"])
    assert row["reason"] == NO_TOKENS
    estimates = pd.read_csv("out/estimates.csv")
    overall = estimates[(estimates["by"] == "all") & (estimates["measure"] == "bias_score")].iloc[0]
    assert (overall["n"], overall["n_missing"]) == (1, 1)
    assert NO_TOKENS in said.out


# Where the output goes --------------------------------------------------


def other_files() -> None:
    Path("out").mkdir()
    Path("out/thesis.tex").write_text("years of work")


def other_manifest() -> None:
    Path("out").mkdir()
    Path("out/manifest.json").write_text('{"name": "a browser extension"}')
    Path("out/items.parquet").write_text("mine")


def broken_manifest() -> None:
    Path("out").mkdir()
    Path("out/manifest.json").write_text("{")


def a_file() -> None:
    Path("out").write_text("a file")


@pytest.mark.parametrize("already", [other_files, other_manifest, broken_manifest, a_file])
def test_an_output_that_is_not_ours(tool: Tool, already: Callable[[], None]) -> None:
    already()
    before = {name: Path(name).read_bytes() for name in contents(".")}
    assert "out" in refused(tool(*run_words()))
    assert {name: Path(name).read_bytes() for name in contents(".")} == before


def test_an_output_below_a_file(tool: Tool) -> None:
    assert "pairs.csv" in refused(tool(*run_words("-o", "pairs.csv/run")))


def fail(error: OSError) -> Callable[..., Any]:
    def failing(*_: Any, **__: Any) -> Any:
        raise error

    return failing


@pytest.mark.parametrize("what", ["replace", "mkdir"])
def test_an_output_that_cannot_be_written(tool: Tool, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    denied = fail(PermissionError(errno.EACCES, "Permission denied"))
    if what == "replace":
        monkeypatch.setattr(os, "replace", denied)
    else:
        monkeypatch.setattr(Path, "mkdir", denied)
    message = refused(tool(*run_words()))
    assert "Permission denied" in message
    assert "out" in message
    assert contents(".") == ["pairs.csv"]


def test_an_output_that_cannot_be_cleared(tool: Tool, finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(finished, "out")
    before = {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}
    monkeypatch.setattr(Path, "rename", fail(PermissionError(errno.EACCES, "Permission denied")))
    monkeypatch.setattr(run_folder, "exchange", lambda *_: False)
    assert "Permission denied" in refused(tool(*run_words("--no-cache", "--overwrite")))
    assert {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()} == before


def test_a_cache_that_cannot_be_written(tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "file"))
    assert "TILTMETER_CACHE" in refused(tool(*run_words()))


def test_a_full_disk(tool: Tool, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet as pq

    def full(_: Any, where: Any, *__: Any, **___: Any) -> None:
        Path(where).write_bytes(b"half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pq, "write_table", full)
        assert "No space left on device" in refused(tool(*run_words()))
    left = contents(".") + contents(own_cache)
    assert not [name for name in left if name.endswith((".tmp", ".parquet"))]
    assert tool(*run_words()).code == 0  # with space again
    assert tool("estimate", "out", *QUICK).code == 0


# Runs that are read back --------------------------------------------------


@pytest.fixture
def folders(finished: Path, tool: Tool) -> Tool:
    """The tool, in a folder with a finished, an unfinished, an incomplete and a damaged run."""
    shutil.copytree(finished, "run")
    Path("unfinished").mkdir()
    Path("unfinished/manifest.json").write_text(json.dumps({"status": "unfinished", "schema": SCHEMA}))
    shutil.copytree(finished, "robbed")
    Path("robbed/scores.parquet").unlink()
    shutil.copytree(finished, "damaged")
    Path("damaged/scores.parquet").write_bytes(b"PAR1 and no more")
    Path("nothing").mkdir()
    return tool


@pytest.mark.parametrize("command", ["estimate", "compare"])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["nowhere"], ["no run folder nowhere"]),
        (["pairs.csv"], ["pairs.csv"]),
        (["nothing"], ["nothing is not a finished run", "manifest.json"]),
        (["robbed"], ["robbed is not a finished run", "scores.parquet"]),
        (["unfinished"], ["unfinished", "same command again"]),
        (["damaged"], ["damaged/scores.parquet"]),
        (["run", "nowhere"], ["no run folder nowhere"]),
        (["run", "-s", "pll"], ["pll", "aul, cps"]),
        (["run", "--resamples", "5"], ["resamples"]),
        (["run", "--confidence", "2"], ["confidence"]),
        (["run", "--seed", "-1"], ["seed"]),
    ],
)
def test_a_run_that_cannot_be_read(folders: Tool, command: str, words: list[str], expected: list[str]) -> None:
    message = refused(folders(command, *words))
    for word in expected:
        assert word in message


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["estimate", "run", "--measure", "bias"], ["'bias'", "bias_score"]),
        (["estimate", "run", "--measure", "icat"], ["icat"]),
        (["compare", "run"], ["two models", "plumb-mlm"]),
        (["compare", "run", "--baseline", "bert"], ["'bert'", "plumb-mlm"]),
    ],
)
def test_other_mistakes_about_a_run(folders: Tool, words: list[str], expected: list[str]) -> None:
    message = refused(folders(*words, *QUICK))
    for word in expected:
        assert word in message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "unreadable-file"),
        ("[]", "wrong-format"),
        ('{"schema": "https://json.schemastore.org/x"}', "wrong-format"),
        ('{"schema": null}', "wrong-format"),
    ],
)
def test_a_manifest_of_something_else(folders: Tool, text: str, code: str) -> None:
    Path("run/manifest.json").write_text(text)
    check(mistake(folders("estimate", "run", *QUICK)), code, file="run/manifest.json")


@pytest.mark.parametrize("command", ["estimate", "compare"])
def test_a_column_that_no_item_has(tool: Tool, finished: Path, command: str) -> None:
    two_models(finished, lambda frame: frame)
    message = refused(tool(command, "one", "two", "--by", "planet", *QUICK))
    assert "'planet'" in message and "place" in message


@pytest.mark.parametrize("by", ["place", "scored", "direction", "target", "benchmark", "all"])
def test_any_column_of_the_items_can_group(folders: Tool, by: str) -> None:
    said = folders("estimate", "run", "--by", by, "--json", *QUICK)
    assert said.code == 0
    groups = {row["group"] for row in json.loads(said.out) if row["by"] == by}
    assert groups == {
        "place": {"Rome", "Oslo"},
        "scored": {"True"},
        "benchmark": {"pairs"},
        "all": {"all"},
    }.get(by, set())


READING = {
    "estimate": ("estimate", "old", *QUICK),
    "estimate of several": ("estimate", "run", "old", *QUICK),
    "compare": ("compare", "old", *QUICK),
    "report": ("report", "old"),
    "table": ("table", "estimates", "old"),
    "table of a study": ("table", "normality", "old"),
    "figure": ("figure", "estimates", "old", "-o", "drawn.pdf"),
    "study": ("study", "normality", "old"),
}


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize(
    ("schema", "layout", "remedy"),
    [(None, 1, "again"), (SCHEMA - 1, SCHEMA - 1, "again"), (SCHEMA + 1, SCHEMA + 1, "Update")],
)
def test_a_run_of_another_layout(folders: Tool, command: str, schema: Any, layout: int, remedy: str) -> None:
    """One line that says what to do; nothing is read out of a folder that may mean something else, nor written into it."""
    shutil.copytree("run", "old")
    edit_manifest("old", schema=schema, tiltmeter="0.1.0", families=None)
    before = contents(".")
    said = folders(*READING[command])
    check(mistake(said), "wrong-version", folder="old", layout=layout, supported=SCHEMA)
    assert len(said.err.splitlines()) == 1 and "tiltmeter 0.1.0" in said.err
    assert [word for word in ("Update", "again") if word in said.err] == [remedy]
    assert contents(".") == before


def test_a_run_of_the_old_layout_is_replaced_by_its_command(tool: Tool) -> None:
    """That is what its message says to do; the answers come out of the cache."""
    assert tool(*run_words()).code == 0
    edit_manifest("out", schema=None, families=None, command=["/usr/bin/tiltmeter", *(words := ["run", "-m", "my model"])])
    said = tool("estimate", "out", *QUICK)
    check(mistake(said), "wrong-version")
    assert shlex.join(["tiltmeter", *words]) in said.err
    assert tool(*run_words()).code == 0
    assert json.loads(Path("out/manifest.json").read_text())["batches_computed"] == 0
    assert tool("estimate", "out", *QUICK).code == 0


def test_the_command_is_recorded_only_where_there_was_one(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook's or a test runner's words would be taken for what made the run."""
    words = run_words()
    assert tool(*words).code == 0
    assert json.loads(Path("out/manifest.json").read_text())["command"] == ["tiltmeter", *words]
    monkeypatch.setattr(sys, "argv", ["ipykernel_launcher.py", "-f", "kernel.json"])
    options = {"resamples": 100}
    done = tiltmeter.run(TINY, "pairs.csv", "cps", output="called", **options)
    assert "command" not in done.manifest
    stored = Path("called/manifest.json").read_text()
    assert "command" not in json.loads(stored) and "ipykernel" not in stored and "kernel.json" not in stored


def two_models(finished: Path, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    """The finished run, and a copy of it as another model with other scores."""
    shutil.copytree(finished, "one")
    shutil.copytree(finished, "two")
    frame = change(pd.read_parquet("two/scores.parquet").assign(model="other"))
    frame.to_parquet("two/scores.parquet", index=False)
    reseal(Path("two"))


def without_age(frame: pd.DataFrame) -> pd.DataFrame:
    gone = frame["bias_type"] == "age"
    return frame.assign(score=frame["score"].mask(gone), reason=frame["reason"].mask(gone, "lost"))


def only_gender(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["bias_type"] == "gender"]


@pytest.mark.parametrize("change", [without_age, only_gender])
@pytest.mark.parametrize("baseline", ["plumb-mlm", "other"])
def test_comparing_where_a_group_is_missing(
    tool: Tool, finished: Path, change: Callable[[pd.DataFrame], pd.DataFrame], baseline: str
) -> None:
    two_models(finished, change)
    said = tool("compare", "one", "two", "--by", "bias_type", "--baseline", baseline, "--json", *QUICK)
    assert said.code == 0
    rows = [row for row in json.loads(said.out) if row["measure"] == "bias_score" and row["by"] == "bias_type"]
    by_group = {row["group"]: row for row in rows}
    assert by_group["gender"]["n"] == 1
    if "age" in by_group:
        assert (by_group["age"]["n"], by_group["age"]["difference"]) == (0, None)
    assert tool("compare", "one", "two", "--by", "bias_type", *QUICK).code == 0


def test_two_runs_of_different_models_under_one_name(tool: Tool, finished: Path) -> None:
    """…/first/final and …/second/final: their scores must not be mixed in silence."""
    two_models(finished, lambda frame: frame.assign(model="plumb-mlm", score=-frame["score"]))
    for run, weights in {"one": "a" * 64, "two": "b" * 64}.items():
        model = {"shown_as": "plumb-mlm", "weights_sha256": weights}
        edit_manifest(run, evaluations=[{"family": "pairs", "model": model}])
    check(mistake(tool("estimate", "one", "two", "--by", "all", *QUICK)), "ambiguous-name", name="plumb-mlm")
    assert tool("estimate", "one", "--by", "all", "--json", *QUICK).code == 0


def test_a_stored_block_of_other_items_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version may cut blocks otherwise; what is stored under a number is then not its own."""
    from tiltmeter.probes import likelihood

    found = []
    for size in (40, 20, 60):
        monkeypatch.setattr(likelihood, "BLOCK_ITEMS", (size,))
        found.append(tiltmeter.score(TINY, "starter-pairs", ["aul"]).to_pandas()["score"])
    for one in found:
        assert one.notna().all()
        pd.testing.assert_series_equal(one, found[0], rtol=0, atol=1e-5)


# What is printed --------------------------------------------------


def test_json_is_json_and_nan_is_null(tool: Tool) -> None:
    Path("odd.csv").write_text("stereo,anti\nThey ran.,They ran.\n")
    said = tool(*run_words("-b", "odd.csv", "-s", "sss", "--json"))
    assert said.code == 0

    def no_constant(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    rows = json.loads(said.out, parse_constant=no_constant)
    assert [row["value"] for row in rows] == [None] * len(rows)
    assert {row["missing"] for row in rows} == {json.dumps({"no modified tokens": 1})}
    for name in ("estimates.json", "manifest.json"):
        json.loads(Path("out", name).read_text(encoding="utf-8"), parse_constant=no_constant)


@pytest.mark.parametrize("label", ["[red]", "[/red]", "[bold"])
def test_brackets_are_printed_as_they_are(tool: Tool, label: str) -> None:
    Path("[b]mine.csv").write_text(PAIRS.replace("gender", f"{label}gender"))
    said = tool(*run_words("-b", "[b]mine.csv"))
    assert said.code == 0
    assert "tiny-bert-cased on [b]mine" in said.out
    said = tool("estimate", "out", *QUICK)
    assert said.code == 0
    assert f"{label}gender" in said.out


def test_a_message_quotes_names_as_they_are(tool: Tool) -> None:
    assert "[/red]" in refused(tool(*run_words("-b", "[/red]")))


# Ctrl+C --------------------------------------------------


def test_an_interrupted_run_goes_on(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = LanguageModel.begin
    calls = 0

    def interrupted(self: LanguageModel, batch: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return begin(self, batch)

    words = [
        "run",
        "-m",
        TINY,
        "-b",
        "starter-pairs",
        "-s",
        "cps",
        "-s",
        "aul",
        "--limit",
        "6",
        "--batch-tokens",
        "64",
        "-o",
        "out",
        *QUICK,
    ]
    with monkeypatch.context() as patch:
        patch.setattr(LanguageModel, "begin", interrupted)
        said = tool(*words)
    assert said.code == 130
    assert "Traceback" not in said.err
    assert said.err.startswith("Interrupted")
    assert contents("out") == ["manifest.json"]
    assert json.loads(Path("out/manifest.json").read_text())["status"] == "unfinished"
    check(mistake(tool("estimate", "out")), "unfinished-run")

    assert tool(*words).code == 0
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert manifest["status"] == "finished"
    assert manifest["batches_reused"] == 2
    assert manifest["batches_computed"] > 0
    resumed = pd.read_parquet("out/scores.parquet")

    assert tool(*words[:-4], "-o", "fresh", "--no-cache", *QUICK).code == 0
    fresh = pd.read_parquet("fresh/scores.parquet")
    pd.testing.assert_frame_equal(resumed, fresh, rtol=0, atol=1e-4)
