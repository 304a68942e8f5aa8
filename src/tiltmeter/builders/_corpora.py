"""Labelled corpora in the formats they were published in, or any table with a text and a label column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.errors import InputError
from tiltmeter.storage.compression import title_of
from tiltmeter.storage.tables import Row, cell, field_columns, read_table, refuse_long_rows, require_columns, text_cell

FIELDS = ("id", "text", "label")
LABEL_COLUMNS = ("label", "class", "annotation", "sexist", "category")
TEXT_COLUMNS = ("text", "tweet", "tweet_text", "sentence", "content")
KNOWN = {
    "waseem-hovy": ({"sexism", "racism", "none", "neither"}, {"sexism"}),
    "jha-mamidi": ({"benevolent", "hostile", "others", "other", "none"}, {"benevolent", "hostile"}),
    "labelled": (
        {"true", "false", "1", "0", "yes", "no", "sexist", "not sexist", "non-sexist"},
        {"true", "1", "yes", "sexist"},
    ),
}
"""Corpus → (labels that identify it, labels that are positive)."""


@dataclass(frozen=True)
class Example:
    """A sentence of a corpus."""

    id: str
    text: str
    positive: bool
    label: str


def read_corpus(
    path: Path, columns: Mapping[str, str] | None, positive: Sequence[str], encoding: str | None
) -> list[Example]:
    """The examples of one file. `columns` maps id, text and label to the file's; `positive` are the labels to keep."""
    field_columns(columns, FIELDS, "corpora")
    rows = read_table(path, encoding)
    refuse_long_rows(rows, path)
    require_columns(rows, list((columns or {}).values()), path)
    text, label = (_column(rows, field, columns, path) for field in ("text", "label"))
    labels = Counter(cell(row, label, f"{path}, row {number}").lower() for number, row in enumerate(rows, 1))
    name, wanted = _corpus(rows, labels, {kept.lower() for kept in positive}, path, label)
    identity = (columns or {}).get("id", "id")
    kind = "dataset" if name == "samory" else label
    return [
        Example(
            f"{name}-{cell(row, identity) or number}",
            text_cell(row, text, f"{path}, row {number}"),
            cell(row, label).lower() in wanted,
            cell(row, kind),
        )
        for number, row in enumerate(rows, 1)
    ]


def _column(rows: Sequence[Row], field: str, columns: Mapping[str, str] | None, path: Path) -> str:
    if columns and field in columns:
        return columns[field]
    present = {name.lower(): name for name in rows[0]}
    for name in TEXT_COLUMNS if field == "text" else LABEL_COLUMNS:
        if name in present:
            return present[name]
    raise InputError(
        f"{path} has no {field} column of a usual name. Its columns: {', '.join(map(repr, list(rows[0])[:12]))}. "
        f"Name it with --columns {field}=YOURS.",
        code="missing-column",
        file=path,
        columns=[field],
        present=list(rows[0]),
    )


def _corpus(rows: Sequence[Row], labels: Counter[str], positive: set[str], path: Path, column: str) -> tuple[str, set[str]]:
    """The corpus's name, and the labels to keep."""
    shown = ", ".join(f"{name or '(empty)'} ({n:,})" for name, n in labels.most_common(8))
    if positive:
        lacking = sorted(positive - set(labels))
        if lacking:
            raise InputError(
                f"{path}: no row has '{lacking[0]}' in the column '{column}'. Labels there: {shown}.",
                code="unknown-name",
                file=path,
                kind="label",
                name=lacking[0],
                names=sorted(labels),
            )
        return title_of(path), positive
    if {"of_id", "dataset", "sexist"} <= set(rows[0]):
        return "samory", {"true"}
    for name, (known, wanted) in KNOWN.items():
        if set(labels) - {""} <= known and wanted & set(labels):
            return title_of(path) if name == "labelled" else name, wanted
    raise InputError(
        f"{path}: the labels that mean sexist are unknown. Name them with --positive. Labels in '{column}': {shown}.",
        code="missing-value",
        file=path,
        name="positive",
        names=sorted(labels),
    )
