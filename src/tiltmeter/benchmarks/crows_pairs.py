"""CrowS-Pairs (Nangia et al., 2020): 1,508 minimal pairs over nine bias types; and files with the same columns."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.items import CROWS_BIAS_TYPES, Benchmark, Item, Note, encoding_notes, make_benchmark
from tiltmeter.benchmarks.kit.location import Source, locate
from tiltmeter.benchmarks.pairs import check_fields, table_items
from tiltmeter.storage.compression import content_sha256
from tiltmeter.storage.tables import read_table, require_columns

SOURCE = Source(
    relative="crows-pairs/crows_pairs_anonymized.csv",
    url="https://raw.githubusercontent.com/nyu-mll/crows-pairs/"
    "8aaac11c485473159ec9328a65253a5be9a479dc/data/crows_pairs_anonymized.csv",
    sha256="dfb36986ce0502abbaf7055b9176da3d08d48e07df1251991b5dfbcbceab9d0c",
)
CITATION = "Nangia, Vania, Bhalerao and Bowman (2020), CrowS-Pairs, EMNLP. Licence: CC BY-SA 4.0."
COLUMNS = {
    "id": "id", "stereo": "sent_more", "anti": "sent_less", "unrelated": "unrelated", "bias_type": "bias_type",
    "direction": "stereo_antistereo", "target": "target", "context": "context",
}  # fmt: skip


def crows_pairs(
    path: str | Path | None = None,
    *,
    data_dir: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    name: str = "crows-pairs",
) -> Benchmark:
    """The original CSV, or any file with sent_more and sent_less (revised, French, Dutch, … versions)."""
    check_fields(columns)
    file = locate(SOURCE, path, data_dir)
    rows = read_table(file, encoding)
    mapping = COLUMNS | dict(columns or {})
    if "id" not in (columns or {}) and "id" not in rows[0] and "index" in rows[0]:
        mapping["id"] = "index"
    require_columns(rows, [mapping["stereo"], mapping["anti"]], file)
    items = [(label, _with_annotations(item)) for label, item in table_items(rows, mapping, str(file))]
    return make_benchmark(
        name,
        items,
        source=str(path) if path else SOURCE.relative,
        sha256=content_sha256(file),
        citation=CITATION,
        notes=(*encoding_notes(file, encoding), *type_notes(items)),
    )


def _with_annotations(item: Item | str) -> Item | str:
    """The annotators' lists are written as Python literals in the CSV; they become real lists."""
    if isinstance(item, str):
        return item
    return replace(item, extra={key: _literal(value) for key, value in item.extra.items()})


def _literal(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("["):
        try:
            read = ast.literal_eval(value)
            json.dumps(read, allow_nan=False)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            return value
        return read
    return value


def type_notes(rows: Iterable[tuple[str, Item | str]]) -> Iterator[Note]:
    """Rows whose bias type CrowS-Pairs does not have."""
    for label, item in rows:
        if isinstance(item, Item) and item.bias_type not in CROWS_BIAS_TYPES:
            yield Note(label, f"kept: bias type '{item.bias_type}' is not one of the nine of CrowS-Pairs")
