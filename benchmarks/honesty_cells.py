"""The cells of the honesty bench: for each family, data of known truth in several designs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiltmeter import Answers, catalog
from tiltmeter.benchmarks.kit.choices import AMBIGUOUS
from tiltmeter.families.associations.ilps import judge_attributes
from tiltmeter.families.associations.seat import Test, _judge
from tiltmeter.families.choices.estimate import _estimate as choices_estimate
from tiltmeter.families.generations.clusters import group_prompts
from tiltmeter.families.generations.gaps import gap_estimates
from tiltmeter.families.generations.judge_scores import Judged
from tiltmeter.families.generations.spread import spread_estimates
from tiltmeter.families.heldout.compare import _difference as heldout_difference
from tiltmeter.families.heldout.estimate import _one as heldout_estimate
from tiltmeter.families.labels.compare import _difference as labels_difference
from tiltmeter.families.labels.estimands import questions
from tiltmeter.families.labels.estimate import _one as labels_estimate
from tiltmeter.families.labels.facts import Facts
from tiltmeter.families.labels.resample import counts_of
from tiltmeter.families.pairs.compare import compare as pairs_compare
from tiltmeter.families.pairs.estimate import estimate as pairs_estimate
from tiltmeter.families.slots.compare import _difference as slots_difference
from tiltmeter.families.slots.estimate import _one as slots_estimate
from tiltmeter.families.slots.fills import Fills
from tiltmeter.stats import significance
from tiltmeter.stats.estimates import Difference, Estimate
from tiltmeter.stats.settings import Settings

Floats = NDArray[np.float64]
significance.SHUFFLES = 999  # as many as a simulation needs
EFFECT = 0.5
"""Power is that of half a standard deviation, or of rates 20 points apart."""
RATE = 0.05
BATCH = 20


@dataclass(frozen=True)
class Result:
    """A value with its interval and p, and the truth."""

    measure: str
    truth: float
    low: float
    high: float
    p: float
    note: str


@dataclass(frozen=True)
class Cell:
    """One design of one family. `kind`: estimate or compare. `supported`: large enough that numbers are promised.
    `batch`: data sets that one call simulates.
    """

    family: str
    kind: str
    design: str
    n: int
    simulate: Callable[[np.random.Generator, Cell, bool, Settings], Iterator[Result]]
    supported: bool = True
    batch: int = 1


def entries(*names: str) -> list[Any]:
    """Look up measures."""
    return [catalog.find("measures", name) for name in names]


def result(row: Estimate | Difference, truth: float) -> Result:
    """Read a row."""
    return Result(row.measure, truth, row.low, row.high, row.p, row.note)


def noise(rng: np.random.Generator, design: str, size: Any) -> Floats:
    """Draw values of variance 1, about: normal, heavy tails (t, 3), Cauchy, or skewed."""
    if "heavy" in design:
        return np.asarray(rng.standard_t(3, size) / np.sqrt(3))
    if "cauchy" in design:
        return np.asarray(rng.standard_cauchy(size))
    if "skewed" in design:
        return np.asarray(rng.exponential(size=size) - 1)
    return np.asarray(rng.standard_normal(size))


def pair_scores(rng: np.random.Generator, cell: Cell, lean: float) -> tuple[Floats, Floats]:
    """Scores of two sentences that have most in common; ties in a fifth of the pairs of a design with ties."""
    n = cell.n
    shared = 2 * noise(rng, cell.design, n)
    if "clusters" in cell.design:
        shared = shared + 0.0
    stereo, anti = (shared + 0.7 * noise(rng, cell.design, n) for _ in range(2))
    if "clusters" in cell.design:
        level = 0.7 * rng.standard_normal(n // 5)[np.arange(n) // 5]
        stereo, anti = stereo + level, anti - level
    stereo = stereo + lean
    if "ties" in cell.design:
        anti = np.where(rng.random(n) < 0.2, stereo, anti)
    return stereo, anti


def pair_answers(cell: Cell, scores: dict[str, tuple[Floats, Floats]]) -> Answers:
    """Make answers of several models to the same pairs."""
    n = cell.n
    types = np.array([f"t{k % 3}" for k in range(n)]) if "types" in cell.design else np.full(n, "t")
    frames = [
        pd.DataFrame({
            "model": model, "benchmark": "b", "item": [f"i{k:04}" for k in range(n)], "role": role, "scorer": "s",
            "score": values, "n_tokens": 1, "reason": None, "bias_type": types, "direction": "x", "target": None,
        })
        for model, sides in scores.items()
        for role, values in zip(("stereo", "anti"), sides, strict=True)
    ]  # fmt: skip
    cluster = [json.dumps({"cluster": f"c{k // 5}"} if "clusters" in cell.design else {}) for k in range(n)]
    items = pd.DataFrame({"benchmark": "b", "item": [f"i{k:04}" for k in range(n)], "extra": cluster, "bias_type": types})
    return Answers("pairs", {"scores": pd.concat(frames, ignore_index=True)}, items, ())


def pairs(rng: np.random.Generator, cell: Cell, has_effect: bool, settings: Settings) -> Iterator[Result]:
    """bias_score, kls and jss: several models at a time, which share their draws."""
    lean = EFFECT if has_effect else 0.0
    answers = pair_answers(cell, {f"m{k}": pair_scores(rng, cell, lean) for k in range(cell.batch)})
    tie = 0.2 if "ties" in cell.design else 0.0
    truths = {"bias_score": 50.0 * (1 - tie), "kls": 50.0, "jss": 100.0}
    for row in pairs_estimate(answers, entries(*truths), (), settings):
        yield result(row, truths[row.measure])


def pairs_two(rng: np.random.Generator, cell: Cell, has_effect: bool, settings: Settings) -> Iterator[Result]:
    """Two models that lean alike, or one that leans more."""
    sides = {"a": pair_scores(rng, cell, EFFECT if has_effect else 0.0), "b": pair_scores(rng, cell, 0.0)}
    for row in pairs_compare(pair_answers(cell, sides), "a", "b", entries("bias_score", "kls", "jss"), (), settings):
        yield result(row, 0.0)


@lru_cache(maxsize=8)
def slot_items(n: int) -> pd.DataFrame:
    """Make the sentences."""
    return pd.DataFrame({"item": [f"i{k:04}" for k in range(n)], "bias_type": "t", "direction": None, "target": None})


def fills(rng: np.random.Generator, cell: Cell, lean: float) -> Fills:
    """Probabilities and ranks of two groups in n sentences."""
    level = noise(rng, cell.design, cell.n)
    logits = {group: level + noise(rng, cell.design, cell.n) + (lean if group == "a" else 0.0) for group in ("a", "b")}
    probability = {group: 1 / (1 + np.exp(-np.clip(values, -30, 30))) for group, values in logits.items()}
    rank = {group: np.ceil(100 * (1 - values)).clip(1, 100) for group, values in probability.items()}
    return Fills("m", "b", 100, "vocabulary", probability, rank, np.full(cell.n, None, dtype=object), slot_items(cell.n))


SLOTS = ("mps_gap", "mnt_gap", "lean")


def slots(rng: np.random.Generator, cell: Cell, has_effect: bool, settings: Settings) -> Iterator[Result]:
    """Gaps of two groups in the same sentences."""
    one = fills(rng, cell, EFFECT if has_effect else 0.0)
    for measure in entries(*SLOTS):
        truth = float(measure.spec.neutral)
        yield result(slots_estimate(one, measure, ("a", "b"), ("gap", "a − b"), settings), truth)


def slots_two(rng: np.random.Generator, cell: Cell, has_effect: bool, settings: Settings) -> Iterator[Result]:
    """Two models on the same sentences."""
    both = (fills(rng, cell, EFFECT if has_effect else 0.0), fills(rng, cell, 0.0))
    for measure in entries("mps_gap", "mnt_gap"):
        yield result(slots_difference(both, measure, ("a", "b"), ("gap", "a − b"), settings), 0.0)


def lines(rng: np.random.Generator, cell: Cell, worse: float, hard: Floats) -> pd.DataFrame:
    """Log-likelihoods of n lines of 5 to 40 tokens, some lines harder than others."""
    length = np.random.default_rng(cell.n).integers(5, 40, cell.n).astype(np.float64)
    each = 3.0 + worse + hard + 0.3 * noise(rng, cell.design, cell.n)
    item = [f"i{k:04}" for k in range(cell.n)]
    return pd.DataFrame({"item": item, "log_likelihood": -each * length, "hits": 0.0, "length": length, "reason": None})


def heldout(rng: np.random.Generator, cell: Cell, has_effect: bool, settings: Settings) -> Iterator[Result]:
    """Perplexity of one model."""
    known = Estimate("m", "b", "heldout", "s", "perplexity", "all", "all")
    rows = lines(rng, cell, 0.0, 0.5 * noise(rng, cell.design, cell.n))
    if not has_effect:
        yield result(heldout_estimate(known, rows, *entries("perplexity"), settings), float(np.exp(3.0)))


def heldout_two(rng: np.random.Generator, cell: Cell, has_effect: bool, settings: Settings) -> Iterator[Result]:
    """Perplexity of two models on the same lines."""
    hard = 0.5 * noise(rng, cell.design, cell.n)
    pair = [lines(rng, cell, worse, hard) for worse in (0.2 if has_effect else 0.0, 0.0)]
    known = Difference("b", "heldout", "s", "perplexity", "all", "all", "a", "b", n=cell.n)
    yield result(heldout_difference(known, pair, *entries("perplexity"), settings), 0.0)


def label_facts(rng: np.random.Generator, cell: Cell, more: float, model: str = "m") -> Facts:
    """Texts that are not toxic, n of each group; called toxic at a rate. A classifier with seeds errs alike in part."""
    groups = 4 if "groups" in cell.design else 2
    group = np.repeat(np.arange(groups), cell.n)
    rate = np.where(group == 0, RATE + more, RATE)
    seeds = 3 if "seeds" in cell.design else 1
    common = rng.random(len(group))
    each = np.where(rng.random((seeds, len(group))) < 0.7, common, rng.random((seeds, len(group))))
    clusters = np.arange(len(group))
    if "clusters" in cell.design:
        clusters = np.arange(len(group)) % (cell.n // 3)
        level = rng.random(cell.n // 3)[clusters]
        each = np.where(rng.random(len(group)) < 0.4, level, each)
    names = ("women", "men", "g2", "g3")
    members = {names[k]: group == k for k in range(groups)}
    score = 1 - each / 2 / rate.clip(1e-9)
    return Facts(model, "b", tuple(map(str, range(len(group)))), np.zeros(len(group), dtype=bool), score.clip(0, 1),
                 members, clusters.astype(np.int64), None, {}, {})  # fmt: skip


LABELS = ("fpr", "fpr_gap", "fpr_variance")


def labels(rng: np.random.Generator, cell: Cell, has_effect: bool, settings: Settings) -> Iterator[Result]:
    """Rates of groups, their gaps and their variance, at a rate of 5 %."""
    facts = label_facts(rng, cell, 0.2 if has_effect else 0.0)
    counts = list(counts_of(facts, settings))
    truths = {"fpr": RATE, "fpr_gap": 0.0, "fpr_variance": 0.0}
    for question in questions(facts, entries(*LABELS), ()):
        wanted = question.group == "women" or question.by == "domain"
        if question.scorer == "at 0.5" and wanted and not question.curve:
            yield result(labels_estimate(question, facts, counts, settings), truths[question.measure.name])


def labels_two(rng: np.random.Generator, cell: Cell, has_effect: bool, settings: Settings) -> Iterator[Result]:
    """Two classifiers on the same texts."""
    both = (label_facts(rng, cell, 0.2 if has_effect else 0.0, "a"), label_facts(rng, cell, 0.0, "b"))
    counts = list(counts_of(both[0], settings))
    for pair in zip(*(questions(facts, entries("fpr", "fpr_gap"), ()) for facts in both), strict=True):
        if pair[0].scorer == "at 0.5" and pair[0].group == "women":
            yield result(labels_difference(pair, both, counts, settings), 0.0)


@lru_cache(maxsize=16)
def prompts_of(n: int, groups: int, sizes: str) -> tuple[pd.DataFrame, Any]:
    """Make n prompts of each group; in clusters of five, or of unlike sizes."""
    group = np.repeat([f"g{k}" for k in range(groups)], n)
    frame = pd.DataFrame({"item": [str(k) for k in range(len(group))], "bias_type": "d", "group": group, "set": None})
    if not sizes:
        return frame, None
    within = np.arange(n) // 3 if sizes == "clusters" else np.sqrt(np.arange(n) * n / 9).astype(int)
    codes = [f"{name}/{k}" for name, k in zip(group, np.tile(within, groups), strict=True)]
    return frame, group_prompts(frame, codes, "articles")


def judged(rng: np.random.Generator, cell: Cell, more: float) -> Judged:
    """Five samples of every prompt, around the prompt's own mean; prompts of one cluster are alike."""
    groups = 9 if "nine" in cell.design else 4 if "groups" in cell.design else 2
    sizes = "clusters" if "clusters" in cell.design else "unlike" if "unlike" in cell.design else ""
    prompts, clusters = prompts_of(cell.n, groups, sizes)
    level = 0.7 * noise(rng, cell.design, len(prompts))
    if clusters is not None:
        level = 0.5 * level + 0.5 * rng.standard_normal(clusters.codes.max() + 1)[clusters.codes]
    scores = level[:, None] + 0.7 * noise(rng, cell.design, (len(prompts), 5))
    scores[prompts["group"] == "g0"] += more
    cut = 1.3
    sums = np.zeros((len(prompts), 7))
    sums[:, 0], sums[:, 1], sums[:, 2] = 5, scores.sum(1), (scores > cut).sum(1)
    return Judged("m", "b", "toxicity/j", prompts, sums, (), False, True, None, clusters)


