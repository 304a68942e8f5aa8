"""An experiment file: read strictly, made cell by cell, merged into a run; broken parts stop no others."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import tiltmeter
from support.raising import check, raises
from test_cli import refused
from tests.conftest import GOLDEN
from tiltmeter.errors import TiltmeterError
from tiltmeter.execution import Engine, Executor, Plan, plan_cells, read_experiment, status
from tiltmeter.execution.cells import open_store
from tiltmeter.execution.forecast import forecast
from tiltmeter.execution.ledger import Ledger
from tiltmeter.execution.plan import cell_name
from tiltmeter.execution.worker import work
from tiltmeter.runs import merge
from tiltmeter.runs.experiment import make_cells, run_experiment
from tiltmeter.storage.object_store import Depot

MODELS = GOLDEN / "models"
FILE = """
title = "small"
models = ["{models}/tiny-bert-cased", {{name = "gpt", from = "{models}/tiny-gpt2"}}]
benchmarks = ["plumb-pairs", "plumb-slots"]
[run]
limit = 6
[settings]
resamples = 200
"""


ONE = (
    FILE.replace(', {{name = "gpt", from = "{models}/tiny-gpt2"}}', "")
    .replace('"plumb-slots"', "")
    .replace('pairs", ]', 'pairs"]')
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "cache"))


def write(tmp_path: Path, text: str = FILE, **more: str) -> Path:
    file = tmp_path / "study.toml"
    file.write_text(text.format(models=MODELS, **more))
    return file


@pytest.mark.parametrize(
    ("edit", "code", "name"),
    [
        ("modles = []\n", "unknown-name", "modles"),
        ("models = []\nbenchmarks = ['plumb-pairs']\n", "wrong-type", "models"),
        ("benchmarks = ['plumb-pairs']\n", "missing-value", "models"),
        ("models = ['plumb-mlm']\n", "missing-value", "benchmarks"),
        ("models = ['plumb-mlm', 'plumb-mlm']\nbenchmarks = ['plumb-pairs']\n", "duplicate-name", "plumb-mlm"),
        ("models = ['plumb-mlm']\nbenchmarks = ['plumb-pairs', 'plumb-pairs']\n", "duplicate-name", "plumb-pairs"),
        ("models = ['plumb-mlm']\nbenchmarks = ['plumb-pairs']\n[run]\nlimits = 1\n", "unknown-name", "limits"),
        ("models = ['plumb-mlm']\nbenchmarks = ['plumb-pairs']\n[[debias]]\nmethod = 'prayer'\n", "unknown-name", "prayer"),
        ("models = ['plumb-mlm']\nbenchmarks = ['plumb-pairs']\n[options]\nscorers = 5e-5\n", "wrong-type", "scorers"),
        ("models = ['plumb-mlm']\n[[ask]]\nbenchmarks = ['plumb-pairs']\nmodels = ['other']\n", "unknown-name", "other"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, edit: str, code: str, name: str) -> None:
    file = tmp_path / "study.toml"
    file.write_text(edit)
    with raises(code, name=name) as error:
        plan_cells(read_experiment(file))
    assert "\n" not in str(error.value)


def test_a_key_that_was_misspelt_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("modles = []\n")
    with pytest.raises(TiltmeterError, match="Did you mean 'models'"):
        read_experiment(tmp_path / "study.toml")
    (tmp_path / "study.toml").write_text("models = [")
    with raises("wrong-format", expected="TOML", file=tmp_path / "study.toml"):
        read_experiment(tmp_path / "study.toml")
    (tmp_path / "study.toml").write_text("models = ['plumb-mlm']\nbenchmarks = ['plumb-pairs']\n[options]\nscorrers = 1\n")
    with pytest.raises(TiltmeterError, match="scorrers"):
        read_experiment(tmp_path / "study.toml")


def test_names_of_cells_are_files_and_differ() -> None:
    pairs = [("a/b", "c"), ("a", "b/c"), ("a-b", "c"), ("é", "x"), ("è", "x"), ("x" * 300, "y")]
    names = [cell_name(*pair) for pair in pairs]
    assert len(set(names)) == len(names) and all(len(name) < 100 and "/" not in name for name in names)


def test_a_study_is_the_run_of_its_cells(tmp_path: Path) -> None:
    """Byte for byte what `run` writes; a broken model, and one that cannot be asked, stop no others; again: all is there."""
    (tmp_path / "vectors.txt").write_text("he 1 0 2\nshe 0 1 2\nhome 2 1 0\n")
    text = FILE.replace('plumb-slots"]', 'plumb-slots", "nowhere.csv"]')
    text = text.replace("models = [", 'models = ["{models}/none", {{name = "vectors", from = "vectors.txt"}}, ')
    file = write(tmp_path, text)
    work(read_experiment(file), "vectors")  # in this process, as another machine might have done
    made, now = run_experiment(file, workers=2)
    assert now.counts == {"done": 4, "running": 0, "failed": 6, "refused": 2, "waiting": 0}, now.table().to_string()
    ended = {(row["model"], row["benchmark"]): row["status"] for row in made.manifest["without"]}
    assert ended["vectors", "plumb-pairs"] == "refused"  # vectors score no sentences, which is no failure
    errors = {(row["model"], row["benchmark"]): row["error"] for row in made.manifest["without"]}
    assert "There is no model folder" in errors["none", "plumb-pairs"]
    assert "nowhere.csv" in errors["gpt", "nowhere.csv"]
    options = {"limit": 6, "resamples": 200}
    plain = tiltmeter.run([MODELS / "tiny-bert-cased"], ["plumb-pairs", "plumb-slots"], output=tmp_path / "plain", **options)
    ours = made.estimates[made.estimates["model"] == "tiny-bert-cased"].reset_index(drop=True)
    pd.testing.assert_frame_equal(ours[plain.estimates.columns], plain.estimates, check_exact=True)
    before = (made.folder / "estimates.csv").read_bytes()
    again, _ = run_experiment(tmp_path / "study.toml", workers=2)
    assert (again.folder / "estimates.csv").read_bytes() == before
    assert tiltmeter.load_run(made.folder).manifest["study"]["title"] == "small"
    assert status(tmp_path / "study.toml").counts["failed"] == now.counts["failed"]


@pytest.mark.slow
def test_a_killed_worker_is_started_again_and_a_killed_driver_loses_nothing(tmp_path: Path) -> None:
    file = write(tmp_path, FILE.replace("limit = 6", "limit = 60"))
    command = [sys.executable, "-m", "tiltmeter", "experiment", "run", str(file), "--workers", "1"]
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    worker = _child(driver, tmp_path)
    os.kill(worker, signal.SIGKILL)
    other = _child(driver, tmp_path, besides=worker)
    driver.kill()
    driver.wait()
    deadline = time.time() + 20
    while time.time() < deadline and _lives(other):  # it ends with its driver
        time.sleep(0.1)
    assert not _lives(other)
    made, now = run_experiment(file, workers=1)
    assert now.counts["failed"] == 0 and now.counts["done"] >= 3
    undisturbed, _ = run_experiment(write_to(tmp_path / "other", file.read_text()), workers=1)
    assert (made.folder / "estimates.csv").read_bytes() == (undisturbed.folder / "estimates.csv").read_bytes()


def _lives(pid: int) -> bool:
    """Whether a process runs; one that ended and that nobody has buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def write_to(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "study.toml").write_text(text)
    return folder / "study.toml"


