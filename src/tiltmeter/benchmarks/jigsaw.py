"""jigsaw: Kaggle's "Unintended Bias in Toxicity Classification" (Civil Comments), from your own copy of its CSV files."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.groups import group_name
from tiltmeter.benchmarks.kit.items import Benchmark, Item, Note, make_benchmark
from tiltmeter.benchmarks.kit.labelled import THRESHOLD, Example, LabelledBenchmark, labelled_item, learning_from
from tiltmeter.errors import InputError
from tiltmeter.storage.compression import content_sha256
from tiltmeter.storage.places import user_cache

CITATION = (
    "Borkan, Dixon, Sorensen, Thain and Vasserman (2019), Nuanced Metrics for Measuring Unintended Bias. Licence: CC0."
)
WHERE = "https://www.kaggle.com/c/jigsaw-unintended-bias-in-toxicity-classification/data"
TEXT, TARGETS = "comment_text", ("toxicity", "target")
TRAINING = ("train.csv",)
JUDGED = ("test_private_expanded.csv", "test_public_expanded.csv")
ALL = "all_data.csv"
"""The files of the competition; `all_data.csv` has everything, with a column `split`."""
IDENTITIES = (
    "male", "female", "transgender", "other_gender", "heterosexual", "homosexual_gay_or_lesbian", "bisexual",
    "other_sexual_orientation", "christian", "jewish", "muslim", "hindu", "buddhist", "atheist", "other_religion", "black",
    "white", "asian", "latino", "other_race_or_ethnicity", "physical_disability",
    "intellectual_or_learning_disability", "psychiatric_or_mental_illness", "other_disability",
)  # fmt: skip
Row = Mapping[str, str]


def jigsaw(path: str | Path | None = None, *, data_dir: str | Path | None = None, train_on: str | None = None) -> Benchmark:
    """A folder with all_data.csv, or with train.csv and test_private_expanded.csv; or one such file.

    A comment is toxic, and names an identity, where at least half of its annotators say so. Comments without annotations
    of identities name none, as Kaggle scored it.
    """
    place = _place(path, data_dir)
    files = _files(place)
    notes: list[Note] = []
    training: list[Example] = []
    judged: list[tuple[str, Item]] = []
    for file, its in files:
        for row in _rows(file):
            split = its or row.get("split", "").strip().lower()
            if not (label := _target(row)) or not row[TEXT].strip():
                notes.append(Note(row.get("id", ""), f"skipped: {'no label' if row[TEXT].strip() else 'empty text'}"))
            elif split == "train":
                training.append(Example(row[TEXT], _half(label, file, row)))
            else:
                judged.append((row.get("id", ""), _item(row, label, file, len(judged) + 1)))
    if not judged:
        raise InputError(
            f"{place} has no comments to judge: put one of {', '.join((ALL, *JUDGED))} there ({WHERE}).",
            code="missing-file",
            folder=str(place),
            files=[ALL, *JUDGED],
            url=WHERE,
        )
    made = make_benchmark(
        "jigsaw",
        judged,
        LabelledBenchmark,
        source=str(path) if path else "jigsaw",
        sha256=" ".join(content_sha256(file)[:16] for file, _ in files),
        citation=CITATION,
        training=tuple(training),
        recipe="toxicity",
        notes=tuple(notes),
    )
    return learning_from(made, train_on, data_dir)


def _place(path: str | Path | None, data_dir: str | Path | None) -> Path:
    if path is not None:
        return Path(path)
    given = data_dir or os.environ.get("TILTMETER_DATA")
    places = [Path(folder) / "jigsaw" for folder in (given, user_cache() / "data") if folder]
    found = next((place for place in places if place.is_dir()), None)
    if found is None:
        raise InputError(
            f"Jigsaw's comments were not found. Download them from {WHERE} (an account is needed) and put {ALL}, or "
            f"{TRAINING[0]} and {JUDGED[0]}, into {places[0]}.",
            code="missing-file",
            folder=str(places[0]),
            files=[ALL, TRAINING[0], JUDGED[0]],
            url=WHERE,
        )
    return found


def _files(place: Path) -> list[tuple[Path, str]]:
    """Files and their split; nothing for a file with a column that says it."""
    if place.is_file():
        return [(place, "" if place.name not in (*TRAINING, *JUDGED) else "train" if place.name in TRAINING else "test")]
    if (place / ALL).is_file():
        return [(place / ALL, "")]
    judged = [place / name for name in JUDGED[:1] if (place / name).is_file()] or [
        place / name for name in JUDGED[1:] if (place / name).is_file()
    ]
    return [
        *((place / name, "train") for name in TRAINING if (place / name).is_file()),
        *((file, "test") for file in judged),
    ]


def _rows(file: Path) -> Iterator[Row]:
    """One at a time: the file has 1.8 million."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, restval="")
            columns = reader.fieldnames or []
            if TEXT not in columns or not set(TARGETS) & set(columns):
                raise InputError(
                    f"{file} has no columns {TEXT} and {' or '.join(TARGETS)}, so it is not Kaggle's file.",
                    code="missing-column",
                    file=str(file),
                    columns=[TEXT, *TARGETS],
                )
            yield from reader
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"Cannot read {file}: {error}.", code="unreadable-file", file=str(file), error=str(error)) from None


def _target(row: Row) -> str:
    return next((row[name].strip() for name in TARGETS if row.get(name, "").strip()), "")


def _item(row: Row, label: str, file: Path, number: int) -> Item:
    groups = [group_name(name) for name in IDENTITIES if row.get(name, "").strip() and _half(row[name], file, row)]
    more: dict[str, Any] = {"label": label}
    return labelled_item(row.get("id", "") or str(number), row[TEXT], _half(label, file, row), groups, **more)


def _half(said: str, file: Path, row: Row) -> bool:
    try:
        return float(said) >= THRESHOLD
    except ValueError:
        raise InputError(
            f"{file}, id {row.get('id', '?')}: '{said}' is not a share of annotators.",
            code="wrong-type",
            file=str(file),
            id=row.get("id"),
            value=said,
        ) from None
