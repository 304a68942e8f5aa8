"""Sentences and figures of robustness: whose ranking is kept more often, and how much values vary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import factorial
from typing import Any

import numpy as np

from tiltmeter import catalog, figures
from tiltmeter.display import Statement, percent_text, share_text, signed_text

Kept = dict[tuple[str, str, str], Any]
BASE = "bias_score"
RIVALS = ("kls", "jss", "jss_liu")
PAPER = (("cps", BASE), ("aul", BASE), ("aul", "kls"), ("aul", "jss"))
PUBLISHED = ("aul", "jss_liu")
"""The JSS of the paper's figure; shown where it is requested without `jss`."""


def sentences(table: Any, values: Any, kept: Kept) -> Iterator[str]:
    """Sentences per benchmark: KLS and JSS against the bias score by the same scorer, on the same subsamples."""
    for benchmark, rows in table.groupby("benchmark", sort=False):
        best = rows.groupby(["scorer", "measure"], sort=False)["kept"].mean()
        (top_scorer, top), (low_scorer, low) = best.idxmax(), best.idxmin()
        yield (
            f"{benchmark}, {rows['models'].iloc[0]} models, {rows['repeats'].iloc[0]} subsamples at each of "
            f"{rows['rate'].nunique()} rates: the ranking is kept most often by {top} of {top_scorer} "
            f"({percent_text(best.max(), 0)}) "
            f"and least often by {low} of {low_scorer} ({percent_text(best.min(), 0)}); chance is "
            f"{percent_text(chance(rows['models'].max()))}."
        )
        for rival in RIVALS:
            yield from _against(str(benchmark), rival, kept)
        yield _paper(str(benchmark), rows)
        yield _drift(str(benchmark), values[values["benchmark"] == benchmark])


AGAINST = (
    "{benchmark}, {scorer}: compared with {base}, {rival} keeps the ranking in {difference:+.1f} % of the subsamples "
    "[{low:+.1f}, {high:+.1f}], so it is {verdict} here. Over {of} scorers it is more robust for {more}, less for {less}, "
    "undecided for {undecided}."
)
PAPER_CRITERION = "{benchmark}, by the paper's own criterion (the ranking of the means over subsamples): {parts}."


def _against(benchmark: str, rival: str, kept: Kept) -> Iterator[str]:
    scorers = [scorer for place, scorer, measure in kept if place == benchmark and measure == rival]
    shared = [scorer for scorer in scorers if (benchmark, scorer, BASE) in kept]
    if not shared:
        return
    gains = {scorer: gain(kept[benchmark, scorer, rival], kept[benchmark, scorer, BASE]) for scorer in shared}
    more = [scorer for scorer, (_, low, _) in gains.items() if low > 0]
    less = [scorer for scorer, (_, _, high) in gains.items() if high < 0]
    shown = "aul" if "aul" in gains else shared[0]
    difference, low, high = gains[shown]
    verdict = "more robust" if low > 0 else "less robust" if high < 0 else "neither more nor less robust"
    yield Statement(
        AGAINST, f"{rival}-against-{BASE}", benchmark=benchmark, scorer=shown, base=BASE, rival=rival, difference=difference,
        low=low, high=high, verdict=verdict, of=len(shared), more=len(more), less=len(less),
        undecided=len(shared) - len(more) - len(less),
    )  # fmt: skip


def _paper(benchmark: str, rows: Any) -> str:
    """The paper's own criterion: are the means over subsamples ranked alike at every rate?"""
    every = rows.groupby(["scorer", "measure"], sort=False)["mean_kept"].all()
    shown = [pair for pair in (*PAPER, PUBLISHED) if pair in every.index] or list(every.index)[:4]
    yes, no = (
        [f"{measure} of {scorer}" for scorer, measure in shown if every[scorer, measure] == is_so] for is_so in (True, False)
    )
    parts = [f"kept at every rate by {', '.join(yes)}"] if yes else []
    parts += [f"not at every rate by {', '.join(no)}"] if no else []
    return Statement(PAPER_CRITERION, "paper-criterion", benchmark=benchmark, parts="; ".join(parts), kept=yes, lost=no)


def _drift(benchmark: str, values: Any) -> str:
    """Distance of means on subsamples from the full value: if they depend on n, sizes cannot be compared fairly."""
    least = values[values["rate"] == values["rate"].min()]
    moved = (least["mean"] - least["full"]).groupby(least["measure"], sort=False).median()
    parts = ", ".join(f"{name} {signed_text(round(value, 1) + 0.0)}" for name, value in moved.items())
    share = share_text(least["rate"].iloc[0], 0)
    return f"{benchmark}, mean on {share} of the items minus value on all, median over models and scores: {parts}."


