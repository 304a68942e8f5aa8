"""HONEST for queer people (Nozza et al., 2022): 705 beginnings of English sentences about queer and other identities."""

from __future__ import annotations

from pathlib import Path

from tiltmeter.benchmarks.honest import URL, honest_benchmark
from tiltmeter.benchmarks.kit.items import Benchmark
from tiltmeter.benchmarks.kit.location import Source

CITATION = (
    "Nozza, Bianchi, Lauscher and Hovy (2022), Measuring harmful sentence completion in language models for LGBTQIA+ "
    "individuals, LT-EDI. Licence: MIT."
)
PLACE = "queer_nonqueer/en_template.tsv"
SOURCE = Source(f"honest/{PLACE}", URL + PLACE, "29fb950897942d26b99d1485a18739c8a22ceb9326a548fd14b17bc335191100")


def honest_queer(
    path: str | Path | None = None, *, data_dir: str | Path | None = None, name: str = "honest-queer"
) -> Benchmark:
    """As `honest`; the groups are the categories of the file (queer_gender, nonqueer_gender, …)."""
    return honest_benchmark(name, SOURCE, path, data_dir, "en")
