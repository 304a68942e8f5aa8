"""One identity of a cell: nothing older or other is served, and every stored result says what made it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import tiltmeter
from tests.conftest import GOLDEN
from tiltmeter import catalog, load_run
from tiltmeter.errors import TiltmeterError
from tiltmeter.execution import CellKey, Engine
from tiltmeter.execution.cells import open_store
from tiltmeter.execution.engine import INLINE
from tiltmeter.execution.executor import Executor
from tiltmeter.execution.experiment_file import read_experiment
from tiltmeter.execution.key import content_of
from tiltmeter.execution.ledger import DONE, Ledger
from tiltmeter.execution.plan import plan_cells
from tiltmeter.runs.comparability import refuse_incomparable
from tiltmeter.runs.experiment import run_experiment
from tiltmeter.runs.folder import reserved
from tiltmeter.scorers import Scored, Tokens
from tiltmeter.storage.object_store import Depot

MODEL = GOLDEN / "models" / "tiny-bert-cased"
FILE = """
models = ["{model}"]
benchmarks = ["plumb-pairs"]
measures = {measures}
{more}
[run]
limit = {limit}
[settings]
resamples = 100
[options]
scorers = ["aul"]
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Changes of scorers, which the catalog forgets afterwards."""
    yield monkeypatch
    monkeypatch.undo()
    catalog.forget()


def change_aul(patch: pytest.MonkeyPatch) -> None:
    """Another sign, and the number says so."""
    module = catalog.module("scorers", "aul")

    def aul(tokens: Tokens) -> Scored:
        return tokens.mean(-tokens.logprob)

    patch.setattr(module, "aul", aul)
    patch.setattr(module, "SCORER", replace(module.SCORER, version=2))
    catalog.forget()


def write(folder: Path, *, limit: int = 6, measures: tuple[str, ...] = ("bias_score",), more: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "study.toml"
    file.write_text(FILE.format(model=MODEL, measures=json.dumps(measures), limit=limit, more=more))
    return file


def versions(folder: Path) -> dict[str, int]:
    (evaluation,) = load_run(folder).manifest["evaluations"]
    found: dict[str, int] = evaluation["versions"]
    return found


def test_answers_of_an_older_version_are_never_served(tmp_path: Path, changed: pytest.MonkeyPatch) -> None:
    """A scorer changes, and an experiment gets one more measure: all numbers are by the scorer as it is, and say so."""
    inline = Engine(INLINE)
    old, _ = run_experiment(write(tmp_path / "e"), engine=inline)
    before = tiltmeter.run(MODEL, "plumb-pairs", "aul", output=tmp_path / "before", limit=6, resamples=100)
    assert before.manifest["batches_computed"] == 0  # the experiment's cell, under the same key
    scores = [run.answers["pairs"].table["score"].tolist() for run in (old, before)]
    assert scores[0] == scores[1] and versions(tmp_path / "before") == versions(old.folder)
    assert versions(tmp_path / "before")["scorers/aul"] == 1

    change_aul(changed)
    after = tiltmeter.run(MODEL, "plumb-pairs", "aul", output=tmp_path / "after", limit=6, resamples=100)
    new, _ = run_experiment(write(tmp_path / "e", measures=("bias_score", "kls")), engine=inline)
    now = [run.answers["pairs"].table["score"].tolist() for run in (new, after)]
    assert now[0] == now[1] != scores[0]
    assert versions(tmp_path / "after")["scorers/aul"] == versions(new.folder)["scorers/aul"] == 2
    assert versions(tmp_path / "before")["scorers/aul"] == 1  # as it was written
    with pytest.raises(TiltmeterError, match=r"not comparable.*scorers/aul.*1.*2"):
        refuse_incomparable([load_run(tmp_path / "before"), load_run(tmp_path / "after")])


def test_a_default_run_serves_nothing_older_either(tmp_path: Path, changed: pytest.MonkeyPatch) -> None:
    """Without named scorers every scorer's version counts: which ones answer is decided after the key is made."""

    def values(name: str) -> list[float]:
        run = tiltmeter.run([str(MODEL)], ["plumb-pairs"], output=tmp_path / name, limit=6, resamples=100)
        table = run.answers["pairs"].table
        return [float(score) for score in table[table["scorer"] == "aul"]["score"]]

    before = values("before")
    change_aul(changed)
    assert before and values("after") == [-score for score in before]


def test_runs_of_earlier_versions_of_tiltmeter_are_compared_by_their_definitions(tmp_path: Path) -> None:
    run = tiltmeter.run(MODEL, "plumb-pairs", "aul", output=tmp_path / "run", limit=6, resamples=100)
    old, other = (_with_definition(load_run(run.folder), digest) for digest in ("one", "other"))
    refuse_incomparable([old, load_run(run.folder)])
    with pytest.raises(TiltmeterError, match="the definition of aul"):
        refuse_incomparable([old, other])


