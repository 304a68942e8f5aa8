"""Spanish and Catalan adaptations of BBQ, which share one file layout (EsBBQ and CaBBQ; Ruiz-Fernández et al., 2025)."""

from __future__ import annotations

import ast
import csv
import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tiltmeter.benchmarks.kit.choices import (
    CONDITIONS,
    NEGATIVE,
    POLARITIES,
    Choice,
    ChoiceBenchmark,
    categories_named,
    choice_item,
    reading_line,
)  # fmt: skip
from tiltmeter.benchmarks.kit.items import Benchmark, Item, make_benchmark
from tiltmeter.benchmarks.kit.location import Source, locate
from tiltmeter.storage.files import file_sha256
from tiltmeter.storage.tables import decode, read_bytes

CITATION = (
    "Ruiz-Fernández et al. (2025), EsBBQ and CaBBQ: the Spanish and Catalan bias benchmarks for question answering. "
    "Licence: Apache-2.0."
)
URL = "https://raw.githubusercontent.com/langtech-bsc/EsBBQ-CaBBQ/ee2e0f6123f718b735fc445d368d92acd2c223be/"
UNKNOWN = "unknown"
TYPES = {"pro-stereo": True, "anti-stereo": False}


def adapted_bbq(
    name: str, language: str, files: Mapping[str, str], data_dir: str | Path | None, category: Sequence[str] | str
) -> Benchmark:
    """Load an adaptation. Its "unknown" answer is the English word; the prompt supplies a wording."""
    paths = {
        each: locate(_source(language, each, files[each]), None, data_dir) for each in categories_named(category, files)
    }
    digest = hashlib.sha256("".join(map(file_sha256, paths.values())).encode()).hexdigest()
    rows = (row for each, path in paths.items() for row in _rows(each, path))
    facts = {"source": f"esbbq-cabbq/data_{language}", "sha256": digest, "citation": CITATION, "language": language}
    return make_benchmark(name, rows, ChoiceBenchmark, **facts)


def _source(language: str, category: str, sha256: str) -> Source:
    place = f"data_{language}/{category}.full.csv"
    return Source(f"esbbq-cabbq/{place}", URL + place, sha256)


def _rows(category: str, path: Path) -> Iterator[tuple[str, Item | str]]:
    for number, row in enumerate(csv.DictReader(io.StringIO(decode(read_bytes(path), path), newline="")), 2):
        with reading_line(path, number, "EsBBQ"):
            yield _row(category, row)


def _row(category: str, row: Mapping[str, str]) -> tuple[str, Item | str]:
    identity = f"{category}-{row['instance_id']}"
    groups = tuple(str(ast.literal_eval(row[f"answer_info.ans{n}"])[-1]).rpartition(", ")[2] for n in range(3))
    known = {str(name).casefold() for name in ast.literal_eval(row["stereotyped_groups"])}
    unknown = [n for n, group in enumerate(groups) if group == UNKNOWN]
    found = [n for n, group in enumerate(groups) if group.casefold() in known]
    if len(unknown) != 1 or len(found) != 1:
        return identity, f"{len(unknown)} answers are 'unknown' and {len(found)} are about the stereotyped group"
    polarity = POLARITIES[row["question_polarity"]]
    (other,) = {0, 1, 2} - {unknown[0], found[0]}
    stereotyped, right = found[0] if polarity == NEGATIVE else other, int(row["label"])
    choice = Choice(
        context=row["context"],
        question=row["question"],
        answers=tuple(row[f"ans{n}"] for n in range(3)),
        right=right,
        unknown=unknown[0],
        stereotyped=stereotyped,
        condition=CONDITIONS[row["context_condition"]],
        template=f"{category}-{row['template_id']}",
        polarity=polarity,
        groups=groups,
        stereotyped_group=groups[found[0]],
        category=category,
    )
    said = TYPES.get(row["question_type"])
    disputed = said is not None and said != (right == stereotyped)
    return identity, choice_item(
        identity, choice, label_type="name" if row["proper_nouns_only"] == "True" else "label", type_disputed=disputed
    )
