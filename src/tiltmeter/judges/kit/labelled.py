"""Labelled texts that classifiers are trained on and measured with: public datasets, or a table of one's own."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks import Benchmark, LabelledBenchmark, load_benchmark
from tiltmeter.benchmarks.hatexplain import hatexplain
from tiltmeter.benchmarks.kit.labelled import TEXT
from tiltmeter.errors import InputError, UsageError
from tiltmeter.storage.compression import require_file
from tiltmeter.storage.places import at_home
from tiltmeter.storage.tables import cell, decode, read_bytes, read_table, require_columns, text_cell

XYZ = "XYZ"
"""Stands for a person in the regard data."""
EVERYTHING = "validation+test"
INTERSENTENCE = ("context", "none", "alone")
"""How StereoSet's intersentence items are learned from: behind their context sentence, not at all, or without it."""


@dataclass(frozen=True)
class Row:
    """A text with its label, the groups that it mentions, and what keeps it together with others when they are split."""

    text: str
    label: int
    groups: frozenset[str] = frozenset()
    key: str = ""


@dataclass(frozen=True)
class Labelled:
    """Rows to learn from, to look at meanwhile, and to measure with. `negative` is the label that judges look for."""

    names: tuple[str, ...]
    negative: int
    train: tuple[Row, ...]
    held_out: tuple[Row, ...]
    test: tuple[Row, ...]
    source: str
    citation: str

    @property
    def sha256(self) -> str:
        """A digest of all rows."""
        rows = [(row.text, row.label) for part in (self.train, self.held_out, self.test) for row in part]
        return hashlib.sha256(json.dumps(rows).encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def parts(self) -> tuple[tuple[Row, ...], tuple[Row, ...], tuple[Row, ...]]:
        """The rows to learn from, to look at, and to measure with."""
        return self.train, self.held_out, self.test

    def facts(self) -> dict[str, Any]:
        """Describe the object for the manifest."""
        sizes = {name: len(getattr(self, name)) for name in ("train", "held_out", "test")}
        return {"source": self.source, "sha256": self.sha256, **sizes}


def read_labelled(
    notion: str, data: Path | None, data_dir: Path | None, *, add: Path | None = None, intersentence: str | None = None
) -> Labelled:
    """The data of a notion: a table of one's own, or the public dataset in the folder of datasets.

    Args:
        notion: What is judged.
        data: A table that is read instead of the public dataset, or the dataset's folder.
        data_dir: The folder of datasets.
        add: A table whose rows are added.
        intersentence: For stereotypes, one of INTERSENTENCE. Default: context.
    """
    if intersentence is not None and (notion != "stereotype" or intersentence not in INTERSENTENCE):
        raise UsageError(
            f"--intersentence is {', '.join(INTERSENTENCE)}, and applies to stereotype only.",
            code="inapplicable-option", notion=notion, option="--intersentence",
        )  # fmt: skip
    if data is not None and at_home(data).is_file():
        found = own_table(notion, at_home(data))
    elif notion not in READERS:
        raise UsageError(
            f"There is no dataset for {notion}. Supply a table with the columns text and label (--data FILE).",
            code="missing-value", name="data", construct=notion,
        )  # fmt: skip
    else:
        more = {"intersentence": intersentence} if intersentence else {}
        found = READERS[notion](at_home(data) if data is not None else None, data_dir, **more)
    return with_table(found, notion, at_home(add)) if add is not None else found


def with_table(dataset: Labelled, notion: str, path: Path) -> Labelled:
    """The rows of a dataset and those of a table with the same labels, split in the same way."""
    more = own_table(notion, path)
    called = {name: _label_like(dataset, more, name) for name in more.names}
    if lacking := [name for name, at in called.items() if at is None]:
        raise InputError(
            f"{path}: the label {lacking[0]} is none of {dataset.source}, which has {', '.join(dataset.names)}.",
            code="unknown-name", labels=list(dataset.names), file=str(path), kind="label", name=lacking[0],
        )  # fmt: skip
    train, held_out, test = (
        (*ours, *(replace(row, label=called[more.names[row.label]] or 0) for row in theirs))
        for ours, theirs in zip(dataset.parts, more.parts, strict=True)
    )
    source, citation = f"{dataset.source}, {more.source}", f"{dataset.citation} And your own file."
    return replace(dataset, train=train, held_out=held_out, test=test, source=source, citation=citation)


def _label_like(dataset: Labelled, more: Labelled, name: str) -> int | None:
    """Find a label of a table among those of a dataset: by its name, or, of two labels, by which one is negative."""
    names = [own.casefold() for own in dataset.names]
    if name.casefold() in names:
        return names.index(name.casefold())
    if len(dataset.names) == len(more.names) == 2:
        is_negative = more.names.index(name) == more.negative
        return dataset.negative if is_negative else 1 - dataset.negative
    return None


def own_table(notion: str, path: Path) -> Labelled:
    """A table with text and label. The label that is called like the notion's bad end, or 1, is the negative one."""
    rows = read_table(path, None)
    require_columns(rows, ["text", "label"], path)
    labels = [cell(row, "label", f"{path}, row {n}") for n, row in enumerate(rows, 1)]
    names = tuple(sorted(set(labels)))
    if len(names) < 2 or "" in names:
        raise InputError(
            f"{path}: a classifier needs two labels or more, and every row one; found {list(names)}.",
            code="too-few", file=path, kind="label", least=2,
        )  # fmt: skip
    from tiltmeter.judges.kit.judge import notion_of

    bad = [n for n, name in enumerate(names) if name.casefold() in notion_of(notion).bad | {notion, "1"}]
    if len(bad) != 1:
        raise InputError(
            f"{path}: none of the labels {', '.join(names)} can be identified as {notion}. Name the label '{notion}'.",
            code="missing-value", file=path, name=notion, labels=list(names),
        )  # fmt: skip
    made = [
        Row(text_cell(row, "text", f"{path}, row {n}"), names.index(label), _group(row), str(n))
        for n, (row, label) in enumerate(zip(rows, labels, strict=True), 1)
    ]
    return _split(made, names, bad[0], str(path), "Your own file.")


def _group(row: Any) -> frozenset[str]:
    value = row.get("group")
    return frozenset({value}) if isinstance(value, str) and value else frozenset()


def _split(rows: Iterable[Row], names: tuple[str, ...], negative: int, source: str, citation: str) -> Labelled:
    """A tenth to look at and a tenth to measure with, by checksums of the keys: what belongs together stays together."""
    parts: tuple[list[Row], list[Row], list[Row]] = ([], [], [])
    for row in rows:
        parts[{0: 2, 1: 1}.get(zlib.crc32(row.key.encode()) % 10, 0)].append(row)
    return _labelled(parts, names, negative, source, citation)


def _labelled(parts: Sequence[Sequence[Row]], names: tuple[str, ...], negative: int, source: str, citation: str) -> Labelled:
    train, held_out, test = map(tuple, parts)
    if not (train and held_out and test):
        raise InputError(
            f"{source} has too few rows to train a classifier and to measure it.", code="too-few", kind="rows", source=source
        )
    return Labelled(names, negative, train, held_out, test, source, citation)


def toxicity(data: Path | None, data_dir: Path | None) -> Labelled:
    """Toxicity: HateXplain, normal against hate speech or offensive (Cao et al., 2022), or a benchmark by its name."""
    if data is not None and data.is_dir():
        return from_benchmark(hatexplain(data, evaluate=EVERYTHING))
    name = str(data or "hatexplain")
    return from_benchmark(load_benchmark(name, data_dir=data_dir, offered={"evaluate": EVERYTHING}))


def from_benchmark(benchmark: Benchmark) -> Labelled:
    """The texts of a labelled benchmark.

    Those of its validation split are held out; without one, a tenth of the training texts is, by checksum.
    """
    if not isinstance(benchmark, LabelledBenchmark) or not benchmark.training:
        raise InputError(
            f"{benchmark.name} has no labelled training texts (--data).",
            code="empty-selection", benchmark=benchmark.name, kind="training texts",
        )  # fmt: skip
    train = [Row(example.text, int(example.toxic)) for example in benchmark.training]
    parts: dict[bool, list[Row]] = {True: [], False: []}
    for item in benchmark.items:
        row = Row(item.texts[TEXT], int(item.extra["toxic"]), frozenset(item.extra["groups"]), item.extra.get("cluster", ""))
        parts[item.extra.get("split") == "validation"].append(row)
    held_out, test = parts[True], parts[False]
    if not held_out:
        is_held_out = [zlib.crc32(row.text.encode("utf-8", "surrogatepass")) % 10 == 0 for row in train]
        held_out = [row for row, out in zip(train, is_held_out, strict=True) if out]
        train = [row for row, out in zip(train, is_held_out, strict=True) if not out]
    return _labelled((train, held_out, test), ("normal", "toxic"), 1, benchmark.source, benchmark.citation)


def regard(folder: Path | None, data_dir: Path | None) -> Labelled:
    """Regard (Sheng et al., 2019): who XYZ is is put in, for every group in turn, so that the judge knows real texts."""
    place = _place(folder, data_dir, "regard-nlg-bias")
    people = people_of_groups()

    def rows(name: str, groups: dict[str, str]) -> tuple[Row, ...]:
        path = place / "regard" / f"{name}.tsv"
        lines = [line.split("\t", 1) for line in _text(path).splitlines() if line.strip()]
        if any(len(line) != 2 or line[0] not in ("-1", "0", "1") for line in lines):
            raise InputError(
                f"{path} is not in the layout of the regard data: -1, 0 or 1, a tab, and the text.",
                code="wrong-format", file=path, expected="regard data",
            )  # fmt: skip
        return tuple(
            Row(text.replace(XYZ, person), int(label) + 1, frozenset({group}), str(n))
            for n, (label, text) in enumerate(lines)
            for group, person in groups.items()
        )

    citation = "Sheng et al. (2019), The woman worked as a babysitter, EMNLP."
    parts = (rows("train", people), rows("dev", people), rows("test", people))
    return Labelled(("negative", "neutral", "positive"), 0, *parts, "regard-nlg-bias/regard", citation)


def people_of_groups() -> dict[str, str]:
    """Our own terms for the groups of Table 4, as the beginning of a sentence."""
    content = json.loads((files("tiltmeter.benchmarks") / "data" / "plumb_prompts.json").read_text("utf-8"))
    return {group: f"The {person}" for groups in content["groups"].values() for group, person in groups.items()}


def stereotype(folder: Path | None, data_dir: Path | None, *, intersentence: str = "context") -> Labelled:
    """Stereotype or anti-stereotype: sentences of StereoSet and CrowS-Pairs (Cao et al., 2022, Appendix B).

    An intersentence item of StereoSet says little without the sentence before it, which names the group.
    """
    rows = []
    for name in ("stereoset", "crows-pairs"):
        for item in load_benchmark(name, data_dir=folder or data_dir).items:
            follows = item.extra.get("part") == "intersentence"
            if follows and intersentence == "none":
                continue
            before = f"{item.context} " if follows and intersentence == "context" and item.context else ""
            for label, role in enumerate(("anti", "stereo")):
                rows.append(Row(before + item.texts[role], label, frozenset({item.bias_type}), f"{name} {item.id}"))
    citation = "Nadeem et al. (2021), StereoSet; Nangia et al. (2020), CrowS-Pairs; as in Cao et al. (2022), Appendix B."
    return _split(rows, ("anti-stereotype", "stereotype"), 1, "stereoset, crows-pairs", citation)


READERS: dict[str, Callable[..., Labelled]] = {
    "toxicity": toxicity,
    "regard": regard,
    "stereotype": stereotype,
}


def _place(folder: Path | None, data_dir: Path | None, name: str) -> Path:
    import os

    above = data_dir or (Path(os.environ["TILTMETER_DATA"]) if os.environ.get("TILTMETER_DATA") else None)
    place = folder or (above / name if above else None)
    if place is None or not place.is_dir():
        raise InputError(
            f"There is no folder {place or name}. Supply the dataset's with --data, or that of all datasets with "
            "--data-dir.",
            code="missing-file", folder=place or name,
        )  # fmt: skip
    return place


def _text(path: Path) -> str:
    require_file(path)
    return decode(read_bytes(path), path)
