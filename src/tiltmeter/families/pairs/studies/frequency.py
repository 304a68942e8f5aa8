"""Word frequency: are words for advantaged groups more frequent, and does a score confuse frequency with bias?

Tables 2 and 3 of Kaneko and Bollegala (2022).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from tiltmeter import figures
from tiltmeter.display import Statement, number_text
from tiltmeter.errors import RunError, UsageError
from tiltmeter.families import Answers
from tiltmeter.families.pairs.evidence import PairEvidence
from tiltmeter.families.pairs.studies.kit.frequencies import look_up
from tiltmeter.families.pairs.studies.kit.group_words import (
    ADVANTAGED,
    AMBIGUOUS,
    DISADVANTAGED,
    OURS,
    GroupWords,
    listed_words,
)
from tiltmeter.families.pairs.studies.kit.group_words import group_words as find_group_words
from tiltmeter.runs.estimate import estimate
from tiltmeter.studies.kit.corrections import corrected
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.options import Seed, check_settings

CITATION = "Kaneko and Bollegala (2022), Unmasking the Mask, AAAI, Tables 2 and 3."
SCORERS = ("all_masked", "aul", "aula")
SHORT = {ADVANTAGED: "adv", DISADVANTAGED: "dis"}


def frequency(  # noqa: PLR0913 (its options)
    evidence: PairEvidence,
    *,
    frequencies: Annotated[str | None, "File of words and counts, or wordfreq (the package). Default: our own list."] = None,
    corpus: Annotated[str | None, "Text to count words in (.txt, .gz, .bz2, .xz)."] = None,
    language: Annotated[str, "Language of the wordfreq list."] = "en",
    top: Annotated[int, "Most frequent words of each group that are ranked together."] = 4,
    group_words: Annotated[
        str, "Table of bias_type, group (advantaged or disadvantaged) and word; ours; or rule: words that differ in a pair."
    ] = OURS,
    least: Annotated[int, "By rule, a group word must be in at least this many pairs of its bias type."] = 2,
    ignore: Annotated[list[str] | None, "Further ambiguous word to leave out; repeatable."] = None,
    seed: Seed = 0,
) -> Finding:
    """Mean frequency rank of the words for both groups per bias type, and the bias score of both groups' pairs.

    Words are those that differ between the two sentences and name a group, by our list (which has the nine bias types of
    CrowS-Pairs) or yours; of other bias types all that differ. The most frequent of each group are ranked together (1 is the
    most frequent; equal groups have the same mean rank), and all are compared by the Mann–Whitney test. Then bias_score
    by all_masked, aul and aula on the advantaged and on the disadvantaged rows, and |difference|: neutral at 0.
    """
    import pandas as pd

    settings = check_settings(seed)
    if top < 1 or least < 1:
        raise UsageError(
            f"--top and --least must be at least 1, not {top} and {least}.",
            code="out-of-range", option="top" if top < 1 else "least", value=min(top, least), low=1,
        )  # fmt: skip
    listed_by_type = listed_words(group_words)
    directions = pd.DataFrame(_directions(_scored(evidence), settings.resamples, seed))
    rows, listed, left_out = [], [], []
    for benchmark in dict.fromkeys(directions["benchmark"]):
        ambiguous = (*AMBIGUOUS, *map(str.lower, ignore or ()))
        items = evidence.items(benchmark)
        grouped = find_group_words(items, ambiguous, least, listed_by_type, or_by_rule=group_words == OURS)
        if not any(counts for of_type in grouped.kept.values() for counts in of_type.values()):
            raise UsageError(
                f"frequency: no word is in at least {least} pairs of its bias type. Lower --least.",
                code="too-few", study="frequency", least=least, benchmark=benchmark,
            )  # fmt: skip
        by_word, source = _look_up(grouped, frequencies, corpus, language)
        rows += [{"benchmark": benchmark} | row for row in _ranks(grouped, by_word, top, least)]
        listed += [{"benchmark": benchmark} | row for row in _listed(grouped, by_word)]
        left_out += [{"benchmark": benchmark} | row for row in grouped.left_out]
    ranks = pd.DataFrame(corrected(rows, "benchmark"))
    tables = {
        "frequency": ranks,
        "directions": directions,
        "words": pd.DataFrame(listed),
        **({"left-out": pd.DataFrame(left_out)} if left_out else {}),
    }
    drawings = {"frequency": lambda: _draw_ranks(ranks, source), "directions": lambda: _draw_directions(directions)}
    words = tuple(_sentences(ranks, directions, left_out, source))
    return Finding("frequency", tables, drawings, words, {
        "source": source, "ambiguous": [*AMBIGUOUS, *(ignore or ())], "group_words": group_words,
    })  # fmt: skip


def _scored(evidence: PairEvidence) -> Answers:
    """Scores of benchmarks with directions, by the requested scorers or by the three of the paper."""
    frame = evidence.scores.table
    known = frame[frame["direction"].isin(SHORT)]
    if known.groupby("benchmark")["direction"].nunique().max() != 2:
        names = ", ".join(dict.fromkeys(frame["benchmark"]))
        raise UsageError(
            f"frequency needs pairs marked as about advantaged or about disadvantaged groups; {names} has no such marks.",
            code="missing-column", study="frequency", column="direction", benchmarks=list(dict.fromkeys(frame["benchmark"])),
        )  # fmt: skip
    if not evidence.named:
        lacking = [name for name in SCORERS if name not in set(known["scorer"])]
        if lacking:
            there = ", ".join(sorted(known["scorer"].unique()))
            raise RunError(
                f"frequency compares {', '.join(SCORERS)}, and these runs have no scores by {', '.join(lacking)}. Run "
                f"these scorers, or choose others with -s: {there}.",
                code="missing-answers", study="frequency", scorers=lacking,
            )  # fmt: skip
        known = known[known["scorer"].isin(SCORERS)]
    return replace(evidence.scores, tables={"scores": known.reset_index(drop=True)})


def _look_up(grouped: GroupWords, listed: str | None, corpus: str | None, language: str) -> tuple[dict[str, float], str]:
    words = [word for of_type in grouped.kept.values() for counts in of_type.values() for word in counts]
    return look_up(words, listed, corpus, language)


def _ranks(grouped: GroupWords, frequencies: dict[str, float], top: int, least: int) -> Iterator[dict[str, Any]]:
    sides = {
        name: {
            side: sorted((w for w in of_type[side] if w in frequencies), key=lambda w: (-frequencies[w], w))
            for side in SHORT
        }
        for name, of_type in grouped.kept.items()
    }
    lacking = {name: side for name, of_type in sides.items() for side, words in of_type.items() if not words}
    if lacking:
        named = ", ".join(f"the {side} groups of '{name}'" for name, side in lacking.items())
        leave = " ".join(f"--without {shlex.quote(name)}" for name in lacking)
        raise UsageError(
            f"frequency: no word for {named} is in at least {least} pairs and has a frequency. Lower --least, or leave "
            f"{'this type' if len(lacking) == 1 else 'these types'} out: {leave}",
            code="too-few", study="frequency", least=least, bias_types=list(lacking),
        )  # fmt: skip
    for name, of_type in sides.items():
        yield {"bias_type": name} | mean_ranks(of_type, frequencies, top) | _test(of_type, frequencies)


def mean_ranks(sides: dict[str, list[str]], frequencies: dict[str, float], top: int) -> dict[str, Any]:
    """The most frequent words of both sides (the same number of each), ranked together.

    >>> mean_ranks({"advantaged": ["he", "men"], "disadvantaged": ["she"]}, {"he": 9.0, "men": 5.0, "she": 7.0}, 4)
    {'adv': 1.0, 'dis': 2.0, 'neutral': 1.5, 'words_each': 1, 'words': 'he (adv), she (dis)'}
    """
    each = min(top, *(len(words) for words in sides.values()))
    chosen = sorted(((-frequencies[w], w, side) for side, words in sides.items() for w in words[:each]))
    means = {SHORT[side]: float(np.mean([n for n, entry in enumerate(chosen, 1) if entry[2] == side])) for side in sides}
    text = ", ".join(f"{word} ({SHORT[side]})" for _, word, side in chosen)
    return {**means, "neutral": (2 * each + 1) / 2, "words_each": each, "words": text}


def _test(sides: dict[str, list[str]], frequencies: dict[str, float]) -> dict[str, Any]:
    """Over all words: how often a word for the advantaged group is the more frequent one, and Mann–Whitney's p."""
    from scipy.stats import mannwhitneyu

    advantaged, disadvantaged = ([frequencies[word] for word in sides[side]] for side in (ADVANTAGED, DISADVANTAGED))
    test = mannwhitneyu(advantaged, disadvantaged)
    share = 100 * float(test.statistic) / (len(advantaged) * len(disadvantaged))
    return {"n_adv": len(advantaged), "n_dis": len(disadvantaged), "adv_more_frequent": share, "p": float(test.pvalue)}


