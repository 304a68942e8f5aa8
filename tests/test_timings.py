"""Where the time of a run goes."""

from __future__ import annotations

import re

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