def _child(driver: subprocess.Popen[bytes], tmp_path: Path, besides: int = 0) -> int:
    """The worker of a driver, once it has begun a cell."""
    deadline = time.time() + 60
    while time.time() < deadline:
        found = Path(f"/proc/{driver.pid}/task/{driver.pid}/children").read_text().split()
        begun = list((tmp_path / "study" / "state" / "cells").rglob("*.json")) if (tmp_path / "study").is_dir() else []
        for pid in map(int, found):
            if pid != besides and begun:
                return pid
        time.sleep(0.05)
    raise AssertionError("no worker was started")


@pytest.mark.slow
def test_variants_are_models_of_the_study(tmp_path: Path) -> None:
    text = (
        ONE
        + "[[debias]]\nmethod = 'dropout'\nmodels = ['tiny-bert-cased']\nseeds = [0]\noptions = {{steps = 2, rows = 4}}\n"
    )
    file = write(tmp_path, text)
    made, _ = run_experiment(file, workers=1)
    assert "tiny-bert-cased-dropout-0" in set(made.estimates["model"])
    assert (tmp_path / "study" / "models" / "tiny-bert-cased-dropout-0" / "model.safetensors").is_file()


def test_what_it_would_cost(tmp_path: Path) -> None:
    seen = forecast(write(tmp_path, FILE.replace("models = [", 'models = ["somebody/elses-model", ')))
    rows = seen.table.set_index(["model", "benchmark"])
    assert rows.loc[("tiny-bert-cased", "plumb-pairs"), "seconds"] > 0
    assert rows.loc[("somebody/elses-model", "plumb-pairs"), "note"].startswith("not on this machine")
    assert not (tmp_path / "study").exists()  # nothing was made