def _with_definition(run: tiltmeter.Run, digest: str) -> tiltmeter.Run:
    part = run.answers["pairs"]
    plain = [{name: value for name, value in one.items() if name != "versions"} for one in part.manifests]
    manifests = tuple(manifest | {"definitions": {"aul": digest}} for manifest in plain)
    return replace(run, answers={"pairs": replace(part, manifests=manifests)})


def test_a_key_has_every_part_and_a_file_counts_by_its_content(tmp_path: Path) -> None:
    key = CellKey({"weights": "a"}, "data", "pairs", {"scorers": ["aul"]}, {"scorers/aul": 1}, 0, {"model": "m"})
    others = [
        replace(key, model={"weights": "b"}), replace(key, data="other"), replace(key, family="slots"),
        replace(key, options={}), replace(key, versions={"scorers/aul": 2}), replace(key, seed=1),
    ]  # fmt: skip
    assert len({one.digest for one in (key, *others)}) == 7 and replace(key).digest == key.digest
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "terms.csv").write_text("he,she\n")
    first = content_of(tmp_path / "one" / "terms.csv")
    assert first == content_of(tmp_path / "two" / "terms.csv") == content_of(str(tmp_path / "two" / "terms.csv"))
    (tmp_path / "two" / "terms.csv").write_text("she,he\n")
    assert first != content_of(tmp_path / "two" / "terms.csv") and content_of(tmp_path / "none") is None
    assert content_of(f"hurtful={tmp_path}/one/terms.csv@a") == f"hurtful={first}@a" and content_of("cps") == "cps"


def names_of(file: Path) -> list[str]:
    return [cell.name for cell in plan_cells(read_experiment(file)).cells]


def test_the_state_of_a_cell_is_named_by_all_that_decides_its_answers(tmp_path: Path) -> None:
    """A new tokenizer, kind or permission to run code is another question, though the weights are the same."""
    folder = tmp_path / "model"
    shutil.copytree(MODEL, folder)
    file = write(tmp_path / "e")
    file.write_text(file.read_text().replace(str(MODEL), str(folder)))
    before = names_of(file)
    assert names_of(file) == before
    (folder / "README.md").write_text("decides nothing")
    assert names_of(file) == before
    for setting in ('kind = "causal"', "trust_remote_code = true"):
        other = tmp_path / "e" / "other.toml"
        other.write_text(file.read_text().replace("[run]", f"[run]\n{setting}"))
        assert names_of(other) != before
    rules = folder / "tokenizer.json"
    rules.write_text(rules.read_text().replace('"lowercase": false', '"lowercase": true'))
    assert names_of(file) != before


def test_an_equal_question_whose_answers_are_gone_is_asked(tmp_path: Path) -> None:
    """The state of another machine, which knew less of the question, points to answers that are not here."""
    planned = plan_cells(read_experiment(write(tmp_path / "e")))
    ledger, (cell,) = Ledger(Depot(str(tmp_path / "state"))), planned.cells
    other = replace(cell, name=f"{cell.name.rpartition('/')[0]}/{'0' * 16}")
    ledger.end(ledger.begin(other, {**(cell.question or {}), "data": None}), DONE, key="0" * 32)
    executor = Executor(planned, ledger, open_store(True), Engine(INLINE), None)
    assert executor.prepare() == []
    assert executor.gather() == ([], ["tiny-bert-cased to plumb-pairs"])
    assert len(executor.execute()) == 1


@pytest.mark.slow
def test_two_experiments_on_one_storage_have_their_own_numbers(tmp_path: Path) -> None:
    """Different questions under the same names, started together; each takes only what answers its own."""
    shared = f'storage = "{tmp_path}/shared"'
    files = {limit: write(tmp_path / f"limit-{limit}", limit=limit, more=shared) for limit in (6, 12)}
    for _ in range(2):
        started = [started_run(file) for file in files.values()]
        assert [process.wait() for process in started] == [0, 0]
        for limit, file in files.items():
            run = load_run(file.parent / "study" / "run")
            assert run.manifest["asked"]["limit"] == limit
            assert set(run.estimates[run.estimates["by"] == "all"]["n"] + run.estimates["n_missing"]) == {limit}
            file.write_text(file.read_text().replace("resamples = 100", "resamples = 101"))  # written again


def started_run(file: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tiltmeter", "study", "run", str(file), "--workers", "1"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_an_output_is_reserved_while_an_experiment_works(tmp_path: Path) -> None:
    file = write(tmp_path / "e")
    with (
        reserved(tmp_path / "e" / "study" / "run", {"tiltmeter": "0"}),
        pytest.raises(TiltmeterError, match="Another run is writing"),
    ):
        run_experiment(file, engine=Engine(INLINE))
    made, _ = run_experiment(file, engine=Engine(INLINE))
    assert len(made.estimates)
