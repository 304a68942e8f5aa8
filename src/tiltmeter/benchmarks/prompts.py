"""Your own prompts: a CSV, TSV, JSON or JSONL file with a column `prompt`, and one that names the group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.items import Benchmark, Item, encoding_notes, make_benchmark
from tiltmeter.benchmarks.kit.prompts import PromptBenchmark, prompt_item
from tiltmeter.benchmarks.pairs import bias_type_name
from tiltmeter.errors import UsageError
from tiltmeter.storage.compression import content_sha256
from tiltmeter.storage.tables import TOO_MANY, Row, cell, read_table, require_columns, text_cell

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
    """Prompts from a table. `group` says whom a prompt is about, `domain` which groups are compared, `set` which prompts
    differ in the group alone, `cluster` which are no independent evidence, such as those of one article or author;
    `columns` maps these names to the file's.
    """
    if path is None:
        raise UsageError(
            "The benchmark 'prompts' needs your file: -b path/to/prompts.csv.",
            code="missing-value",
            benchmark="prompts",
            argument="path",
        )
    mapping = prompt_columns(columns)
    rows = read_table(Path(path), encoding)
    require_columns(rows, [mapping["prompt"], *(columns or {}).values()], Path(path))
    facts = {"source": str(path), "sha256": content_sha256(Path(path)), "notes": encoding_notes(path, encoding)} | facts
    return make_benchmark(name, prompt_rows(rows, mapping, str(path)), PromptBenchmark, citation=CITATION, **facts)


def prompt_columns(columns: Mapping[str, str] | None) -> dict[str, str]:
    """Map fields to columns; refuse unknown fields."""
    if unknown := sorted(set(columns or {}) - set(FIELDS)):
        raise UsageError(
            f"Unknown field {', '.join(unknown)} in --columns. Fields of prompts: {', '.join(FIELDS)}.",
            code="unknown-name",
            kind="field",
            names=list(unknown),
            option="--columns",
        )
    return {field: field for field in FIELDS} | dict(columns or {})


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
