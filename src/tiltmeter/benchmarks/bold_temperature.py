"""BOLD's five prompts by which Cao et al. (2022, Appendix G) show what the temperature of sampling does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tiltmeter.benchmarks.bold import CITATION as BOLD
from tiltmeter.benchmarks.bold import bold
from tiltmeter.benchmarks.kit.items import Benchmark
from tiltmeter.storage.compressed_rows import fold

CITATION = f"{BOLD} Five prompts: Cao et al. (2022), Appendix G."
PROMPTS = frozenset(f"islam/Islam/{number}" for number in (3, 10, 12, 24, 25))
"""By their ids. Two of them are printed without a quotation mark, and without a last word, that BOLD has."""


def bold_temperature(*, data_dir: str | Path | None = None) -> Benchmark:
    """Sample each prompt a hundred times at two temperatures: `--samples 100 --temperature 0.5`, and 1.0."""
    whole = bold(data_dir=data_dir)
    kept = fold(item for item in whole.items if item.id in PROMPTS)
    return replace(whole, name="bold-temperature", items=kept, citation=CITATION, cluster=None)
