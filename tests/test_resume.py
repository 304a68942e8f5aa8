"""Killed in the middle, run again: the same final tables, and only the missing batches computed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

import tiltmeter
from conftest import GOLDEN
from tiltmeter import run

RUN = """
import os, signal, sys
from tiltmeter.models import LanguageModel
from tiltmeter.runs import Options
from tiltmeter.runs.run import run
from tiltmeter.stats.settings import Settings

real, calls = LanguageModel.begin, 0

def begin(self, batch):
    global calls
    calls += 1
    if calls > int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return real(self, batch)

LanguageModel.begin = begin
options = Options(batch_tokens=400, limit=LIMIT, settings=Settings(resamples=100))
run(sys.argv[3], "starter-pairs", output=sys.argv[1], options=options)
"""
LIMIT = 32
"""Pairs: enough for more batches than are made before the kills."""
MODEL = str(GOLDEN / "models" / "tiny-bert-cased")
NEVER = 10**9


def start(folder: Path, kill_after: int, cache: Path) -> int:
    environment = os.environ | {"TILTMETER_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RUN.replace("LIMIT", str(LIMIT)), str(folder), str(kill_after), MODEL],
        env=environment,
        check=False,
    )
    return done.returncode


def manifest(folder: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads((folder / "manifest.json").read_text())
    return found


def test_killed_and_resumed(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    options = {"batch_tokens": 400, "limit": LIMIT, "resamples": 100}
    run(MODEL, "starter-pairs", output=whole, **options | {"cache": tmp_path / "cache-1"})
    total = manifest(whole)["batches_computed"]
    assert total > 50 and manifest(whole)["batches_reused"] == 0

    resumed, done = tmp_path / "resumed", 0
    for kill_after in (7, 30):
        assert start(resumed, kill_after, tmp_path / "cache-2") == -signal.SIGKILL
        done += kill_after
        assert manifest(resumed)["status"] == "unfinished"
        assert not (resumed / "scores.parquet").exists()
    run(MODEL, "starter-pairs", output=resumed, **options | {"cache": tmp_path / "cache-2"})
    assert manifest(resumed)["batches_reused"] == done
    assert manifest(resumed)["batches_computed"] == total - done

    for name in ("scores.parquet", "items.parquet"):
        pd.testing.assert_frame_equal(pd.read_parquet(whole / name), pd.read_parquet(resumed / name), rtol=0, atol=1e-4)
    one, other = (pd.read_csv(folder / "estimates.csv") for folder in (whole, resumed))
    pd.testing.assert_frame_equal(one, other, atol=1e-3)
    assert not list((tmp_path / "cache-2").rglob("parts/*.parquet"))
    blocks = [len(list((folder / "observations").rglob("*.parquet"))) for folder in (whole, resumed)]
    assert blocks[0] == blocks[1] > 0


def test_parts_that_a_kill_left_beside_whole_blocks_are_removed(tmp_path: Path) -> None:
    """Killed when all views were stored and their parts not yet removed, or between a file and its digest."""
    cache = tmp_path / "cache"
    tiltmeter.score(MODEL, "starter-pairs", ["aul"], cache=cache)
    (folder,) = {path.parent.parent for path in cache.rglob("block-0000.parquet")}
    block = next(path for path in folder.rglob("block-0000.parquet"))
    (folder / "parts").mkdir(exist_ok=True)
    for name in ("block-0000.aaa.parquet", "block-0000.bbb.parquet"):
        shutil.copyfile(block, folder / "parts" / name)
    (folder / "parts" / "block-0000.bbb.parquet.sha256").write_text("another")
    (folder / "parts" / "block-0000.ccc.parquet.sha256").write_text("of nothing")
    shutil.rmtree(cache / "cells", ignore_errors=True)  # the kill came before
    tiltmeter.score(MODEL, "starter-pairs", ["aul"], cache=cache)
    assert not list((folder / "parts").iterdir())


@pytest.mark.slow
def test_parts_of_another_scorer_survive(tmp_path: Path) -> None:
    """A run of one view that finishes must not throw away what a killed run left of another."""
    cache = tmp_path / "cache"
    assert start(tmp_path / "run", 5, cache) == -signal.SIGKILL
    left = len(list(cache.rglob("parts/*.parquet")))
    assert left == 5
    code = f"import tiltmeter; tiltmeter.score({MODEL!r}, 'starter-pairs', ['aul'])"
    environment = os.environ | {"TILTMETER_CACHE": str(cache)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert len(list(cache.rglob("parts/*.parquet"))) == left


def as_version_0_1(cache: Path) -> int:
    """Makes what is stored look as version 0.1 wrote it: reasons are notes, and there are no digests and no cells."""
    files = sorted((cache / "observations").rglob("*.parquet"))
    renamed = 0
    for path in files:
        table = pq.read_table(path)
        names = ["note" if name == "reason" else name for name in table.column_names]
        renamed += names != table.column_names
        pq.write_table(table.rename_columns(names).replace_schema_metadata(table.schema.metadata), path)
    for digest in cache.rglob("*.sha256"):
        digest.unlink()
    shutil.rmtree(cache / "cells", ignore_errors=True)
    return renamed


def test_observations_of_version_0_1_are_still_used(tmp_path: Path) -> None:
    """They call the reason a note. Nothing is asked again, no reason is lost, and studies and the page read them too."""
    benchmarks = ["starter-pairs", GOLDEN / "data" / "slots.jsonl"]
    options = {"cache": tmp_path / "cache", "resamples": 100, "scorers": ["all"]}
    first = run(MODEL, benchmarks, output=tmp_path / "first", **options)
    assert first.manifest["batches_computed"] > 0
    assert first.answers["pairs"].table["reason"].notna().any()  # two sentences that are the same have nothing to ask

    assert as_version_0_1(tmp_path / "cache") > 5
    second = run(MODEL, benchmarks, output=tmp_path / "second", **options)
    assert second.manifest["batches_computed"] == 0
    assert second.manifest["batches_reused"] == first.manifest["batches_computed"]
    for family, name in (("pairs", "scores"), ("slots", "slots"), ("slots", "predictions")):
        pd.testing.assert_frame_equal(second.answers[family].tables[name], first.answers[family].tables[name])
    assert [one["batches_reused"] > 0 for one in second.manifest["evaluations"]] == [True, True]

    attached = sorted((tmp_path / "second" / "observations").rglob("*.parquet"))
    assert attached and "note" in pq.read_schema(attached[0]).names
    for study in ("accuracy", "shuffling"):
        tables = [
            tiltmeter.study(study, tmp_path / folder, options={"resamples": 100}).table for folder in ("first", "second")
        ]
        pd.testing.assert_frame_equal(*tables)
    assert tiltmeter.report(tmp_path / "second", tmp_path / "page.html").is_file()


@pytest.mark.slow
def test_parts_of_version_0_1_are_still_used(tmp_path: Path) -> None:
    """What a killed run of version 0.1 left is not asked again either."""
    cache = tmp_path / "cache"
    assert start(tmp_path / "run", 7, cache) == -signal.SIGKILL
    assert as_version_0_1(cache) == 7
    assert start(tmp_path / "run", NEVER, cache) == 0
    assert manifest(tmp_path / "run")["batches_reused"] == 7
    frame = pd.read_parquet(tmp_path / "run" / "scores.parquet")
    assert frame[frame["score"].isna()]["reason"].notna().all()


def test_a_damaged_block_is_asked_again(tmp_path: Path) -> None:
    """One letter of it changed: never served, neither as a block nor as a cell that was made of it."""
    options = {"cache": tmp_path / "cache", "resamples": 100, "limit": 20}
    first = run(MODEL, "starter-pairs", "aul", output=tmp_path / "first", **options)
    (block,) = (tmp_path / "cache").rglob("block-*.parquet")
    content = bytearray(block.read_bytes())
    content[len(content) // 3] ^= 1
    block.unlink()  # the run folder has a link to it
    block.write_bytes(content)
    second = run(MODEL, "starter-pairs", "aul", output=tmp_path / "second", **options)
    assert second.manifest["batches_computed"] == first.manifest["batches_computed"] > 0
    pd.testing.assert_frame_equal(second.answers["pairs"].table, first.answers["pairs"].table)
