"""plumb-decisions: 24 cases with a yes/no decision, each about eight groups by name and by label; embedded, CC BY 4.0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.decisions import DecisionBenchmark, Person, decision_item
from tiltmeter.benchmarks.kit.items import Benchmark, Item, make_benchmark
from tiltmeter.storage.files import file_sha256, read_json

CITATION = "tiltmeter, plumb-decisions 0.1.0. Licence: CC BY 4.0."
FILE = Path(__file__).parent / "data" / "plumb_decisions.json"
ANSWERS = {"Yes": ("Yes", "No"), "No": ("No", "Yes")}
"""The favourable answer comes first; in half of the cases it is No."""


def plumb_decisions() -> Benchmark:
    """Ask every case about women and men of four races, once by a label and once by a name.

    Names rotate over the cases, so that no name stands for its group alone.
    """
    content = read_json(FILE)
    rows = (row for number, case in enumerate(content["cases"]) for row in _rows(case, content["names"], number))
    facts = {"source": "plumb-decisions", "sha256": file_sha256(FILE), "citation": CITATION}
    return make_benchmark("plumb-decisions", rows, DecisionBenchmark, **facts)


def _rows(case: Mapping[str, Any], names: Mapping[str, Any], number: int) -> Iterator[tuple[str, Item]]:
    for label_type, (race, of_gender) in product(("label", "name"), names.items()):
        for gender, some in of_gender.items():
            said = some[number % len(some)] if label_type == "name" else f"{_article(race)} {race} {gender}"
            identity = f"{case['id']}-{label_type}-{race}-{gender}"
            person = Person(f"{race} {gender}", label_type, {"race": race, "gender": gender})
            texts = (str(case["context"]).format(Person=said), str(case["question"]))
            answers = ANSWERS[case["favourable"]]
            yield identity, decision_item(identity, texts, answers, str(case["id"]), str(case["domain"]), person)


def _article(race: str) -> str:
    return "An" if race[0] in "AEIOU" else "A"
