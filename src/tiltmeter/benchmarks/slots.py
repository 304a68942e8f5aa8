"""slots: your own sentences with one mask (CSV, TSV, JSON, JSONL), and words of two or more groups that may fill it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.items import GROUP_COLUMNS, Benchmark, Item, encoding_notes, file_facts, make_benchmark
from tiltmeter.benchmarks.kit.location import require_path
from tiltmeter.benchmarks.kit.slots import MASK, SLOT, SlotBenchmark
from tiltmeter.benchmarks.kit.terms import read_terms
from tiltmeter.benchmarks.pairs import bias_type_name
from tiltmeter.benchmarks.plumb_slots import default_terms
from tiltmeter.storage.tables import TOO_MANY, Row, cell, field_columns, read_table, require_columns, text_cell

CITATION = "Doughman et al. (2023), Can a Prediction's Rank Offer a More Accurate Quantification of Bias? (SEXISTLY)."
FIELDS = ("id", "text", "bias_type", "target")
ANY_MASK = re.compile(r"\[mask\]|<\|?mask\|?>", re.IGNORECASE)
"""The mask as BERT, RoBERTa and others spell it; a model's own replaces it."""


def slots(
    path: str | Path | None = None,
    *,
    terms: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    name: str = "slots",
    **facts: Any,
) -> Benchmark:
    """Sentences from a table with a `text` column, and terms from a file; without one, the embedded gendered words."""
    file = require_path("slots", path, "-b path/to/slots.jsonl (and --terms terms.jsonl)")
    mapping = field_columns(columns, FIELDS, "slots")
    rows = read_table(file, encoding)
    require_columns(rows, [mapping["text"], *(columns or {}).values()], file)
    own_facts = file_facts(file, encoding)
    own_facts["notes"] += encoding_notes(terms, encoding)
    facts = own_facts | {"citation": CITATION} | facts
    words = read_terms(terms, encoding) if terms else default_terms()
    own = {theirs for ours, theirs in (columns or {}).items() if ours in GROUP_COLUMNS}
    return make_benchmark(name, slot_items(rows, mapping, str(file), own), SlotBenchmark, terms=words, **facts)


def slot_items(
    rows: Sequence[Row], columns: Mapping[str, str], source: str = "the file", own: Set[str] = frozenset()
) -> Iterator[tuple[str, Item | str]]:
    """One item per row with exactly one mask, or the reason to skip the row. `own`: as for pairs."""
    used = set(columns.values()) - own
    for number, row in enumerate(rows, 1):
        where = f"{source}, row {number}"
        identity = cell(row, columns["id"], where) or str(number)
        text = ANY_MASK.sub(MASK, text_cell(row, columns["text"], where).strip())
        if reason := _reason_to_skip(row, text):
            yield identity, reason
            continue
        yield (
            identity,
            Item(
                id=identity,
                texts={SLOT: text},
                bias_type=bias_type_name(cell(row, columns["bias_type"], where)),
                target=cell(row, columns["target"], where) or None,
                extra={name: value for name, value in row.items() if name not in used},
            ),
        )


def _reason_to_skip(row: Row, text: str) -> str | None:
    if TOO_MANY in row:
        return "more cells than the header has (a separator inside a sentence needs quotes)"
    if not text:
        return "empty text"
    masks = text.count(MASK)
    if masks != 1:
        return "no mask" if masks == 0 else "more than one mask"
    return "nothing besides the mask" if text == MASK else None