def test_a_depot_shows_whole_folders_only(tmp_path: Path) -> None:
    depot = Depot(str(tmp_path / "depot"))
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    (source / "inner" / "a.bin").write_bytes(b"123")
    assert not depot.has("x") and depot.read("nothing") is None
    depot.put(source, "x")
    depot.get("x", tmp_path / "back")
    assert (tmp_path / "back" / "inner" / "a.bin").read_bytes() == b"123" and depot.has("x")
    assert sorted(path.name for path in (tmp_path / "back").iterdir()) == ["inner"]
    with pytest.raises(TiltmeterError, match="storage"):
        Depot("nosuchprotocol://x")


def test_workers_that_share_a_storage_and_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one machine made is fetched by another, attached files included; nothing is asked again."""
    file = write(tmp_path, 'storage = "shared"\n' + ONE)
    assert make(file) == ["done"]
    made, _ = run_experiment(file, workers=1)
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "other-machine"))
    before = (made.folder / "estimates.csv").read_bytes()
    with monkeypatch.context() as patch:  # nothing has changed: nothing is fetched or estimated
        patch.setattr("tiltmeter.runs.experiment.write_run", None)
        assert len(run_experiment(file, workers=1)[0].estimates) == len(made.estimates)
    (made.folder / "estimates.csv").write_bytes(before + b"\n")  # changed by somebody: it is made again
    again, now = run_experiment(file, workers=1)
    assert now.counts["failed"] == 0 and (made.folder / "estimates.csv").read_bytes() == before
    assert (again.folder / "estimates.csv").read_bytes() == (made.folder / "estimates.csv").read_bytes()
    assert (tmp_path / "other-machine" / "cells").is_dir()


GENERATIONS = """
models = ["{models}/tiny-gpt2"]
storage = "shared"
[settings]
resamples = 100
[options]
new_tokens = 4
[[ask]]
benchmarks = ["plumb-prompts"]
domains = ["gender"]
per_group = 3
options = {{judges = [{judges}], temperature = {heat}}}
{more}
"""


def make(file: Path) -> list[str]:
    """Does the work of a study's only model in this process; the statuses of its cells."""
    study = read_experiment(file)
    planned = plan_cells(study)
    executor = executor_of(planned)
    for model in executor.prepare():
        work(study, model)
    return [executor.ledger.read(cell).status for cell in planned.cells]


def executor_of(planned: Plan) -> Executor:
    return Executor(planned, Ledger(Depot(planned.experiment.storage)), open_store(True), Engine(), None)


