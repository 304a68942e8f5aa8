"""Nothing lost, nothing silently wrong: runs take each other's place whole, and what was changed or damaged is noticed."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiltmeter
from conftest import GOLDEN
from support.raising import raises
from tiltmeter import Benchmark, Item, TiltmeterError
from tiltmeter.cli import main
from tiltmeter.runs import load_run
from tiltmeter.runs.folder import reserved

BERT, ALBERT = (str(GOLDEN / "models" / name) for name in ("tiny-bert-cased", "tiny-albert"))
QUICK = {"resamples": 100, "limit": 12}


def run(folder: Path, models: Any = BERT, benchmarks: Any = "starter-pairs", **more: Any) -> Any:
    return tiltmeter.run(models, benchmarks, "aul", output=folder, overwrite=True, **QUICK | more)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def siblings(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.parent.iterdir() if path.name.startswith("."))


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    run(tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize(
    "wrong",
    [
        {"models": [BERT, "/no/such/model"]},
        {"models": [BERT, str(GOLDEN / "data")]},
        {"benchmarks": ["starter-pairs", "/no/such/file.csv"]},
        {"by": ["planet"]},
    ],
    ids=["second model", "no model folder", "second benchmark", "column"],
)
def test_a_failing_run_leaves_the_earlier_one_as_it_was(finished: Path, wrong: dict[str, Any]) -> None:
    before = files_of(finished)
    with pytest.raises(TiltmeterError):
        run(finished, **wrong)
    assert files_of(finished) == before and siblings(finished) == []


def test_a_run_that_breaks_while_asking_leaves_the_earlier_one(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files_of(finished)
    monkeypatch.setattr("tiltmeter.models.LanguageModel.begin", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        run(finished, ALBERT)
    assert files_of(finished) == before and siblings(finished) == []


def test_a_full_disk_leaves_the_earlier_run(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files_of(finished)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tiltmeter.runs.folder.shutil.copyfile", full)
    with raises("cannot-write"):
        run(finished, ALBERT)
    assert files_of(finished) == before and siblings(finished) == []


def test_a_new_run_takes_the_place_whole_and_keeps_what_the_user_put_there(finished: Path) -> None:
    (finished / "notes.txt").write_text("mine")
    (finished / "more").mkdir()
    (finished / "more" / "deep.txt").write_text("mine too")
    run(finished, ALBERT)
    assert load_run(finished).answers["pairs"].models == ["tiny-albert"]
    assert (finished / "notes.txt").read_text() == "mine" and (finished / "more" / "deep.txt").read_text() == "mine too"
    assert siblings(finished) == []


def _hold(folder: Path, ready: Any, free: Any) -> None:
    with reserved(folder, {"tiltmeter": "0", "status": "unfinished"}) as making:
        making.mkdir()
        (making / "manifest.json").write_text('{"tiltmeter": "0"}')
        ready.set()
        free.wait(60)


def test_two_runs_into_one_folder_at_once_are_refused(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready, free = context.Event(), context.Event()
    process = context.Process(target=_hold, args=(tmp_path / "run", ready, free))
    process.start()
    try:
        assert ready.wait(60)
        with raises("cannot-write", folder=tmp_path / "run", reason="locked"):
            run(tmp_path / "run")
    finally:
        free.set()
        process.join(60)


def test_the_place_is_free_again_when_a_process_was_killed(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready, free = context.Event(), context.Event()
    process = context.Process(target=_hold, args=(tmp_path / "run", ready, free))
    process.start()
    assert ready.wait(60)
    process.kill()
    process.join(60)
    time.sleep(0.1)
    assert load_run(run(tmp_path / "run").folder).manifest["status"] == "finished"


def test_every_changed_file_is_named(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("scores.parquet", "items.parquet", "estimates.csv", "manifest.json"):
        kept = (finished / name).read_bytes()
        for damaged in (kept[: len(kept) // 2], kept.replace(b"starter", b"stirter", 1) + b" ", b""):
            (finished / name).write_bytes(damaged)
            for command in ("estimate", "report", "compare"):
                with pytest.raises(SystemExit) as ended:
                    _command(command, str(finished))
                said = capsys.readouterr().err
                assert ended.value.code == 2 and name in said and "Traceback" not in said and len(said.splitlines()) == 1
        (finished / name).write_bytes(kept)
    assert len(load_run(finished).estimates)


def _command(*words: str) -> None:
    import sys

    before, sys.argv = sys.argv, ["tiltmeter", *words]
    try:
        main()
    finally:
        sys.argv = before


def test_a_changed_token_table_is_refused(finished: Path) -> None:
    (block,) = (finished / "observations").rglob("*/unmasked/block-*.parquet")
    data = bytearray(block.read_bytes())
    data[len(data) // 3] ^= 4
    block.write_bytes(bytes(data))
    with pytest.raises(TiltmeterError, match=block.name):
        tiltmeter.report(finished, finished.parent / "report.html")


def test_editing_a_run_changes_no_cache(finished: Path, own_cache: Path) -> None:
    """Attached files are copies: a link would let an edited run change a later one."""
    for block in (finished / "observations").rglob("*.parquet"):
        block.write_bytes(b"edited")
    shutil.rmtree(own_cache / "cells")
    again = run(finished.parent / "again")
    assert again.manifest["batches_computed"] == 0
    assert (again.folder / "estimates.csv").read_bytes() == (finished / "estimates.csv").read_bytes()


def test_no_flipped_bit_in_the_cache_goes_unnoticed(finished: Path, own_cache: Path) -> None:
    """Every kind of file in the cache, at many places: the same numbers, computed again where that is needed."""
    rng = np.random.default_rng(0)
    expected = (finished / "estimates.csv").read_bytes()
    files = [path for path in own_cache.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".parquet", ".json", ".sha256"}
    for _ in range(40):
        path = files[rng.integers(len(files))]
        kept = path.read_bytes()
        if not kept:
            continue
        damaged = bytearray(kept)
        damaged[rng.integers(len(kept))] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(damaged))
        again = run(finished.parent / "again")
        assert (again.folder / "estimates.csv").read_bytes() == expected, path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(kept)


def test_control_characters_in_texts_make_other_keys() -> None:
    def pairs(*texts: tuple[str, str]) -> Benchmark:
        return Benchmark("b", tuple(Item(f"i{n}", {"stereo": one, "anti": two}) for n, (one, two) in enumerate(texts)))

    assert pairs(("a\x1fb", "c")).data_hash != pairs(("a", "b\x1fc")).data_hash
    assert pairs(("a", "b\x1ei1\x1fanti\x1fc")).data_hash != pairs(("a", "b"), ("c", "d")).data_hash
    assert pairs(("a\x1b1fb", "c")).data_hash != pairs(("a\x1fb", "c")).data_hash


def test_what_is_written_is_all_that_is_sealed(finished: Path) -> None:
    manifest = json.loads((finished / "manifest.json").read_text())
    there = {name for name in files_of(finished) if name != "manifest.json"}
    assert set(manifest["files"]) == there and manifest["status"] == "finished"
    assert {path.name for path in finished.parent.iterdir()} == {"cache", "run"}
