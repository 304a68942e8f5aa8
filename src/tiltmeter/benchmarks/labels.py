"""labels: your own labelled text (CSV, TSV, JSON, JSONL): text, label, the groups that it names, and a split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.groups import DOMAIN_OF, group_names, split_groups
from tiltmeter.benchmarks.kit.items import Benchmark, Item, Note, encoding_notes, make_benchmark
from tiltmeter.benchmarks.kit.labelled import (
    Example,
    LabelledBenchmark,
    Labels,
    check_evaluated,
    labelled_item,
    learning_from,
)
from tiltmeter.benchmarks.kit.location import require_path
from tiltmeter.errors import InputError
from tiltmeter.storage.compression import content_sha256
from tiltmeter.storage.tables import TOO_MANY, TYPES, Row, cell, field_columns, read_table, require_columns, text_cell

CITATION = "Your own labelled text."
FIELDS = ("id", "text", "label", "groups", "split", "cluster")
SPLITS = {
    "train": "train", "training": "train", "validation": "validation", "val": "validation", "valid": "validation",
    "dev": "validation", "test": "test", "": "test",
}  # fmt: skip
UNKNOWN_GROUP = "kept: the group '{}' is none of ours, so it has no domain, and no words that could be exchanged"


def labels(
    path: str | Path | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    toxic_labels: Sequence[str] = (),
    evaluate: str = "test",
    train_on: str | None = None,
    data_dir: str | Path | None = None,
    name: str = "labels",
) -> Benchmark:
    """Rows with `text` and `label`.

    `groups` (several: a list, or separated by semicolons), `split` (train, validation, test) and `cluster` (texts that
    are no independent evidence, such as those of one template) are optional.

    Without a split all rows are judged and none is learned from.
    """
    place = require_path("labels", path, "-b path/to/labels.csv with text and label")
    mapping = field_columns(columns, FIELDS, "labels")
    check_evaluated(evaluate)
    rows = read_table(place, encoding)
    require_columns(rows, [mapping["text"], mapping["label"], *(columns or {}).values()], place)
    reader = _Reader(mapping, Labels(toxic_labels), str(place))
    reader.labels.check((reader.label(row, n) for n, row in enumerate(rows, 1)), str(place))
    read = [reader.row(row, n) for n, row in enumerate(rows, 1)]
    parts = {split: [(label, item) for its, label, item in read if its == split] for split in SPLITS.values()}
    judged = parts["test"] + (parts["validation"] if evaluate != "test" else [])
    if not any(isinstance(item, Item) for _, item in judged):
        given = ", ".join(split for split, of_split in parts.items() if of_split)
        raise InputError(
            f"{place}: its split '{evaluate}' is empty, so there is nothing to judge. It has: {given}.",
            code="empty-selection",
            file=str(place),
            split=evaluate,
        )
    skipped = [Note(label, f"skipped: {item}") for label, item in parts["train"] if isinstance(item, str)]
    training = [Example(item.texts["text"], item.extra["toxic"]) for _, item in parts["train"] if isinstance(item, Item)]
    made = make_benchmark(
        name,
        judged,
        LabelledBenchmark,
        source=str(place),
        sha256=content_sha256(place),
        citation=CITATION,
        training=tuple(training),
        notes=(*encoding_notes(place, encoding), *skipped, *reader.notes),
    )
    return learning_from(made, train_on, data_dir, toxic_labels)


class _Reader:
    """Rows of a table as items, and what is odd about them."""

    def __init__(self, columns: Mapping[str, str], labels: Labels, source: str) -> None:
        self.columns, self.labels, self.source = columns, labels, source
        self.notes: list[Note] = []

    def label(self, row: Row, number: int) -> str:
        """As it is written; JSON's true and false are labels too."""
        return cell(row, self.columns["label"], f"{self.source}, row {number}")

    def row(self, row: Row, number: int) -> tuple[str, str, Item | str]:
        """Its split, its name, and the item or why it is none."""
        where = f"{self.source}, row {number}"
        name = cell(row, self.columns["id"], where) or str(number)
        said = cell(row, self.columns["split"], where).lower()
        if said not in SPLITS:
            raise InputError(
                f"{where}: the split is '{said}'. It is one of: train, validation, test.",
                code="unknown-name",
                kind="split",
                name=said,
                file=str(where),
            )
        text, label = text_cell(row, self.columns["text"], where).strip(), self.label(row, number)
        wrong = _reason_to_skip(row, text, label)
        return SPLITS[said], name, wrong or self._item(row, name, text, label, where)

    def _item(self, row: Row, name: str, text: str, label: str, where: str) -> Item:
        groups = _groups(row.get(self.columns["groups"]), where)
        self.notes += [Note(name, UNKNOWN_GROUP.format(group)) for group in groups if group not in DOMAIN_OF]
        used = set(self.columns.values())
        more: dict[str, Any] = {key: value for key, value in row.items() if key not in used}
        cluster = cell(row, self.columns["cluster"], where)
        more |= {"cluster": cluster} if cluster else {}
        return labelled_item(name, text, bool(self.labels.meaning(label)), groups, **more | {"label": label})


def _reason_to_skip(row: Row, text: str, label: str) -> str | None:
    if TOO_MANY in row:
        return "more cells than the header has (a separator inside a text needs quotes)"
    if not text:
        return "empty text"
    return None if label else "no label"


def _groups(value: Any, where: str) -> list[str]:
    if value is None or isinstance(value, str):
        return split_groups(value or "")
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return group_names(value)
    raise InputError(
        f"{where}: 'groups' must be a text or a list of texts, not {TYPES.get(type(value), 'this')}.",
        code="wrong-type",
        file=str(where),
        field="groups",
    )