def test_texts_are_judged_later_elsewhere_without_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of one machine, taken along in the storage; another one, at another path and without the model, adds judges."""
    (tmp_path / "words.txt").write_text("the\na\nof\n")
    there, here = tmp_path / "there", tmp_path / "here"
    assert make(write_to(there, GENERATIONS.format(models=MODELS, judges='"none"', heat=1.0, more=""))) == ["done"]
    judges = '"hurtful=../words.txt", "sentiment=vader"'
    again = '[[ask]]\nname = "again"\nbenchmarks = ["plumb-prompts"]\ndomains = ["gender"]\nper_group = 3\n'
    again += 'options = {judges = ["sentiment=vader"], polarity = 0.01}\n'
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "other-machine"))
    file = write_to(here, GENERATIONS.format(models=tmp_path / "no", judges=judges, heat=1.0, more=again))
    (there / "shared").rename(here / "shared")
    assert make(file) == ["done", "done"]
    made, _ = run_experiment(file, workers=1)
    table = made.answers["generations"].tables["judgements"]
    assert set(table["scorer"]) == {"hurtful/words", "sentiment/vader"}
    assert set(table["benchmark"]) == {"plumb-prompts", "again"}
    file.write_text(GENERATIONS.format(models=tmp_path / "no", judges=judges, heat=0.5, more=again))
    assert make(file) == ["failed", "done"]  # other texts, and the model is not here
    file.write_text(GENERATIONS.format(models=tmp_path / "no", judges=judges, heat=1.0, more=again))
    assert make(file) == ["done", "done"]  # as before: the earlier answers were not forgotten


def test_a_changed_question_is_asked_again_and_others_are_not(tmp_path: Path) -> None:
    file = write(tmp_path, ONE)
    assert make(file) == ["done"]
    before = status(file).states
    assert make(file) == ["done"] and status(file).states == before
    file.write_text(file.read_text().replace("limit = 6", "limit = 5"))
    assert make(file) == ["done"] and status(file).states[0].key != before[0].key
    model = tmp_path / "models"
    shutil.copytree(MODELS / "tiny-bert-cased", model / "tiny-bert-cased")
    file.write_text(file.read_text().replace(str(MODELS), str(model)))
    before = status(file).states
    assert make(file) == ["done"] and status(file).states == before  # the same weights at another place
    shutil.copytree(MODELS / "tiny-roberta", model / "tiny-bert-cased", dirs_exist_ok=True)
    assert make(file) == ["done"] and status(file).states[0].key != before[0].key


def test_one_of_several_machines_makes_cells_only(tmp_path: Path) -> None:
    file = write(tmp_path)
    now = make_cells(file, models=["gpt"], workers=1)
    assert now.counts["done"] == now.counts["waiting"] == 2 and not (tmp_path / "study" / "run").exists()
    with raises("unknown-name"):
        make_cells(file, models=["gtp"])


def test_which_items_are_asked(tmp_path: Path) -> None:
    text = 'models = ["plumb-clm"]\n[[ask]]\nbenchmarks = ["plumb-prompts"]\n'
    file = write_to(tmp_path / "a", text + 'domains = ["gender", "race"]\nper_group = 2\n')
    (cell,) = plan_cells(read_experiment(file)).cells
    assert cell.items == 2 * 7
    file.write_text(text + 'domains = ["gendre"]\n')
    assert "'gendre'" in str(plan_cells(read_experiment(file)).cells[0].error)
    file.write_text(text + "per_group = 0\n")
    with pytest.raises(TiltmeterError, match="at least 1"):
        read_experiment(file)


def test_every_path_is_beside_the_study_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it is called: options of a method too, with or without an ending, and whether the file is there or not."""
    study, call = tmp_path / "study", tmp_path / "call"
    for folder in (study, call):
        (folder / "words").mkdir(parents=True)
        for name in ("text", "lines.txt", "words/terms.csv", "items.csv"):
            (folder / name).write_text("he,she\n")
    (call / "words" / "only.csv").write_text("he,she\n")  # not beside the experiment file: missed, not taken from here
    methods = "[[debias]]\nmethod = 'cda'\nmodels = ['plumb-mlm']\n"
    methods += "options = {text = 'text', terms = ['gender', 'words/terms.csv']}\n"
    methods += "[[debias]]\nmethod = 'auto-debias'\nmodels = ['plumb-mlm']\n"
    methods += "options = {terms = 'words/only.csv', words = 'lines.txt', prompts = 'gone'}\n"
    more = "benchmarks = ['items.csv', 'words/only.csv', 'crows-pairs']\n[options]\nterms = 'gone.jsonl'\n"
    file = study / "study.toml"
    file.write_text("models = ['plumb-mlm', 'somebody/elses']\n" + more + methods)
    monkeypatch.chdir(call)
    read = read_experiment("../study/study.toml")
    first, second = (model.variant.options for model in read.models if model.variant)
    assert first == {"text": f"{study}/text", "terms": ["gender", f"{study}/words/terms.csv"]}
    assert second == {"terms": f"{study}/words/only.csv", "words": f"{study}/lines.txt", "prompts": f"{study}/gone"}
    assert [ask.benchmark for ask in read.asks] == [f"{study}/items.csv", f"{study}/words/only.csv", "crows-pairs"]
    assert read.asks[0].options == {"terms": f"{study}/gone.jsonl"}
    assert [model.source for model in read.models][:2] == ["plumb-mlm", "somebody/elses"]


@pytest.mark.parametrize("when", ["_write_items", "_write_estimates", "join_frames"])
def test_answers_that_vanish_while_they_are_gathered(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says which and what to do, leaves nothing half-written, and the same command then makes them."""
    file = write(tmp_path, ONE)
    assert make(file) == ["done"]
    act = getattr(merge, when)

    def vanishing(*given: object) -> object:
        shutil.rmtree(tmp_path / "cache" / "cells", ignore_errors=True)
        return act(*given)

    with monkeypatch.context() as patch:
        patch.setattr(merge, when, vanishing)
        check(refused("experiment", "run", file), "missing-answers", cells=["tiny-bert-cased to plumb-pairs"])
    said = capsys.readouterr().err
    assert "Cannot" not in said and "Traceback" not in said
    assert sorted(path.name for path in (tmp_path / "study").iterdir()) == ["state"]
    assert make_again(file) == ["done"] and len(run_experiment(file)[0].estimates)


def make_again(file: Path) -> list[str]:
    """What the same command does first: it notices what is gone, and makes it."""
    study = read_experiment(file)
    executor_of(plan_cells(study)).gather()
    return make(file)


def test_answers_that_vanish_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are made a second time, and then it is said; a run without them is not written."""
    file = write(tmp_path, ONE)
    assert make(file) == ["done"]
    monkeypatch.setattr(Executor, "_find", lambda *_: None)
    monkeypatch.setattr(Executor, "make", lambda *_: make(file))
    with raises("missing-answers", cells=["tiny-bert-cased to plumb-pairs"]):
        run_experiment(file)
    assert not (tmp_path / "study" / "run").exists()