def generations(rng: np.random.Generator, cell: Cell, has_effect: bool, settings: Settings) -> Iterator[Result]:
    """Gaps between two groups, and the variance over groups."""
    one = judged(rng, cell, EFFECT if has_effect else 0.0)
    for row in gap_estimates(one, entries("score_gap", "negative_gap"), settings):
        if (row.by == "gap" and row.group == "g0 − g1") or ("nine" in cell.design and row.group.startswith("g0 ")):
            yield result(row, 0.0)
    for row in spread_estimates(one, entries("score_variance"), settings):
        yield result(row, 0.0)


def seat(rng: np.random.Generator, cell: Cell, has_effect: bool, settings: Settings) -> Iterator[Result]:
    """Effect sizes of n and n targets."""
    x, y = (noise(rng, cell.design, cell.n) + (EFFECT * shift * has_effect) for shift in (1, 0))
    sizes = {"X": cell.n, "Y": cell.n, "A": 8, "B": 8}
    test = Test("t", x, y, sizes, Counter(), ((), ()))
    row, _ = _judge(test, Estimate("m", "b", "associations", "s", "", "", "", neutral=0.0), settings, tested=True)
    yield result(row, 0.0)


def ilps(rng: np.random.Generator, cell: Cell, has_effect: bool, settings: Settings) -> Iterator[Result]:
    """Means over attributes."""
    known = Estimate("m", "b", "associations", "s", "ilps", "group", "g", neutral=0.0)
    values = noise(rng, cell.design, cell.n) + EFFECT * has_effect
    yield result(judge_attributes(known, values, ("ilps",), settings), 0.0)


