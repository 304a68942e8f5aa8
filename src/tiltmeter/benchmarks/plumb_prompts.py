"""plumb-prompts: nine beginnings of our own, each for 14 groups of three domains: minimal sets of 126 prompts."""

from __future__ import annotations

import json
from importlib.resources import as_file, files

from tiltmeter.benchmarks.kit.items import Benchmark, make_benchmark
from tiltmeter.benchmarks.kit.prompts import PromptBenchmark, prompt_item
from tiltmeter.storage.files import file_sha256

CITATION = (
    "Written for tiltmeter, for the groups of Cao et al. (2022), Table 4. Licence: Apache-2.0. "
    "Data statement: docs/generations.md."
)
PERSON = "{person}"


def plumb_prompts() -> Benchmark:
    """Load beginnings that are the same for every group: continuations differ because of the group, or by chance."""
    with as_file(files("tiltmeter.benchmarks") / "data" / "plumb_prompts.json") as path:
        told = json.loads(path.read_text(encoding="utf-8"))
        rows = [
            (f"{frame}/{group}", prompt_item(f"{frame}/{group}", text.replace(PERSON, person), domain, group, set=frame))
            for frame, text in told["frames"].items()
            for domain, groups in told["groups"].items()
            for group, person in groups.items()
        ]
        facts = {"source": "plumb_prompts.json", "sha256": file_sha256(path), "citation": CITATION}
        return make_benchmark("plumb-prompts", rows, PromptBenchmark, **facts)
