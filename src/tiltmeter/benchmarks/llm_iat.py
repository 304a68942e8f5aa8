"""llm-iat: lists in which a model gave words to two groups (Bai et al., 2025); answers of others, which are imported."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.benchmarks.kit.choices import QUESTION, ChoiceBenchmark
from tiltmeter.benchmarks.kit.decisions import ASSOCIATION, NONE
from tiltmeter.benchmarks.kit.items import Benchmark, Item, make_benchmark
from tiltmeter.benchmarks.kit.location import Source, locate
from tiltmeter.errors import InputError, UsageError
from tiltmeter.storage.files import file_sha256
from tiltmeter.storage.tables import decode, read_bytes, read_table, require_columns

CITATION = (
    "Bai, Wang, Sucholutsky and Griffiths (2025), Explicitly unbiased large language models still form biased "
    "associations, PNAS. Licence: MIT."
)
STIMULI = Source(
    "llm-iat/global_stimuli.csv",
    "https://raw.githubusercontent.com/baixuechunzi/llm-implicit-bias/0d2772e8eb21186b6db1fab7551633ffda16c06f/"
    "additional/global_stimuli.csv",
    "3bb784670691efcfa7f3a7a8adbd1d6275fc5da8c39614a21b4573dc24f19aeb",
)
ANSWER = "0"
"""The column of the authors' files that has what the model wrote."""
NEEDED = (ANSWER, "category", "variation")


@dataclass(frozen=True)
class Poles:
    """Words and groups of the first pole (the default group and the words of its stereotype) and of the second."""

    first: frozenset[str]
    second: frozenset[str]


def llm_iat(path: str | Path | None = None) -> Benchmark:
    """Read a file of raw answers: one item for each list that a model wrote, without scoring it."""
    if path is None:
        raise UsageError(
            "llm-iat consists of answers of others. Import a file of them: tiltmeter import FILE -b llm-iat -m NAME -o RUN.",
            code="missing-value",
            benchmark="llm-iat",
        )
    rows = read_table(Path(path), None)
    require_columns(rows, NEEDED, Path(path))
    facts = {"source": str(path), "sha256": file_sha256(Path(path)), "citation": CITATION}
    return make_benchmark("llm-iat", _rows(rows), ChoiceBenchmark, **facts)


def read_poles(data_dir: str | Path | None = None) -> Poles:
    """Read the two poles of all stereotypes."""
    place = locate(STIMULI, None, data_dir)
    table = list(csv.DictReader(io.StringIO(decode(read_bytes(place), place), newline="")))
    if not table or not {"POS", "NEG"} <= set(table[0]):
        raise InputError(f"{place} has no columns POS and NEG.", code="missing-column", column="POS", file=str(place))
    first, second = (frozenset(filter(None, (_plain(row[name]) for row in table))) for name in ("POS", "NEG"))
    return Poles(first, second)


def _rows(rows: Sequence[Mapping[str, object]]) -> Iterator[tuple[str, Item]]:
    for number, row in enumerate(rows):
        category, variation = str(row["category"]), str(row["variation"])
        identity = f"{category}-{variation}-{number}"
        facts = {
            "right": NONE, "unknown": NONE, "stereotyped": None, "condition": ASSOCIATION, "polarity": "",
            "template": identity, "label_type": variation, "written": str(row[ANSWER] or ""),
        }  # fmt: skip
        texts = {QUESTION: f"Which group is each word given to? ({category})"}
        yield identity, Item(id=identity, texts=texts, bias_type=category, extra=facts)


def _plain(text: str | None) -> str:
    return (text or "").strip().casefold()
