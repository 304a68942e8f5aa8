"""Runs of models in memory: as runs of the folders that they came from, told apart by their weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tiltmeter
from conftest import GOLDEN
from support.raising import raises

BERT = GOLDEN / "models" / "tiny-bert-cased"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "cache"))


def small_run(models: Any, output: Path, **more: Any) -> tiltmeter.Run:
    return tiltmeter.run(models, "plumb-pairs", "aul", "bias_score", output, limit=12, resamples=200, **more)


def wrapped(name: str = "tiny-bert-cased") -> Any:
    loaded = tiltmeter.load_model(BERT)
    return tiltmeter.wrap_model(loaded.module, loaded.tokenizer, name=name)


def changed() -> Any:
    model = wrapped()
    for parameter in model.module.parameters():
        parameter.data.add_(0.3)
    return model


def test_a_run_of_a_model_in_memory_is_that_of_its_folder(tmp_path: Path) -> None:
    by_name = small_run(str(BERT), tmp_path / "a")
    in_memory = small_run(wrapped(), tmp_path / "b")
    columns = ["model", "group", "value", "low", "high", "p"]
    assert in_memory.estimates[columns].equals(by_name.estimates[columns])
    assert set(tiltmeter.load_run(tmp_path / "b").estimates["model"]) == {"tiny-bert-cased"}


def test_models_of_one_name_are_told_apart_and_keep_their_names(tmp_path: Path) -> None:
    base, other = wrapped(), changed()
    run = small_run([base, other, base, str(BERT.parent / "tiny-roberta")], tmp_path / "run")
    names = list(dict.fromkeys(run.estimates["model"]))
    assert len(names) == 3 and names[0] == "tiny-bert-cased" and names[1].startswith("tiny-bert-cased-")
    assert base.name == other.name == "tiny-bert-cased"


def test_another_model_of_that_name_does_not_replace_a_run(tmp_path: Path) -> None:
    small_run([wrapped()], tmp_path / "run")
    small_run([wrapped()], tmp_path / "run")
    with raises("output-exists"):
        small_run([changed()], tmp_path / "run")


def test_a_bare_module_needs_its_tokenizer(tmp_path: Path) -> None:
    with raises("wrong-type"):
        small_run(wrapped().module, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_one_bar_for_the_whole_run_that_never_falls_back(tmp_path: Path) -> None:
    shown: list[tuple[str, float]] = []
    done: list[float] = []

    @contextmanager
    def watch(title: str, total: int) -> Iterator[Any]:
        shown.append((title, total))

        def advance(steps: float, note: str = "") -> None:
            done.append(steps if title == "Run" else 0.0)

        yield advance

    models = [str(BERT), str(BERT.parent / "tiny-roberta")]
    tiltmeter.run(models, ["plumb-pairs", "plumb-slots"], output=tmp_path / "run", limit=12, resamples=200, watch=watch)
    (total,) = [size for title, size in shown if title == "Run"]
    assert total >= 4 * 12 and min(done) >= 0 and sum(done) <= total + 1e-9
    shown.clear()
    tiltmeter.run(models, ["plumb-pairs", "plumb-slots"], output=tmp_path / "run", limit=12, resamples=200, watch=watch)
    assert "Run" not in [title for title, _ in shown]  # every cell is stored


def test_progress_in_python_writes_lines_where_there_is_no_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tiltmeter.storage.progress.LINE_EVERY", 0.02)
    small_run([wrapped()], tmp_path / "run", progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("Run") and "%" in line for line in lines)
