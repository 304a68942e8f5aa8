"""Predictions of others: the answer that a model gave to each question of a benchmark, as text, letter or number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks import Benchmark, load_benchmark
from tiltmeter.benchmarks.kit.choices import ChoiceBenchmark, answers_of
from tiltmeter.benchmarks.kit.items import Item, items_table
from tiltmeter.errors import InputError, UsageError
from tiltmeter.families.choices.ask import CHOICE_COLUMNS, FACTS, OPTION_COLUMNS, answer_frame
from tiltmeter.families.choices.parse import parse_prediction
from tiltmeter.families.choices.published_decisions import READERS
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.refusals import NotOursError
from tiltmeter.storage.compression import content_sha256
from tiltmeter.storage.provenance import benchmark_facts
from tiltmeter.storage.tables import field_columns, read_table

FIELDS = ("example_id", "category", "prediction")
NOT_PREDICTED = "no prediction"
MISSING: Mapping[str, Any] = {"chosen": None, "reason": NOT_PREDICTED}
SHOWN = 3


def published(
    path: str | Path,
    *,
    model: str | None = None,
    scorer: str = "imported",
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    benchmark: Benchmark | str | Path | None = None,
    data_dir: str | Path | None = None,
    category: Sequence[str] = (),
) -> Answers:
    """Read a table with a prediction for each example_id (and category, if the file has several).

    A prediction is the text of an answer, a letter or a number from 0. What is neither is unparsed, and questions without
    a prediction are missing; both are counted.
    """
    file = Path(path)
    named = benchmark.name if isinstance(benchmark, Benchmark) else str(benchmark)
    if (reader := READERS.get(named.replace("_", "-"))) is not None:
        return reader(file, model, scorer, data_dir)
    bench = _benchmark(benchmark, data_dir, category)
    names = field_columns(columns, FIELDS, "predictions")
    rows = read_table(file, encoding)
    for field in ("example_id", "prediction"):
        if names[field] not in rows[0]:
            known = ", ".join(list(rows[0])[:20])
            raise InputError(
                f"{file} has no column '{names[field]}' ({field}). Columns: {known}. Map it with --columns.",
                code="missing-column", column=names[field], file=file,
            )  # fmt: skip
    predictions = _by_item(rows, names, bench, file)
    replies = {item.id: _parsed(item, predictions[item.id]) for item in bench.asked_items if item.id in predictions}
    imported = {"file": file.name, "sha256": content_sha256(file), "predictions": len(predictions)}
    return answers_of_replies(bench, replies, model or file.stem, scorer, imported=imported)


def answers_of_replies(
    bench: ChoiceBenchmark, replies: Mapping[str, Mapping[str, Any]], model: str, scorer: str, **facts: Any
) -> Answers:
    """Make answers of replies that another program collected; a question without a reply is missing, with a reason.

    Args:
        bench: The benchmark that was answered.
        replies: By item, the number of the answer (`chosen`) or the reason why there is none, and the `text`.
        model: Name of the model.
        scorer: Name of the protocol.
        facts: Further facts for the manifest.
    """
    table = [_row(item, replies.get(item.id, MISSING), model, bench.name, scorer) for item in bench.asked_items]
    manifest = {
        "family": bench.family,
        "model": {"shown_as": model, "name": model},
        "benchmark": benchmark_facts(bench),
        "protocols": [scorer],
        **facts,
    }
    tables = {"choices": answer_frame(CHOICE_COLUMNS, table), "options": answer_frame(OPTION_COLUMNS, [])}
    return Answers(bench.family, tables, items_table(bench), (manifest,))


def _benchmark(name: Benchmark | str | Path | None, data_dir: str | Path | None, category: Sequence[str]) -> ChoiceBenchmark:
    if name is None:
        raise NotOursError("Predictions of choices need their benchmark: -b bbq.", code="missing-value", name="benchmark")
    if isinstance(name, Benchmark) and category:
        raise UsageError(
            "category applies to a benchmark by name; load the one you give with its categories.",
            code="inapplicable-option", option="category",
        )  # fmt: skip
    offered = {"category": tuple(category)}
    loaded = name if isinstance(name, Benchmark) else load_benchmark(name, data_dir=data_dir, offered=offered)
    if not isinstance(loaded, ChoiceBenchmark):
        raise NotOursError(
            f"{loaded.name} has no questions with choices.", code="empty-selection", benchmark=loaded.name, family="choices"
        )
    return loaded


def _by_item(
    rows: Sequence[Mapping[str, Any]], names: Mapping[str, str], bench: ChoiceBenchmark, file: Path
) -> dict[str, str]:
    """Find the item of each row; refuse ids that the benchmark does not have, and ids that are there twice."""
    items = {item.id: item for item in bench.asked_items}
    categories = list(dict.fromkeys(item.bias_type for item in bench.asked_items))
    predictions: dict[str, str] = {}
    strange, twice = [], []
    for row in rows:
        example, category = str(row[names["example_id"]]).strip(), str(row.get(names["category"]) or "").strip()
        is_only_one = len(categories) == 1 and category.casefold() in ("", categories[0].casefold())
        options = [example, f"{category}-{example}"] + ([f"{categories[0]}-{example}"] if is_only_one else [])
        name = next((option for option in options if option in items), None)
        if name is None:
            strange.append(f"{category}-{example}" if category else example)
        elif name in predictions:
            twice.append(name)
        else:
            predictions[name] = str(row[names["prediction"]] if row[names["prediction"]] is not None else "")
    wrong = (("unknown-name", "unknown to the benchmark", strange), ("duplicate-name", "there more than once", twice))
    for code, what, some in wrong:
        if some:
            raise InputError(
                f"{file}: {len(some)} ids are {what}, such as {', '.join(some[:SHOWN])}.",
                code=code, file=file, names=some, count=len(some),
            )  # fmt: skip
    return predictions


def _parsed(item: Item, prediction: str) -> dict[str, Any]:
    answer = parse_prediction(prediction, answers_of(item))
    chosen, reason = (answer, None) if isinstance(answer, int) else (None, answer)
    return {"chosen": chosen, "reason": reason, "text": prediction}


def _row(item: Item, reply: Mapping[str, Any], model: str, benchmark: str, scorer: str) -> dict[str, Any]:
    return {
        "model": model, "benchmark": benchmark, "scorer": scorer, "item": item.id, "prompt": None, "text": None,
        "n_orders": 1, "changed": None, "score": None, **reply,
        **{name: item.extra.get(name) for name in FACTS},
        "bias_type": item.bias_type, "direction": item.direction, "target": item.target,
    }  # fmt: skip
