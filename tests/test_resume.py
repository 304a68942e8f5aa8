"""Killed in the middle, run again: the same final tables, and only the missing batches computed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd

from conftest import GOLDEN

RUN = """
import os, signal, sys
from tiltmeter.models import LanguageModel
from tiltmeter.evaluating import Options
from tiltmeter.running import run
from tiltmeter.group_estimating import Settings

real, calls = LanguageModel.begin, 0

def begin(self, batch):
    global calls
    calls += 1
    if calls > int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return real(self, batch)

LanguageModel.begin = begin
run(sys.argv[3], "starter-pairs", output=sys.argv[1], options=Options(batch_tokens=400, settings=Settings(resamples=100)))
"""
MODEL = str(GOLDEN / "models" / "tiny-bert-cased")
NEVER = 10**9


def start(folder: Path, kill_after: int, cache: Path) -> int:
    environment = os.environ | {"TILTMETER_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", RUN, str(folder), str(kill_after), MODEL], env=environment, check=False)
    return done.returncode


def manifest(folder: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads((folder / "manifest.json").read_text())
    return found


def test_killed_and_resumed(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    assert start(whole, NEVER, tmp_path / "cache-1") == 0
    total = manifest(whole)["batches_computed"]
    assert total > 50 and manifest(whole)["batches_reused"] == 0

    resumed, done = tmp_path / "resumed", 0
    for kill_after in (7, 30):
        assert start(resumed, kill_after, tmp_path / "cache-2") == -signal.SIGKILL
        done += kill_after
        assert manifest(resumed)["status"] == "unfinished"
        assert not (resumed / "scores.parquet").exists()
    assert start(resumed, NEVER, tmp_path / "cache-2") == 0
    assert manifest(resumed)["batches_reused"] == done
    assert manifest(resumed)["batches_computed"] == total - done

    for name in ("scores.parquet", "items.parquet"):
        pd.testing.assert_frame_equal(pd.read_parquet(whole / name), pd.read_parquet(resumed / name), rtol=0, atol=1e-4)
    one, other = (pd.read_csv(folder / "estimates.csv") for folder in (whole, resumed))
    pd.testing.assert_frame_equal(one, other, atol=1e-3)
    assert not list((tmp_path / "cache-2").rglob("parts/*.parquet"))
    blocks = [len(list((folder / "observations").rglob("*.parquet"))) for folder in (whole, resumed)]
    assert blocks[0] == blocks[1] > 0


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
