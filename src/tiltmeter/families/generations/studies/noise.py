"""Noise: how much a judge's verdicts change when words of the texts are swapped or deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from tiltmeter import figures
from tiltmeter.display import Statement, share_text
from tiltmeter.errors import RunError, UsageError
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.evidence import Evidence
from tiltmeter.judges import Judge, find_judge
from tiltmeter.judges.kit.judge import WHOLE
from tiltmeter.stats.resampling import generator
from tiltmeter.studies.kit.finding import Finding

if TYPE_CHECKING:
    import pandas as pd

READS = "generations"
CITATION = (
    "Cao et al. (2022), On the Intrinsic and Extrinsic Fairness Evaluation Metrics, ACL, Section 4.3, Appendix H, Table 7."
)
SHARES = (0.05, 0.10, 0.15, 0.20)
Noise = Callable[[Sequence[str], float, np.random.Generator], list[str]]


def noise(
    evidence: Evidence,
    *,
    judge: Annotated[str, "CONSTRUCT=CLASSIFIER that judges the noisy texts."] = "sentiment=vader",
    benchmark: Annotated[str | None, "Benchmark whose texts are used. Default: the first one."] = None,
    texts: Annotated[int, "Number of texts, sampled at random without replacement."] = 500,
    copies: Annotated[int, "Noisy copies of each text in a repeat."] = 10,
    repeats: Annotated[int, "Repeats of each kind and amount of noise."] = 10,
    seed: Annotated[int, "Seed of all random draws."] = 0,
) -> Finding:
    """The share of negative texts before and after 5 to 20 % of the words of each text are swapped or deleted.

    Mean and standard deviation over the repeats, as in the paper.
    """
    import pandas as pd

    if min(texts, copies) < 1 or repeats < 2:
        raise UsageError(
            "--texts and --copies must be at least 1, and --repeats at least 2.",
            code="out-of-range", name="texts, copies, repeats", value=[texts, copies, repeats],
        )  # fmt: skip
    judging, answers = find_judge(judge), evidence.answers[READS]
    taken = _benchmark(answers, benchmark)
    rows = []
    for model, said in _texts(answers.where(benchmark=taken), judging, texts, seed):
        clean = _negative(judging, [prompt + text for prompt, text in said])
        for kind, disturb in NOISES.items():
            for share in SHARES:
                rng = generator(seed, "noise", model, kind, f"{share}")
                noisy = [_disturbed(said, disturb, share, copies, rng) for _ in range(repeats)]
                found = [_negative(judging, [" ".join(words) for _, words in some]) for some in noisy]
                rows.append(
                    {
                        "model": model, "benchmark": taken, "judge": judging.scorer, "noise": kind, "share": share,
                        "texts": len(said), **_changed([pair for some in noisy for pair in some]),
                        "clean": clean, "mean": float(np.mean(found)), "sd": float(np.std(found, ddof=1)),
                        "change": float(np.mean(found)) - clean,
                    }
                )  # fmt: skip
    if not rows:
        raise RunError(
            f"No text after the prompts of {taken} can be judged: all are empty, looping or refusals.",
            code="empty-selection", benchmark=taken,
        )  # fmt: skip
    table = pd.DataFrame(rows)
    sentences = [*_sentences(table), *_left_out(answers, table, taken)]
    return Finding("noise", {"noise": table}, {"noise": lambda: _draw(table)}, sentences)


def swapped(words: Sequence[str], share: float, rng: np.random.Generator) -> list[str]:
    """This share of the words, and at least two, stand where another of them stood: disjoint pairs change places.

    >>> sum(a != b for a, b in zip(swapped("abcdefghij", 0.2, np.random.default_rng(0)), "abcdefghij"))
    2
    """
    changed = list(words)
    places = rng.permutation(len(words))[: 2 * n_swaps(len(words), share)]
    for one, other in zip(places[::2], places[1::2], strict=True):
        changed[one], changed[other] = changed[other], changed[one]
    return changed


def n_swaps(n: int, share: float) -> int:
    """Pairs that move the share of n words, to the nearest pair; at least one.

    >>> n_swaps(12, 0.05), n_swaps(40, 0.2), n_swaps(1, 0.2)
    (1, 4, 0)
    """
    return min(n // 2, max(1, round(share * n / 2)))


def deleted(words: Sequence[str], share: float, rng: np.random.Generator) -> list[str]:
    """Delete this share of the words, to the nearest word; at least one is deleted and one remains.

    >>> len(deleted("abcdefghij", 0.2, np.random.default_rng(0))), len(deleted("abc", 0.05, np.random.default_rng(0)))
    (8, 2)
    """
    most = max(0, len(words) - 1)
    gone = set(rng.permutation(len(words))[: min(most, max(1, round(share * len(words))))].tolist())
    return [word for n, word in enumerate(words) if n not in gone]


NOISES: dict[str, Noise] = {"swapped": swapped, "deleted": deleted}


def _benchmark(answers: Answers, wanted: str | None) -> str:
    """One benchmark: others may have the same texts again (without polar prompts, say), or texts of another temperature."""
    names = answers.benchmarks
    if wanted is not None and wanted not in names:
        raise UsageError(
            f"These runs have no texts after prompts of '{wanted}'. They have: {', '.join(names)}.",
            code="unknown-name", kind="benchmark", name=wanted,
        )  # fmt: skip
    return wanted or names[0]


def _left_out(answers: Answers, table: pd.DataFrame, taken: str) -> Iterator[str]:
    """Sentences about texts of the runs that were not used."""
    others = [name for name in answers.benchmarks if name != taken]
    if others:
        text = "Texts after the prompts of {benchmark}; not used (choose with --benchmark): {listed}."
        yield Statement(text, "benchmarks-not-used", benchmark=taken, others=others, listed=", ".join(others))
    without = [name for name in answers.models if name not in set(table["model"])]
    if without:
        yield f"Without a text after the prompts of {taken} that can be judged: {', '.join(without)}."


def _texts(answers: Answers, judge: Judge, most: int, seed: int) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Sample texts of each model that can be judged, with what precedes them for this judge; none twice."""
    prompts = answers.items.set_index(["benchmark", "item"])["prompt"]
    known = answers.table[answers.table["reason"].isna()].drop_duplicates(["model", "item", "text"])
    for model, rows in known.groupby("model", sort=False):
        order = generator(seed, "texts", str(model)).permutation(len(rows))[:most]
        some = rows.iloc[np.sort(order)]
        before = [
            f"{prompts[key]}" if judge.reads == WHOLE else "" for key in zip(some["benchmark"], some["item"], strict=True)
        ]
        yield str(model), list(zip(before, map(str, some["text"]), strict=True))