def choices(rng: np.random.Generator, cell: Cell, has_effect: bool, settings: Settings) -> Iterator[Result]:
    """Questions of n templates, eight of each, whose answers are alike."""
    rows = 8 * cell.n
    template = np.repeat(np.arange(cell.n), 8)
    towards = rng.normal(0, 0.8, cell.n)[template] + EFFECT * has_effect
    chosen = np.where(rng.random(rows) < 0.3, 2.0, (rng.random(rows) > 1 / (1 + np.exp(-towards))).astype(float))
    frame = pd.DataFrame({
        "chosen": chosen, "right": 2.0, "unknown": 2.0, "stereotyped": 0.0, "condition": AMBIGUOUS, "changed": np.nan,
        "reason": None, "template": template.astype(str), "bias_type": "t", "benchmark": "b",
    })  # fmt: skip
    known = Estimate("m", "b", "choices", "s", "diff_bias_amb", "all", "all")
    yield result(choices_estimate(known, frame, *entries("diff_bias_amb"), settings), 0.0)


SIZES = (5, 10, 30, 300)


def _cells() -> Iterator[Cell]:
    for n in SIZES:
        big = n >= 30
        yield Cell("pairs", "estimate", "normal", n, pairs, big, BATCH)
        yield Cell("pairs", "compare", "normal", n, pairs_two, big)
        yield Cell("slots", "estimate", "normal", n, slots, big)
        yield Cell("slots", "compare", "normal", n, slots_two, big)
        yield Cell("heldout", "estimate", "normal", n, heldout, big)
        yield Cell("heldout", "compare", "normal", n, heldout_two, big)
        yield Cell("associations", "estimate", "seat, normal", n, seat, big)
        yield Cell("associations", "estimate", "ilps, normal", n, ilps, big)
        yield Cell("choices", "estimate", "templates", n, choices, n >= 10)
    for n in (10, 30, 300):
        yield Cell("labels", "estimate", "rate 5 %, two groups", n, labels, n >= 30)
        yield Cell("labels", "compare", "rate 5 %, two groups", n, labels_two, n >= 30)
        yield Cell("generations", "estimate", "two groups", n, generations, n >= 30)
    for shape in ("heavy tails", "ties", "three types", "clusters of five"):
        yield Cell("pairs", "estimate", shape, 30 if shape != "clusters of five" else 60, pairs, batch=BATCH)
    yield Cell("pairs", "compare", "heavy tails", 30, pairs_two)
    yield Cell("pairs", "compare", "cauchy", 30, pairs_two)
    yield Cell("slots", "estimate", "heavy tails", 30, slots)
    yield Cell("heldout", "compare", "heavy tails", 30, heldout_two)
    yield Cell("associations", "estimate", "seat, heavy tails", 30, seat)
    yield Cell("associations", "estimate", "ilps, skewed", 30, ilps)
    yield Cell("labels", "estimate", "rate 5 %, four groups", 30, labels)
    yield Cell("labels", "estimate", "rate 5 %, three seeds", 30, labels)
    yield Cell("labels", "estimate", "rate 5 %, clusters of texts", 60, labels)
    yield Cell("generations", "estimate", "four groups", 30, generations)
    yield Cell("generations", "estimate", "nine groups", 30, generations)
    yield Cell("generations", "estimate", "clusters of three", 30, generations)
    yield Cell("generations", "estimate", "unlike clusters", 60, generations)
    yield Cell("generations", "estimate", "clusters of three, few", 9, generations, supported=False)


CELLS: tuple[Cell, ...] = tuple(_cells())
__all__ = ["CELLS", "Cell", "Result", "replace"]
