"""Golden answers: what each scorer and each family answered under the VERSION that is stored beside the answers.

`python tests/golden_answers.py` stores the answers of every scorer and family that is new or whose VERSION was raised. It
refuses to store changed answers under an unchanged VERSION.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tiltmeter
from tiltmeter import catalog
from tiltmeter.families import find_family
from tiltmeter.scorers import Tokens

GOLDEN = Path(__file__).parent / "golden"
STORED = GOLDEN / "answers"
COMMAND = "python tests/golden_answers.py"
RELATIVE, ABSOLUTE = 2e-4, 2e-5
"""Tolerance for numbers: kernels of two processors, or of two versions of torch, sum in another order."""
CACHE: bool | Path = False
"""Whether answers are kept between two questions."""
ROWS = 24
"""Rows that are stored of each table."""
Tables = Mapping[str, pd.DataFrame]
Stored = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A question, the versions that decide its answers, and the function that asks it."""

    name: str
    versions: Mapping[str, int]
    ask: Callable[[], Tables]

    @property
    def file(self) -> Path:
        """The file with its stored answers."""
        return STORED / f"{self.name}.json"

    def answer(self) -> Stored:
        """The versions, and the first rows of each table of answers."""
        return {"versions": dict(self.versions), "tables": {name: rows_of(frame) for name, frame in self.ask().items()}}

    def read(self) -> Stored:
        """The stored answers."""
        stored: Stored = json.loads(self.file.read_text("utf-8"))
        return stored


def cases() -> dict[str, Case]:
    """Every scorer and every family that comes with tiltmeter."""
    scorers = [scorer_case(entry.name) for entry in catalog.entries("scorers") if _is_own("scorers", entry.name)]
    families = [family_case(name) for name in catalog.names("families") if _is_own("families", name)]
    return {case.name: case for case in (*scorers, *families)}


def _is_own(kind: str, name: str) -> bool:
    return catalog.owner(kind, name) == "tiltmeter"


def scorer_case(name: str) -> Case:
    """The scores that a scorer gives to fixed observations, without a model."""
    entry = catalog.find("scorers", name)

    def ask() -> Tables:
        scored = entry.function(observed_tokens())
        return {"scores": pd.DataFrame({"score": scored.value, "n_tokens": scored.n_tokens, "reason": scored.reason})}

    return Case(f"scorer-{name}", {name: entry.version}, ask)


def observed_tokens() -> Tokens:
    """Observations of six sentences: two ordinary ones, two with modified tokens only, one empty, one not read."""
    lengths, draw = (7, 5, 4, 3, 0, 0), np.random.RandomState(29)  # its stream never changes
    n = sum(lengths)
    modified = draw.random_sample(n) < 0.4
    modified[-7:] = True
    unasked = np.full(len(lengths), None, dtype=object)
    unasked[-1] = "too long"
    return Tokens(
        sentence=np.repeat(np.arange(len(lengths)), lengths),
        modified=modified,
        logprob=-3 * draw.random_sample(n) - 0.01,
        rank=draw.randint(1, 50, n),
        attention=draw.random_sample(n),
        block_logprob=-4 * draw.random_sample(n) - 0.01,
        unasked=unasked,
    )


def family_case(name: str) -> Case:
    """The answers of small models to a few questions of a family, through the public `ask`."""
    scorers = {entry.name: entry.version for entry in catalog.entries("scorers")} if name == "pairs" else {}
    return Case(f"family-{name}", {name: find_family(name).VERSION, **scorers}, lambda: merge(QUESTIONS[name]()))


def merge(answers: Iterator[tuple[str, Tables]]) -> Tables:
    """The tables of several questions under one name each."""
    return {f"{question}: {name}": frame for question, tables in answers for name, frame in tables.items() if len(frame)}


def ask(model: str, benchmark: str | Path, limit: int | None = None, **options: Any) -> Tables:
    """All tables that a model answers to a benchmark."""
    loaded = tiltmeter.load_benchmark(benchmark, limit=limit, offered=options)
    folder = GOLDEN / "models" / model
    wanted = find_family(loaded.family).Options(**options)
    return tiltmeter.ask(folder if folder.is_dir() else model, loaded, wanted, cache=CACHE).tables


def _pairs() -> Iterator[tuple[str, Tables]]:
    for model in ("tiny-bert-cased", "tiny-gpt2"):
        yield f"pairs, {model}", ask(model, "starter-pairs", 2, scorers=("all",))
    yield "triples", ask("tiny-roberta", GOLDEN / "data" / "triples_stereoset_format.json", 2, scorers=("all",))


def _slots() -> Iterator[tuple[str, Tables]]:
    for model in ("tiny-bert-cased", "tiny-roberta"):
        yield f"slots, {model}", ask(model, "plumb-slots", 3)


def _associations() -> Iterator[tuple[str, Tables]]:
    yield "seat", ask("tiny-bert-cased", GOLDEN / "data" / "own-seat-mini.jsonl")
    with tempfile.TemporaryDirectory() as folder:
        words, corpus = Path(folder) / "words.json", Path(folder) / "corpus.txt"
        words.write_text(json.dumps(WORDS), "utf-8")
        corpus.write_text("".join(_contexts()), "utf-8")
        for model in ("tiny-bert-cased", "tiny-gpt2"):
            yield f"ilps, {model}", ask(model, "ilps", words=words)
        yield "ceat", ask("tiny-bert-cased", "ceat", words=words, corpus=(corpus,), contexts=4, draws=20)


WORDS = {
    "templates": ["The {group} is {attribute}.", "My neighbour, the {group}, seems {attribute}."],
    "groups": {"gender": {"man": ["man"], "woman": ["woman"]}},
    "attributes": {"valence": {"good": ["kind", "honest"], "bad": ["cruel", "rude"]}},
}