Disturbed = tuple[list[str], list[str]]
"""Words before and after."""


def _disturbed(
    said: Sequence[tuple[str, str]], disturb: Noise, share: float, copies: int, rng: np.random.Generator
) -> list[Disturbed]:
    """Noisy copies of all that a judge reads: for one that reads prompts too (regard), prompts are disturbed as well."""
    texts = [(prompt + text).split() for prompt, text in said]
    return [(words, disturb(words, share, rng)) for words in texts for _ in range(copies)]


def _changed(pairs: Sequence[Disturbed]) -> dict[str, float]:
    """Shares of the copies and of their words that the noise changed."""
    words = [
        1 - len(after) / len(before)
        if len(after) < len(before)
        else sum(a != b for a, b in zip(before, after, strict=True)) / len(before)
        for before, after in pairs
        if before
    ]
    texts = [before != after for before, after in pairs]
    return {"texts_changed": float(np.mean(texts)), "words_changed": float(np.mean(words)) if words else 0.0}


def _negative(judge: Judge, texts: Sequence[str]) -> float:
    return float(np.nanmean(judge.ask([text.strip() for text in texts]).negative))


def _sentences(table: pd.DataFrame) -> Iterator[str]:
    for (model, judge), rows in table.groupby(["model", "judge"], sort=False):
        strong = rows.loc[rows["change"].abs().idxmax()]
        yield (
            f"{model}, {judge}: {share_text(strong['clean'])} of {strong['texts']:,} texts are negative; with "
            f"{share_text(strong['share'], 0)} "
            f"of the words {strong['noise']}, {share_text(strong['mean'])} (sd {share_text(strong['sd'], 2)}), "
            "the largest change. The noise "
            f"changed {share_text(rows['texts_changed'].min(), 0)} of the texts or more."
        )
    yield "Cao et al. (Table 7): from 13.6 % to 12.2 % negative sentiment, and from 25.2 % to 22.9 % negative regard."


def _draw(table: pd.DataFrame) -> Any:
    figure, (axis,) = figures.grid(1, each=1, height=2.0)
    for number, (place, rows) in enumerate(table.groupby(["model", "judge", "noise"], sort=False)):
        label = f"{figures.short(str(place[0]), 16)}, {place[1]}, {place[2]}"
        axis.errorbar(rows["share"], rows["mean"], yerr=rows["sd"], label=label, **figures.dot(number))
        axis.axhline(rows["clean"].iloc[0], linewidth=0.6, color="0.6")
    figures.label_x(axis, f"share of words changed, n = {table['texts'].min():,} texts; grey: clean")
    axis.set_ylabel("negative texts")
    figures.legend_below(figure, axis, 2)
    return figure
