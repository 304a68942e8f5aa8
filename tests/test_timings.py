"""Where the time of a run goes."""

from __future__ import annotations

import re
import runpy
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from tiltmeter.storage.timings import Timings, in_words, recording, timed


def test_parts_inside_parts_count_once() -> None:
    timings = Timings()
    clock = iter([0.0, 1.0, 3.0, 10.0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tiltmeter.storage.timings.time.perf_counter", lambda: next(clock))
        with timings.part("ask"), timings.part("load"):
            pass
    assert timings.seconds == {"load": 2.0, "ask": 8.0}
    with timed("nothing is recorded"):
        pass
    with recording() as outer, recording() as inner, timed("a"):
        assert inner is outer
    assert list(outer.seconds) == ["a"]
    assert re.findall(r"\w+ [\d.]+ s", in_words({"load": 2.0, "ask": 8.0})) == ["load 2.0 s", "ask 8.0 s", "together 10.0 s"]


def test_every_part_that_benchmarks_time_is_there() -> None:
    script = Path(__file__).parents[1] / "benchmarks" / "runners" / "timed_command.py"
    parts = runpy.run_path(str(script))["PARTS"]
    there = {
        name: [place for place in places if find_spec(place[0]) and hasattr(import_module(place[0]), place[1])]
        for name, places in parts.items()
    }
    assert all(there.values()), there
