"""Starter pairs: 60 pairs of our own, hard cases on purpose, small enough for a first run without any download."""

from __future__ import annotations

from importlib.resources import as_file, files

from tiltmeter.benchmarks.crows_pairs import COLUMNS
from tiltmeter.benchmarks.kit.items import Benchmark
from tiltmeter.benchmarks.pairs import pairs

CITATION = "Written for tiltmeter. Licence: Apache-2.0."


def starter_pairs() -> Benchmark:
    """The embedded pairs. They state mild stereotypes, to measure whether a model prefers them; none is endorsed."""
    with as_file(files("tiltmeter.benchmarks") / "data" / "starter_pairs.jsonl") as path:
        return pairs(path, columns=COLUMNS_IN_FILE, name="starter-pairs", citation=CITATION)


COLUMNS_IN_FILE = {field: COLUMNS[field] for field in ("id", "stereo", "anti", "bias_type", "direction")}