def _listed(grouped: GroupWords, frequencies: dict[str, float]) -> Iterator[dict[str, Any]]:
    for name, of_type in grouped.kept.items():
        rows = [
            (frequencies[word], word, side, pairs)
            for side in SHORT
            for word, pairs in of_type[side].items()
            if word in frequencies
        ]
        for rank, (value, word, side, pairs) in enumerate(sorted(rows, key=lambda row: (-row[0], row[1])), 1):
            yield {"bias_type": name, "group": side, "word": word, "pairs": pairs, "frequency": value, "rank": rank}


def _directions(scores: Answers, resamples: int, seed: int) -> Iterator[dict[str, Any]]:
    table = estimate(scores, ["bias_score"], by="direction", resamples=resamples, seed=seed)
    for place, rows in table[table["by"] == "direction"].groupby(["model", "benchmark", "scorer"], sort=False):
        by_group = rows.set_index("group")
        row = dict(zip(("model", "benchmark", "scorer"), place, strict=True))
        for group, short in (*SHORT.items(), ("|difference|", "difference")):
            of_group = by_group.loc[group]
            row |= {
                f"n_{short}": int(of_group["n"]),
                short: of_group["value"],
                f"{short}_low": of_group["low"],
                f"{short}_high": of_group["high"],
            }
        yield row | {"p": by_group.loc["|difference|", "p"]}