def gain(rival: Any, base: Any) -> tuple[float, float, float]:
    """Difference in how often the rival and the base keep the ranking, in points, with a 95 % Monte Carlo interval."""
    moved = 100 * (np.concatenate(rival).astype(float) - np.concatenate(base))
    reach = 1.96 * float(moved.std(ddof=1)) / np.sqrt(len(moved))
    return float(moved.mean()), float(moved.mean() - reach), float(moved.mean() + reach)


def chance(models: int) -> float:
    """Return how often a random ranking is the right one, in %."""
    return 100 / factorial(models)


def drawings(table: Any, values: Any) -> dict[str, Callable[[], Any]]:
    """Shares over rates, and for each benchmark the values behind them."""
    drawn: dict[str, Callable[[], Any]] = {"robustness": partial(_draw_shares, table)}
    for benchmark in dict.fromkeys(values["benchmark"]):
        drawn[f"values-{benchmark}"] = partial(_draw_values, values[values["benchmark"] == benchmark])
    return drawn


def _draw_shares(table: Any) -> Any:
    benchmarks = list(dict.fromkeys(table["benchmark"]))
    figure, axes = figures.grid(len(benchmarks), each=1, height=1.75, sharex=True, sharey=True)
    for axis, benchmark in zip(axes, benchmarks, strict=True):
        rows = table[table["benchmark"] == benchmark]
        for n, (scorer, measure) in enumerate(_shown(rows)):
            line = rows[(rows["scorer"] == scorer) & (rows["measure"] == measure)]
            axis.plot(100 * line["rate"], line["kept"], label=f"{measure}, {scorer}", **figures.look(n))
            figures.band(axis, 100 * line["rate"], line["low"], line["high"], n)
        figures.neutral_line(axis, chance(rows["models"].max()), across=True, label="chance")
        axis.set_ylim(0, 102)
        facts = f"{rows['models'].max()} models, {rows['repeats'].max()} repeats"
        title = f"{benchmark}, {facts}, n = {rows['n'].min():,} to {rows['n'].max():,}"
        figures.head(axis, title, 60)
    for axis in figures.leftmost(axes):
        axis.set_ylabel("ranking kept (%)")
    for axis in figures.lowest(axes):
        figures.label_x(axis, "share of the pairs in a subsample (%)", 50)
    figures.legend_below(figure, axes[0], 3)
    return figure


def _shown(rows: Any) -> list[tuple[str, str]]:
    """The paper's four if available, else the first four."""
    there = list(dict.fromkeys(zip(rows["scorer"], rows["measure"], strict=True)))
    paper = (*PAPER[:-1], PAPER[-1] if PAPER[-1] in there else PUBLISHED, ("sss", BASE))
    return [pair for pair in paper if pair in there] or there[:4]


def _draw_values(rows: Any) -> Any:
    shown = _shown(rows)[:4]
    models = list(dict.fromkeys(rows["model"]))
    figure, axes = figures.grid(len(shown), height=1.6, sharex=True)
    for axis, (scorer, measure) in zip(axes, shown, strict=True):
        part = rows[(rows["scorer"] == scorer) & (rows["measure"] == measure)]
        for n, model in enumerate(models):
            _curve(axis, part[part["model"] == model], model, n)
        neutral = catalog.find("measures", measure).spec.neutral
        if neutral is not None:
            figures.neutral_line(axis, neutral, across=True, label="neutral")
        axis.set_title(f"{measure}, {scorer}", loc="left")
        axis.set_ylabel("percentage" if measure == BASE else "score", fontsize=6.5)
    size = f"n = {rows['n'].min():,} to {rows['n'].max():,}"
    for axis in figures.lowest(axes):
        figures.label_x(axis, f"share of the pairs (%), {rows['benchmark'].iloc[0]}, {size}; bands ± 1 sd", 26)
    figures.legend_below(figure, axes[0], 3)
    return figure


def _curve(axis: Any, line: Any, model: str, n: int) -> None:
    """One model's mean over subsamples, up to its value on all pairs."""
    if not len(line):
        return
    x = 100 * np.append(line["rate"], 1.0)
    mean, sd = np.append(line["mean"], line["full"].iloc[0]), np.append(line["sd"], 0.0)
    axis.plot(x, mean, label=model, **figures.look(n))
    figures.band(axis, x, mean - sd, mean + sd, n)
