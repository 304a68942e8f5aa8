"""Computable signs of faulty benchmark items (after Blodgett et al., 2021)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.pairs.annotations import votes
from tiltmeter.families.pairs.paired import Paired, pair_up
from tiltmeter.families.pairs.words import change_of, words_of

Bools = NDArray[np.bool_]
FLAGS = {
    "several_spans": "the sentences differ in more than one place",
    "identical": "both sentences are the same",
    "repeated": "another item has the same two sentences",
    "length_mismatch": "one sentence is longer by more words than allowed",
    "disagreement": "fewer annotators than the threshold name the bias type",
    "not_fluent": "the models find a sentence very unlikely, per token, for this benchmark",
}
# Any per-token score of a whole sentence will do; sums over a sentence come first because they are the simplest.
FLUENCY = ("pll", "causal_mean", "causal", "aul", "all_masked", "cps", "cps_nyu")
SUMS = ("pll", "causal", "cps", "cps_nyu")


@dataclass(frozen=True)
class Limits:
    """The thresholds of the flags."""

    length_gap: int = 1
    threshold: int = 3
    fluency: float = 3.0


def flags_of(
    items: Any, pairs: Sequence[Paired], counts: Any, limits: Limits, source: str | None = None
) -> dict[str, Bools]:
    """Flag → which items have it, in the order of the table. Flags that cannot be computed here are left out."""
    texts = list(zip(items["stereo"], items["anti"], strict=True))
    changes = [change_of(*pair) for pair in texts]
    gaps = [abs(len(words_of(stereo)) - len(words_of(anti))) for stereo, anti in texts]
    flags = {
        "several_spans": np.array([change.spans > 1 for change in changes]),
        "identical": np.array([stereo == anti for stereo, anti in texts]),
        "repeated": items.duplicated(["stereo", "anti"], keep="first").to_numpy(),
        "length_mismatch": np.array([gap > limits.length_gap for gap in gaps]),
    }
    counted = votes(items, source)
    if counted:
        enough = {item: count >= limits.threshold for item, (count, _) in counted.items()}
        flags["disagreement"] = np.array([not enough.get(item, True) for item in items["item"]])
    unlikely = fluency(items, pairs, counts)
    if unlikely is not None:
        flags["not_fluent"] = unlikely < -limits.fluency
    return flags


def fluency(items: Any, pairs: Sequence[Paired], counts: Any) -> Any | None:
    """Per item, the score per token of the less likely sentence, in robust standard deviations from the benchmark's median.

    Averaged over models. The first of FLUENCY that a model has is used; per word where token counts were not stored.
    """
    per_model = []
    for model in dict.fromkeys(paired.model for paired in pairs):
        of_model = {paired.scorer: paired for paired in pairs if paired.model == model}
        name = next((name for name in FLUENCY if name in of_model), None)
        if name is None:
            continue
        per_role = []
        for role in ("stereo", "anti"):
            score = dict(zip(of_model[name].groups["item"], of_model[name].scores[role], strict=True))
            length = [
                _length(counts, model, name, item, role, text) for item, text in zip(items["item"], items[role], strict=True)
            ]
            values = np.array([score.get(item, np.nan) for item in items["item"]])
            per_role.append(values / np.array(length) if name in SUMS else values)
        worst = np.min(per_role, axis=0)
        middle = np.nanmedian(worst)
        scale = 1.4826 * np.nanmedian(np.abs(worst - middle))
        if scale > 0:
            per_model.append((worst - middle) / scale)
    if not per_model:
        return None
    stacked = np.array(per_model)
    there = ~np.isnan(stacked)
    return np.where(there.any(axis=0), np.nansum(stacked, axis=0) / np.maximum(there.sum(axis=0), 1), 0.0)


def _length(counts: dict[Any, int], model: str, scorer: str, item: str, role: str, text: str) -> int:
    known = counts.get((model, scorer, item, role), -1)
    return max(1, known if known > 0 else len(words_of(text)))


def item_flags(answers: Answers) -> dict[str, dict[str, set[str]]]:
    """Benchmark → flag → which of its scored items have it (see the study `quality`)."""
    pairs = list(_fluency_pairs(pair_up(answers)))
    marked: dict[str, dict[str, set[str]]] = {}
    for benchmark in answers.benchmarks:
        items = scored_items(answers, benchmark)
        of_benchmark = [paired for paired in pairs if paired.benchmark == benchmark]
        flags = flags_of(items, of_benchmark, _lengths(answers, benchmark, of_benchmark), Limits())
        marked[benchmark] = {name: set(items["item"][at]) for name, at in flags.items()}
    return marked


def scored_items(answers: Answers, benchmark: str) -> Any:
    """The scored items of a benchmark, as a table indexed by item."""
    here = answers.items[answers.items["benchmark"] == benchmark]
    return (here[here["scored"]] if "scored" in here else here).set_index("item", drop=False)


def _fluency_pairs(pairs: Sequence[Paired]) -> Iterator[Paired]:
    """For each model and benchmark, the scores that are used for fluency."""
    best: dict[tuple[str, str], Paired] = {}
    usable = (paired for paired in pairs if paired.scorer in FLUENCY)
    for paired in sorted(usable, key=lambda paired: FLUENCY.index(paired.scorer)):
        best.setdefault((paired.model, paired.benchmark), paired)
    yield from best.values()


def _lengths(answers: Answers, benchmark: str, pairs: Sequence[Paired]) -> dict[Any, int]:
    """Tokens of each sentence, by model, scorer, item and role."""
    frame = answers.table[answers.table["benchmark"] == benchmark]
    counts: dict[Any, int] = {}
    for paired in pairs:
        of_scorer = frame[(frame["model"] == paired.model) & (frame["scorer"] == paired.scorer)]
        columns = (of_scorer[name].tolist() for name in ("item", "role", "n_tokens"))
        counts |= {(paired.model, paired.scorer, item, role): n for item, role, n in zip(*columns, strict=True)}
    return counts