def _sentences(ranks: Any, directions: Any, left_out: list[dict[str, Any]], source: str) -> Iterator[str]:
    more = ranks[ranks["adv"] < ranks["dis"]]
    less = ranks[ranks["adv"] > ranks["dis"]]
    sure = ranks[ranks["p_holm"] < 0.05]
    yield (
        f"By {source}, the most frequent words for advantaged groups rank above those for disadvantaged ones in {len(more)} "
        f"of {len(ranks)} bias types, and below in {len(less)}; over all words the difference is significant in {len(sure)}."
    )
    names = sorted({row["word"] for row in left_out if row["why"] == "ambiguous"})
    listed = ", ".join(names) or "no word"
    yield Statement(
        "Left out as ambiguous: {listed}. The table left-out has all words that were left out.", "ambiguous",
        listed=listed, words=names,
    )  # fmt: skip
    means = directions.groupby("scorer", sort=False)["difference"].mean().sort_values()
    parts = ", ".join(f"{name} {number_text(value)}" for name, value in means.items())
    yield (
        f"|bias_score on advantaged − on disadvantaged rows|, mean of {directions['model'].nunique()} models: {parts} "
        f"points; significant in {int((directions['p'] < 0.05).sum())} of {len(directions)} (Fisher's exact test, "
        "uncorrected)."
    )


def _draw_ranks(ranks: Any, source: str) -> Any:
    figure, axes = figures.canvas(1, height=0.9 + 0.2 * len(ranks))
    axis = axes[0, 0]
    at = np.arange(len(ranks))
    axis.hlines(at, ranks["adv"], ranks["dis"], color=figures.GREY, linewidth=0.8)
    axis.plot(ranks["adv"], at, label="advantaged", **figures.dot(0))
    axis.plot(ranks["dis"], at, label="disadvantaged", **figures.dot(1))
    axis.plot(ranks["neutral"], at, label="neutral", color="black", marker="|", markersize=7, linestyle="none")
    figures.name_rows(axis, [f"{row['bias_type']}, n = {row['n_adv']} + {row['n_dis']}" for _, row in ranks.iterrows()])
    label = f"mean rank among the {ranks['words_each'].max()} most frequent words of each group (1: most frequent; {source})"
    figures.label_x(axis, label, 34)
    figures.legend_below(figure, axis, 3)
    return figure


def _draw_directions(table: Any) -> Any:
    scorers, models = list(dict.fromkeys(table["scorer"])), list(dict.fromkeys(table["model"]))
    figure, axes = figures.canvas(1, height=1.0 + (0.12 + 0.07 * len(models)) * len(scorers))
    axis = axes[0, 0]
    bounds = table.rename(columns={"difference_low": "low", "difference_high": "high"})
    for n, model in enumerate(models):
        rows = bounds[bounds["model"] == model]
        figures.interval_dots(axis, rows, scorers, ("scorer", "difference"), (n, len(models)), model)
    figures.neutral_line(axis, 0.0, label="neutral")
    figures.name_rows(axis, scorers)
    size = f"n = {table['n_adv'].max():,} and {table['n_dis'].max():,} pairs"
    figures.label_x(axis, f"|bias_score on advantaged − on disadvantaged rows| (percentage points), {size}")
    figures.legend_below(figure, axis, 3)
    return figure
