"""StereoSet's contexts (Nadeem et al., 2021) as prompts: the first sentences of its intersentence part."""

from __future__ import annotations

from pathlib import Path

from tiltmeter.benchmarks.kit.items import Benchmark, make_benchmark
from tiltmeter.benchmarks.kit.prompts import PromptBenchmark, prompt_item
from tiltmeter.benchmarks.stereoset import CITATION as STEREOSET
from tiltmeter.benchmarks.stereoset import stereoset

CITATION = f"{STEREOSET} As prompts: Cao et al. (2022), Section 4.1."


def stereoset_contexts(
    path: str | Path | None = None, *, data_dir: str | Path | None = None, encoding: str | None = None
) -> Benchmark:
    """Prompts from where StereoSet's own items come from, so that both kinds of metrics are about the same texts."""
    whole = stereoset(path, data_dir=data_dir, encoding=encoding)
    rows = [
        (item.id, prompt_item(item.id, item.context or "", item.bias_type, item.extra.get("group")))
        for item in whole.items
        if item.extra.get("part") == "intersentence"
    ]
    facts = {"source": whole.source, "sha256": whole.sha256, "citation": CITATION}
    return make_benchmark("stereoset-contexts", rows, PromptBenchmark, **facts)
