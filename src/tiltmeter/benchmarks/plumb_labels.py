"""plumb-labels: 600 short texts of our own, toxic and not: every sentence for each of twelve groups."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path

from tiltmeter.benchmarks.kit.items import Benchmark
from tiltmeter.benchmarks.labels import labels

CITATION = "Written for tiltmeter. Licence: Apache-2.0. Data statement: docs/labels.md."


def plumb_labels(*, data_dir: str | Path | None = None, train_on: str | None = None) -> Benchmark:
    """288 texts to learn from and 312 to judge, of other sentences. The toxic ones insult, mildly and clearly."""
    with as_file(files("tiltmeter.benchmarks") / "data" / "plumb_labels.jsonl") as path:
        read = labels(path, name="plumb-labels", data_dir=data_dir, train_on=train_on)
        return replace(read, source="plumb_labels.jsonl", citation=CITATION)
