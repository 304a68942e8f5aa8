"""plumb-slots: 246 sentences of our own with one [MASK] where a gendered word would stand, and lists of such words."""

from __future__ import annotations

import json
from importlib.resources import as_file, files
from pathlib import Path

from tiltmeter.benchmarks.kit.items import Benchmark, Item, encoding_notes, make_benchmark
from tiltmeter.benchmarks.kit.slots import SLOT, SlotBenchmark
from tiltmeter.benchmarks.kit.terms import read_terms
from tiltmeter.storage.files import file_sha256
from tiltmeter.storage.tables import read_table

CITATION = "Written for tiltmeter. Licence: Apache-2.0. Data statement: docs/plumb-data.md."
GROUPS = ("female", "male")


def plumb_slots(*, terms: str | Path | None = None, encoding: str | None = None) -> Benchmark:
    """Sentences for rank-based metrics, gender-neutral but for the mask. They are no pairs, so sentence scores skip them."""
    words = read_terms(terms, encoding) if terms else default_terms()
    with as_file(files("tiltmeter.benchmarks") / "data" / "plumb_slots.jsonl") as path:
        items = [
            (
                str(row["id"]),
                Item(
                    id=str(row["id"]),
                    texts={SLOT: str(row["text"])},
                    bias_type="gender",
                    target=str(row["about"]),
                    extra={"stereotype": row["stereotype"], "about": row["about"]},
                ),
            )
            for row in read_table(path, None)
        ]
        facts = {"source": "plumb_slots.jsonl", "sha256": file_sha256(path), "citation": CITATION, "terms": words}
        return make_benchmark("plumb-slots", items, SlotBenchmark, notes=encoding_notes(terms, encoding), **facts)


def default_terms() -> dict[str, tuple[str, ...]]:
    """Male words and female words, in the order of the paper's gaps: male − female."""
    return {group: gender_terms()[group] for group in reversed(GROUPS)}


def gender_terms() -> dict[str, tuple[str, ...]]:
    """The female and the male words, aligned, each in lower case and with a capital."""
    lines = (files("tiltmeter.benchmarks") / "data" / "gender_terms.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {group: tuple(word for row in rows for word in (row[group], row[group].capitalize())) for group in GROUPS}