def _contexts() -> Iterator[str]:
    for word in ("man", "woman", "kind", "honest", "cruel", "rude"):
        for place in ("garden", "market", "harbour", "school"):
            yield f"Everybody in the {place} spoke about the {word} one.\n"


def _labels() -> Iterator[tuple[str, Tables]]:
    yield "labels", ask("tiny-bert-cased", "plumb-labels", 8, seeds=1, epochs=0.2, swaps=8, explained=2)


def _generations() -> Iterator[tuple[str, Tables]]:
    yield "greedy", ask("plumb-clm", "plumb-prompts", 4, greedy=True, new_tokens=8, judges=("none",))
    yield "sampled", ask("plumb-clm", "plumb-prompts", 3, samples=2, new_tokens=8, top_p=0.9)
    yield "masked", ask("plumb-mlm", "plumb-prompts", 2, new_tokens=4)


def _heldout() -> Iterator[tuple[str, Tables]]:
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        text.write_text("The nurse closed the door.\nMy brother sold his old car.\nThey sang until morning.\n", "utf-8")
        for model in ("tiny-bert-cased", "tiny-gpt2"):
            yield model, ask(model, text)


def _choices() -> Iterator[tuple[str, Tables]]:
    for protocol in ("letters", "answers", "generated"):
        yield f"{protocol}, tiny-gpt2", ask("tiny-gpt2", "plumb-choices", 3, protocols=(protocol,))
    yield "masked, tiny-bert-cased", ask("tiny-bert-cased", "plumb-choices", 3)
    yield "decisions, tiny-gpt2", ask("tiny-gpt2", "plumb-decisions", 16)


QUESTIONS: dict[str, Callable[[], Iterator[tuple[str, Tables]]]] = {
    "pairs": _pairs,
    "slots": _slots,
    "associations": _associations,
    "labels": _labels,
    "generations": _generations,
    "heldout": _heldout,
    "choices": _choices,
}


def rows_of(frame: pd.DataFrame) -> Stored:
    """Evenly spaced rows of a table, without the columns that name the model and the benchmark."""
    columns = [name for name in frame.columns if name not in ("model", "benchmark")]
    at = np.unique(np.linspace(0, len(frame) - 1, ROWS).astype(int)) if len(frame) > ROWS else range(len(frame))
    rows = frame.iloc[list(at)][columns].itertuples(index=False)
    return {"n": len(frame), "columns": columns, "rows": [[_plain(value) for value in row] for row in rows]}


def _plain(value: Any) -> Any:
    """A value as JSON holds it: missing is null, numbers have seven digits."""
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.7g}") if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def differences(before: Stored, after: Stored) -> list[str]:
    """The answers that changed beyond the tolerance, in words. New tables and columns are no change."""
    found = []
    for name, table in before["tables"].items():
        new = after["tables"].get(name)
        missing = [column for column in table["columns"] if new is None or column not in new["columns"]]
        if new is None or missing or new["n"] != table["n"]:
            found.append(f"{name}: {'no such table' if new is None else f'lacks {missing}' if missing else 'other rows'}")
            continue
        for place, column in enumerate(table["columns"]):
            pairs = [
                (old[place], row[new["columns"].index(column)]) for old, row in zip(table["rows"], new["rows"], strict=True)
            ]
            changed = [(old, now) for old, now in pairs if not is_close(old, now)]
            if changed:
                found.append(
                    f"{name}, {column}: {len(changed)} of {len(pairs)} rows, first {changed[0][0]} → {changed[0][1]}"
                )
    return found


def is_close(one: Any, other: Any) -> bool:
    """Equality; of numbers, within the tolerance."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_close, one, other))
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return bool(one == other)


def complaint(case: Case) -> str:
    """What is wrong with the stored answers of a case, and what to do; empty where nothing is."""
    if not case.file.is_file():
        return f"{case.name} has no golden answers. Run `{COMMAND}`."
    stored = case.read()
    if stored["versions"] != dict(case.versions):
        return f"VERSION of {_raised(stored['versions'], case.versions)} changed. Run `{COMMAND}` to store its answers."
    if changed := differences(stored, case.answer()):
        return (
            f"Answers of {case.name} changed and VERSION did not:\n  " + "\n  ".join(changed) + "\n"
            f"If that is intended, raise VERSION beside the code that answers and run `{COMMAND}`."
        )
    return ""


def _raised(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    return ", ".join(name for name in {**before, **after} if before.get(name) != after.get(name))


def store(case: Case) -> str:
    """Store the answers of a case if it is new or its VERSION changed; refuse changed answers of the same VERSION."""
    wrong = complaint(case)
    if wrong and case.file.is_file() and case.read()["versions"] == dict(case.versions):
        return wrong
    if wrong:
        case.file.parent.mkdir(exist_ok=True)
        case.file.write_text(_compact(case.answer()), "utf-8")
    return ""


def _compact(stored: Stored) -> str:
    """JSON with one line for each row."""
    tables = [
        f'  {json.dumps(name)}: {{"n": {table["n"]}, "columns": {json.dumps(table["columns"])}, "rows": [\n   '
        + ",\n   ".join(json.dumps(row, ensure_ascii=False) for row in table["rows"])
        + "\n  ]}"
        for name, table in stored["tables"].items()
    ]
    return f'{{\n "versions": {json.dumps(stored["versions"])},\n "tables": {{\n' + ",\n".join(tables) + "\n }\n}\n"


def main() -> int:
    """Store what is new or has a raised VERSION."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    refused = [wrong for case in cases().values() if (wrong := store(case))]
    for stale in set(STORED.glob("*.json")) - {case.file for case in cases().values()}:
        stale.unlink()
    print("\n".join(refused) or f"{len(cases())} golden answers are up to date.")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
