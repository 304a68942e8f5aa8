"""plumb-pairs: 705 minimal pairs of our own over the nine CrowS-Pairs bias types, each with an unrelated third sentence."""

from __future__ import annotations

from importlib.resources import as_file, files

from tiltmeter.benchmarks.kit.items import Benchmark
from tiltmeter.benchmarks.pairs import pairs

CITATION = "Written for tiltmeter. Licence: Apache-2.0. Data statement: docs/plumb-data.md."


def plumb_pairs() -> Benchmark:
    """The embedded benchmark. Its sentences state stereotypes, to measure whether a model prefers them; none is endorsed."""
    with as_file(files("tiltmeter.benchmarks") / "data" / "plumb_pairs.jsonl") as path:
        return pairs(path, name="plumb-pairs", citation=CITATION)
