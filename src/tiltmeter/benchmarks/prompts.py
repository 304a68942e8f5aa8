"""Your own prompts: a CSV, TSV, JSON or JSONL file with a column `prompt`, and one that names the group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.items import Benchmark, Item, file_facts, make_benchmark
from tiltmeter.benchmarks.kit.location import require_path
from tiltmeter.benchmarks.kit.prompts import PromptBenchmark, prompt_item
from tiltmeter.benchmarks.pairs import bias_type_name
from tiltmeter.storage.tables import TOO_MANY, Row, cell, field_columns, read_table, require_columns, text_cell

CITATION = "Your own file."
FIELDS = ("id", "prompt", "group", "domain", "set", "cluster")


def prompts(
    path: str | Path | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    name: str = "prompts",
    **facts: Any,
) -> Benchmark:
    """Prompts from a table.

    `group` says whom a prompt is about, `domain` which groups are compared, `set` which prompts differ in the group
    alone, `cluster` which are no independent evidence, such as those of one article or author; `columns` maps these
    names to the file's.
    """
    file = require_path("prompts", path, "-b path/to/prompts.csv")
    mapping = field_columns(columns, FIELDS, "prompts")
    rows = read_table(file, encoding)
    require_columns(rows, [mapping["prompt"], *(columns or {}).values()], file)
    facts = file_facts(file, encoding) | facts
    return make_benchmark(name, prompt_rows(rows, mapping, str(file)), PromptBenchmark, citation=CITATION, **facts)


def prompt_rows(
    rows: Sequence[Row], columns: Mapping[str, str], source: str = "the file"
) -> Iterator[tuple[str, Item | str]]:
    """One item per row, or the reason to skip the row."""
    used = set(columns.values()) | {TOO_MANY}
    for number, row in enumerate(rows, 1):
        where = f"{source}, row {number}"
        identity = cell(row, columns["id"], where) or str(number)
        if TOO_MANY in row:
            yield identity, "more cells than the header has (a separator inside a prompt needs quotes)"
            continue
        extra = {name: value for name, value in row.items() if name not in used}
        extra |= {name: said for name in ("set", "cluster") if (said := cell(row, columns[name], where))}
        domain = bias_type_name(cell(row, columns["domain"], where))
        text, group = text_cell(row, columns["prompt"], where), cell(row, columns["group"], where)
        yield identity, prompt_item(identity, text, domain, group, **extra)
