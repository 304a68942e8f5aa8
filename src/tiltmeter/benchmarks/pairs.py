"""Your own pairs: a CSV, TSV, JSON or JSONL file with a column for each sentence of a pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.items import (
    GROUP_COLUMNS,
    ROLES,
    UNSPECIFIED,
    Benchmark,
    Item,
    file_facts,
    make_benchmark,
)
from tiltmeter.benchmarks.kit.location import require_path
from tiltmeter.errors import UsageError
from tiltmeter.storage.tables import TOO_MANY, Row, cell, field_columns, read_table, require_columns, text_cell

FIELDS = ("id", "stereo", "anti", "unrelated", "bias_type", "direction", "target", "context")
DIRECTIONS = {
    "stereo": "disadvantaged", "stereotype": "disadvantaged", "disadvantaged": "disadvantaged",
    "antistereo": "advantaged", "antistereotype": "advantaged", "advantaged": "advantaged",
}  # fmt: skip


def pairs(
    path: str | Path | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    name: str = "pairs",
    **facts: Any,
) -> Benchmark:
    """Loads pairs from a table. `columns` maps our field names (stereo, anti, bias_type, …) to the file's.

    Pairs that are no independent evidence, such as those of one template, have the same value in a column `cluster`.
    """
    file = require_path("pairs", path, "-b path/to/pairs.csv")
    mapping = check_fields(columns)
    rows = read_table(file, encoding)
    require_columns(rows, [mapping["stereo"], mapping["anti"], *(columns or {}).values()], file)
    facts = file_facts(file, encoding) | facts
    facts.setdefault("cluster", "cluster")
    own = {theirs for ours, theirs in (columns or {}).items() if ours in GROUP_COLUMNS}
    return make_benchmark(name, table_items(rows, mapping, str(file), own), **facts)


def check_fields(columns: Mapping[str, str] | None) -> dict[str, str]:
    """Map fields to columns; refuse unknown fields, and two sentences in one column."""
    mapping = field_columns(columns, FIELDS, "pairs")
    sentences = [(column, role) for role in ROLES if (column := (columns or {}).get(role))]
    for column, role in sentences:
        if owner := next((other for same, other in sentences if same == column and other != role), None):
            raise UsageError(
                f"--columns reads {role} and {owner} from the same column '{column}'.",
                code="conflicting-options",
                option="--columns",
                column=column,
                fields=[role, owner],
            )
    return mapping


def table_items(
    rows: Sequence[Row], columns: Mapping[str, str], source: str = "the file", own: Set[str] = frozenset()
) -> Iterator[tuple[str, Item | str]]:
    """One item per row, or the reason to skip the row. What is no text where a sentence should be is an error.

    Columns that no field is read from stay with the item, so that it can be grouped by them; so do those in `own`, which
    a user knows by another name than ours.
    """
    used = set(columns.values()) - own
    for number, row in enumerate(rows, 1):
        where = f"{source}, row {number}"
        identity = cell(row, columns["id"], where) or str(number)
        if TOO_MANY in row:
            yield identity, "more cells than the header has (a separator inside a sentence needs quotes)"
            continue
        # Not stripped: the original scripts pass the text as it is, and a byte-level tokenizer sees every space.
        texts = {role: text_cell(row, columns[role], where) for role in ROLES}
        texts = {role: text for role, text in texts.items() if text.strip() or role != "unrelated"}
        if not all(text.strip() for text in texts.values()):
            empty = " and ".join(columns[role] for role, text in texts.items() if not text.strip())
            yield identity, f"empty {empty}"
            continue
        yield (
            identity,
            Item(
                id=identity,
                texts=texts,
                bias_type=bias_type_name(cell(row, columns["bias_type"], where)),
                direction=direction_name(cell(row, columns["direction"], where)),
                target=cell(row, columns["target"], where) or None,
                context=text_cell(row, columns["context"], where).strip() or None,
                extra={name: value for name, value in row.items() if name not in used},
            ),
        )


def bias_type_name(label: str) -> str:
    """One spelling per bias type: lower case, hyphens."""
    return "-".join(label.lower().replace("_", " ").split()) or UNSPECIFIED


def direction_name(label: str) -> str | None:
    """CrowS rows marked 'stereo' are about a disadvantaged group, 'antistereo' about an advantaged one."""
    plain = label.lower().replace("-", "").replace("_", "").replace(" ", "")
    return DIRECTIONS.get(plain, label or None)
