"""KoBBQ (Jin et al., 2024): 2,280 questions in Korean, adapted from BBQ to Korean culture."""

from __future__ import annotations

import ast
import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tiltmeter.benchmarks.kit.choices import AMBIGUOUS, DISAMBIGUATED, Choice, ChoiceBenchmark, choice_item, reading_line
from tiltmeter.benchmarks.kit.items import Benchmark, Item, make_benchmark
from tiltmeter.benchmarks.kit.location import Source, locate
from tiltmeter.storage.files import file_sha256
from tiltmeter.storage.tables import decode, read_bytes

CITATION = "Jin, Kim, Lee, Yoo, Oh and Lee (2024), KoBBQ: Korean bias benchmark for question answering, TACL. Licence: MIT."
SOURCE = Source(
    "kobbq/KoBBQ_test_samples.tsv",
    "https://raw.githubusercontent.com/naver-ai/KoBBQ/0dd165aeaaacd1bd46c63513a9b2e9875eb6dce7/data/KoBBQ_test_samples.tsv",
    "6eacb1c0ff995c74b26183d368c500193454b7bf96a2a0f9462641e57972aab7",
)
UNKNOWN = "알 수 없음"
IDENTITY = re.compile(r"(?P<template>(?P<category>.+?)-\d+)[a-z]?-\d+-(?P<condition>amb|dis)-(?:bsd|cnt)")
CONDITIONS = {"amb": AMBIGUOUS, "dis": DISAMBIGUATED}


def kobbq(path: str | Path | None = None, *, data_dir: str | Path | None = None) -> Benchmark:
    """Load the test samples. Which answer is biased is a column; `bsd` and `cnt` in the ids do not say it."""
    place = locate(SOURCE, path, data_dir)
    facts = {"source": SOURCE.relative, "sha256": file_sha256(place), "citation": CITATION, "language": "ko"}
    return make_benchmark("kobbq", _rows(place), ChoiceBenchmark, **facts)


def _rows(path: Path) -> Iterator[tuple[str, Item | str]]:
    table = csv.DictReader(io.StringIO(decode(read_bytes(path), path), newline=""), delimiter="\t")
    for number, row in enumerate(table, 2):
        with reading_line(path, number, "KoBBQ"):
            yield str(row["sample_id"]), _item(row)


def _item(row: Mapping[str, str]) -> Item | str:
    named = IDENTITY.fullmatch(row["sample_id"])
    if named is None:
        return "the sample id is not in KoBBQ's layout"
    answers = tuple(map(str, ast.literal_eval(row["choices"])))
    places = {answer: n for n, answer in enumerate(answers)}
    if not {UNKNOWN, row["answer"], row["biased_answer"]} <= set(places):
        return "the right, the biased or the 'unknown' answer is not among the answers"
    choice = Choice(
        context=row["context"],
        question=row["question"],
        answers=answers,
        right=places[row["answer"]],
        unknown=places[UNKNOWN],
        stereotyped=places[row["biased_answer"]],
        condition=CONDITIONS[named["condition"]],
        template=named["template"],
        category=named["category"],
    )
    return choice_item(row["sample_id"], choice, label_annotation=row.get("label_annotation") or None)
