"""The family of lengths: its functions, and the class that names them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tiltmeter.benchmarks import Benchmark
from tiltmeter.benchmarks.kit.items import items_table
from tiltmeter.catalog import Entry
from tiltmeter.errors import TiltmeterError
from tiltmeter.families import Answers, AskContext, Family, ModelInfo
from tiltmeter.families.kit.options import option
from tiltmeter.families.kit.pack import packed_items
from tiltmeter.families.kit.refusals import refuse_incapable
from tiltmeter.families.kit.story import Sheet, Story
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference, Estimate, corrected
from tiltmeter.stats.measured import interval_of, neutral_of
from tiltmeter.stats.resampling import generator
from tiltmeter.stats.settings import Settings
from tiltmeter.storage.provenance import benchmark_facts, model_facts


@dataclass(frozen=True)
class LengthsOptions:
    """How sentences are counted."""

    with_special: bool = option(False, "Count special tokens too.")


def check(benchmark: Benchmark, models: Sequence[ModelInfo], options: LengthsOptions) -> None:
    """Refuses items without a sentence, and models without a tokenizer."""
    if any("sentence" not in item.texts for item in benchmark.asked_items):
        raise TiltmeterError(f"{benchmark.name} has items without a sentence.")
    refuse_incapable(models, benchmark, options)


def ask(model: Any, benchmark: Benchmark, options: LengthsOptions, context: AskContext) -> Answers:
    """Counts the tokens of every sentence."""
    check(benchmark, [ModelInfo(model.name, model.kind, model)], options)
    items = benchmark.asked_items
    with context.watched(f"{model.name} × {benchmark.name}", len(items)) as advance:
        encoded = model.tokens.encode([item.texts["sentence"] for item in items], special=options.with_special)
        advance(len(items))
    table = pd.DataFrame(
        {
            "model": model.name,
            "benchmark": benchmark.name,
            "item": [item.id for item in items],
            "group": [item.target for item in items],
            "tokens": [float(len(sentence.ids)) for sentence in encoded],
        }
    )
    manifest = {"family": "lengths", "model": model_facts(model), "benchmark": benchmark_facts(benchmark)}
    return Answers("lengths", {"lengths": table}, items_table(benchmark), (manifest,))


def estimate(answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Every measure for all sentences, and for each group.

    Intervals are percentile bootstraps over sentences. There is no p: nothing is neutral about a length.
    """
    for (model, benchmark), rows in answers.table.groupby(["model", "benchmark"], sort=False):
        for measure in measures:
            for place, ours in _groups(rows):
                known = Estimate(str(model), str(benchmark), "lengths", "tokenizer", measure.name, *place, n=len(ours))
                values = ours["tokens"].to_numpy(dtype=np.float64)
                value = float(measure.function(values))
                draws = measure.function(values[_index(known.benchmark, place, len(values), settings)])
                low, high, note = interval_of(measure, len(values), value, draws, settings)
                yield replace(known, value=value, low=low, high=high, neutral=neutral_of(measure), note=note)


def compare(
    answers: Answers, first: str, second: str, measures: Sequence[Entry], by: Sequence[str], settings: Settings
) -> Iterator[Difference]:
    """The first model less the second, over the same sentences.

    The same sentences are drawn for both; p is from the bootstrap of the difference.
    """
    ours, theirs = (answers.where(model=name).table for name in (first, second))
    for benchmark in dict.fromkeys(ours["benchmark"]):
        both = ours[ours["benchmark"] == benchmark].merge(theirs, on=["benchmark", "item", "group"])
        for measure in measures:
            rows = []
            for place, part in _groups(both):
                known = Difference(str(benchmark), "lengths", "tokenizer", measure.name, *place, first, second, n=len(part))
                columns = [part[name].to_numpy(dtype=np.float64) for name in ("tokens_x", "tokens_y")]
                index = _index(str(benchmark), place, len(part), settings)
                values = [float(measure.function(column)) for column in columns]
                draws = [measure.function(column[index]) for column in columns]
                rows.append(paired_difference(known, values, draws, measure, settings))
            yield rows[0]
            yield from corrected(rows[1:])


def _groups(rows: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    yield ("all", "all"), rows
    for group, ours in rows.groupby("group", sort=False):
        yield ("group", str(group)), ours


def _index(benchmark: str, place: tuple[str, str], n: int, settings: Settings) -> Any:
    return generator(settings.seed, "lengths", benchmark, *place).integers(0, n, (settings.resamples, n))


def narratives(estimates: pd.DataFrame) -> Iterator[Story]:
    """The mean over all sentences."""
    for (model, benchmark), rows in estimates[estimates["by"] == "all"].groupby(["model", "benchmark"], sort=False):
        value = rows["value"].iloc[0]
        said = f"A sentence has {value:.1f} tokens on average ({rows['n'].iloc[0]} sentences)."
        yield Story(str(model), str(benchmark), "How long sentences are", (said,), number=f"{value:.1f}", unit="tokens")


def sheets(estimates: pd.DataFrame) -> Iterator[Sheet]:
    """All sentences, and each group."""
    for benchmark, rows in estimates.groupby("benchmark", sort=False):
        yield Sheet(str(benchmark), "Lengths", rows, by="group")


def cards(answers: Answers, models: Sequence[str], pack: Any) -> Iterator[dict[str, Any]]:
    """The sentences; without a script of its own the explorer shows them plainly."""
    for benchmark in answers.benchmarks:
        items = answers.items[answers.items["benchmark"] == benchmark]
        yield {"name": benchmark, "items": packed_items(items, pack, ("sentence",), {}, {})}


class Lengths(Family):
    """Lengths: sentences about groups of people. How many tokens does a model need for each?"""

    TITLE = "Lengths of sentences"
    UNIT = "sentences"
    KEY = ("model", "benchmark", "item")
    READS = frozenset({"tokens"})
    NEEDS = frozenset({"tokens"})
    Options = LengthsOptions

    check = staticmethod(check)
    ask = staticmethod(ask)
    estimate = staticmethod(estimate)
    compare = staticmethod(compare)
    narratives = staticmethod(narratives)
    sheets = staticmethod(sheets)
    cards = staticmethod(cards)


FAMILY = Lengths()
