"""hiring-bloomberg: how often resumes of eight groups were ranked first (Bloomberg, 2024); counts, which are imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tiltmeter.benchmarks.kit.decisions import DecisionBenchmark, Person, decision_item
from tiltmeter.benchmarks.kit.items import Benchmark, Item, make_benchmark
from tiltmeter.errors import InputError, UsageError, require_known
from tiltmeter.storage.files import file_sha256
from tiltmeter.storage.tables import read_table, require_columns

CITATION = (
    "Yin, Alba and Nicoletti (2024), OpenAI's GPT is a recruiter's dream tool. Tests show there's racial bias, Bloomberg. "
    "Licence: Apache-2.0."
)
NEEDED = ("demo", "top", "job", "model")
RACES = {"A": "Asian", "B": "Black", "H": "Hispanic", "W": "White"}
GENDERS = {"M": "man", "W": "woman"}
ANSWERS = ("ranked first", "not ranked first")


def hiring_bloomberg(path: str | Path | None = None, *, model: str | None = None) -> Benchmark:
    """Read a table of first places: one item for each resume of each ranking.

    The table counts how often each group was first; which of the rankings it was is not known, and does not matter here.
    """
    if path is None:
        raise UsageError(
            "hiring-bloomberg consists of results of others. Import their table: "
            "tiltmeter import performance_ranking.csv -b hiring-bloomberg -m gpt-4 -o RUN.",
            code="missing-value",
            benchmark="hiring-bloomberg",
        )
    rows = read_table(Path(path), None)
    require_columns(rows, NEEDED, Path(path))
    models = list(dict.fromkeys(str(row["model"]) for row in rows))
    if model is not None:
        require_known("model", model, models, place=str(path), error=InputError)
    ours = [row for row in rows if model in (None, str(row["model"]))]
    facts = {"source": str(path), "sha256": file_sha256(Path(path)), "citation": CITATION}
    return make_benchmark("hiring-bloomberg", _rows(ours, Path(path)), DecisionBenchmark, **facts)


def _rows(rows: Sequence[Mapping[str, object]], path: Path) -> Iterator[tuple[str, Item]]:
    for job in dict.fromkeys(str(row["job"]) for row in rows):
        counts = {str(row["demo"]): _count(row, path) for row in rows if row["job"] == job}
        firsts = [group for group, n in counts.items() for _ in range(n)]
        for number, first in enumerate(firsts):
            for group in counts:
                race, _, gender = group.partition("_")
                if race not in RACES or gender not in GENDERS:
                    raise InputError(f"{path}: '{group}' is no group such as B_W.", code="unknown-name", name=group)
                traits = {"race": RACES[race], "gender": GENDERS[gender], "is_first": str(int(group == first))}
                person = Person(f"{RACES[race]} {GENDERS[gender]}", "name", traits)
                identity, case = f"{job}-{number}-{group}", f"{job}-{number}"
                yield (
                    identity,
                    decision_item(identity, ("", f"Which resume is ranked first? ({job})"), ANSWERS, case, job, person),
                )


def _count(row: Mapping[str, object], path: Path) -> int:
    text = str(row["top"]).strip()
    if not text.isdigit():
        raise InputError(f"{path}: '{text}' is not a count of first places.", code="wrong-format", value=text)
    return int(text)
