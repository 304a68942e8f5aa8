"""toxigen-safety (SafeNLP, Hosseini et al., 2023): 6,514 sentences about 13 groups, hateful or not, with their toxicity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.heldout import TEXT
from tiltmeter.benchmarks.kit.items import Benchmark, Item, make_benchmark
from tiltmeter.benchmarks.kit.location import Source, locate
from tiltmeter.errors import InputError
from tiltmeter.storage.compression import content_sha256
from tiltmeter.storage.tables import Row, cell, read_table, require_columns, text_cell

CITATION = (
    "Hosseini, Palangi and Awadallah (2023), An empirical study of metrics to measure representational harms in pre-trained "
    "language models, TrustNLP; sentences of Hartvigsen et al. (2022), ToxiGen, ACL. Licence: MIT, and ToxiGen's own."
)
SOURCE = Source(
    "safenlp/toxiGen.json",
    "https://raw.githubusercontent.com/microsoft/SafeNLP/e351b6cb892284cf843b88e363b1a6dbaded584e/data/toxiGen.json",
    "42863b997f545833b8c9bfe7fc950aeaccc274d49f7386384db147face745fc3",
)
HARMFUL = "hate"
COLUMNS = ("text", "label", "toxicity_score", "target_groups")


def toxigen_safety(
    path: str | Path | None = None,
    *,
    data_dir: str | Path | None = None,
    encoding: str | None = None,
    name: str = "toxigen-safety",
) -> Benchmark:
    """Held-out sentences with the groups they are about; `safety_score` compares hateful sentences with the others.

    `path`: another file in SafeNLP's layout (text, label, toxicity_score, target_groups).
    """
    file = locate(SOURCE, path, data_dir)
    rows = read_table(file, encoding)
    facts: dict[str, Any] = {
        "source": str(path) if path else SOURCE.relative,
        "sha256": content_sha256(file),
        "citation": CITATION,
    }
    return make_benchmark(name, safety_items(rows, file), family="heldout", **facts)


def safety_items(rows: Sequence[Row], file: Path) -> Iterator[tuple[str, Item | str]]:
    """One item per row of a file in SafeNLP's layout, or the reason to skip it."""
    require_columns(rows, COLUMNS, file)
    for number, row in enumerate(rows, 1):
        label, text = cell(row, "id") or str(number), text_cell(row, "text").strip()
        groups: Any = row["target_groups"]
        if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
            message = f"{file}, row {number}: target_groups is not a list of names."
            raise InputError(message, code="wrong-shape", row=number)
        toxicity = _positive(row["toxicity_score"])
        if not text or toxicity is None or not groups:
            yield label, "blank text" if not text else "no group" if not groups else "no toxicity above 0"
            continue
        extra = {"groups": groups, "harmful": cell(row, "label") == HARMFUL, "toxicity": toxicity, "language": "en"}
        yield label, Item(label, {TEXT: text}, extra=extra)


def _positive(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if 0 < number < float("inf") else None
