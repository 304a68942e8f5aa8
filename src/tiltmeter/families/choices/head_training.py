"""Training of a multiple-choice head on the right answers of disambiguated questions, some categories left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks import Item, load_benchmark
from tiltmeter.benchmarks.kit.choices import DISAMBIGUATED, ChoiceBenchmark, categories_named
from tiltmeter.benchmarks.kit.labelled import spread
from tiltmeter.display import number_text, range_text
from tiltmeter.errors import InputError, UsageError
from tiltmeter.families.choices.head_protocol import HeadReader, pairs_of
from tiltmeter.families.choices.prompts import find_prompt
from tiltmeter.finetune import Made, Watch, check_output, unfinished
from tiltmeter.finetune.choice_head import RECIPE, train_choice_head
from tiltmeter.models import load_model
from tiltmeter.stats.significance import exact_proportion_interval

METHOD = "multiple-choice head"
FILE = "accuracy.json"


def train_head(
    model: str,
    output: str | Path,
    *,
    data: str | Path | None,
    data_dir: Path | None,
    leave_out: Sequence[str],
    options: Any,
    watch: Watch | None = None,
) -> tuple[Path, str]:
    """Train, measure and store a head. Returns its folder and what it got right of the categories left out.

    Args:
        model: The model whose body it gets.
        output: The folder to write; it must not exist.
        data: A benchmark with choices, by name or file.
        data_dir: The folder with the datasets.
        leave_out: The categories that it does not learn from and can answer later. At least one.
        options: Epochs, rate, rows, warmup, limit, seed and device, as for judges.
        watch: Shows progress.
    """
    place = check_output(output)
    benchmark = _benchmark(data, data_dir)
    categories = list(dict.fromkeys(item.bias_type for item in benchmark.asked_items))
    left_out = _left_out(leave_out, categories, benchmark.name)
    learned = [name for name in categories if name not in left_out]
    known = [item for item in benchmark.asked_items if item.extra["condition"] == DISAMBIGUATED]
    questions = _limited([item for item in known if item.bias_type in learned], options.limit)
    if not questions:
        raise InputError(
            f"{benchmark.name} has no disambiguated question besides {', '.join(left_out)}.",
            code="empty-selection", benchmark=benchmark.name, kind="training questions",
        )  # fmt: skip
    prompt = find_prompt(None, benchmark.language)
    plan = replace(RECIPE, rows=options.rows, warmup=RECIPE.warmup if options.warmup is None else options.warmup)
    head, finished = train_choice_head(
        load_model(model, precision="fp32", device=options.device),
        [(pairs_of(item, prompt), int(item.extra["right"])) for item in questions],
        learned,
        plan.recipe(len(questions), options.seed, epochs=options.epochs, rate=options.rate),
        Made(METHOD, benchmark.citation, {"limit": options.limit, "leave_out": sorted(left_out)},
             {"source": benchmark.source, "sha256": benchmark.data_hash, "categories": learned, "left_out": left_out}),
        work=unfinished(place),
        watch=watch,
    )  # fmt: skip
    unseen = [item for item in known if item.bias_type in left_out]
    accuracy = _accuracy(HeadReader(head, prompt), unseen)
    folder = finished.save(place, {FILE: accuracy | {"left_out": left_out, "learned": learned}})
    return folder, (
        f"{accuracy['right']:,} of {accuracy['n']:,} disambiguated questions of {', '.join(left_out)} are answered right "
        f"({number_text(accuracy['share'], 3)} {range_text(accuracy['low'], accuracy['high'], 3)}, questions as "
        "units; chance about 0.33)."
    )


def _benchmark(data: str | Path | None, data_dir: Path | None) -> ChoiceBenchmark:
    if data is None:
        raise UsageError(
            "Name the questions to learn from: --data bbq, plumb-choices or your file.", code="missing-value", name="data"
        )
    benchmark = load_benchmark(data, data_dir=data_dir)
    if not isinstance(benchmark, ChoiceBenchmark):
        raise InputError(
            f"{benchmark.name} has no questions with choices.",
            code="empty-selection", benchmark=benchmark.name, family="choices",
        )  # fmt: skip
    return benchmark


def _left_out(names: Sequence[str], categories: Sequence[str], benchmark: str) -> list[str]:
    """Find the categories to leave out. None, or all of them, is refused: the head could answer, or learn, nothing."""
    if not names:
        raise UsageError(
            f"Name the categories of {benchmark} that the head is to answer later: --leave-out {categories[0]}. "
            f"Categories: {', '.join(categories)}.",
            code="missing-value", name="leave_out", allowed=list(categories),
        )  # fmt: skip
    found = categories_named(names, categories)
    if set(found) == set(categories):
        raise UsageError(
            f"--leave-out leaves no category of {benchmark} to learn from.",
            code="empty-selection", name="leave_out", kind="categories",
        )  # fmt: skip
    return found


def _limited(items: Sequence[Item], n: int | None) -> Sequence[Item]:
    """Take n questions, spread over the whole."""
    if n is not None and n < 2:
        raise UsageError(f"--limit must be at least 2, not {n}.", code="out-of-range", name="limit", value=n)
    return items if n is None else list(spread(items, n))


def _accuracy(reader: HeadReader, items: Sequence[Item]) -> dict[str, Any]:
    """Count the right answers, with an exact interval; questions longer than the model's window are left out."""
    readings = [(reading, item) for reading, item in zip(reader.read(items), items, strict=True) if reading.logprobs]
    right = sum(max(range(len(one.logprobs)), key=one.logprobs.__getitem__) == item.extra["right"] for one, item in readings)
    n = len(readings)
    low, high = (end / 100 for end in exact_proportion_interval(right, n, 0.95)) if n else (0.0, 1.0)
    return {"n": n, "right": right, "share": right / n if n else float("nan"), "low": low, "high": high}
