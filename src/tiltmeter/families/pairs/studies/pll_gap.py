"""Asymmetry of scores: |Δst| on the pairs that lean towards the stereotype, |Δat| on the others, and their difference.

Tables 4 and 5 of Liu (2024).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tiltmeter import figures
from tiltmeter.display import percent_text, share_text, significant_text
from tiltmeter.errors import RunError
from tiltmeter.families.pairs.evidence import PairEvidence
from tiltmeter.families.pairs.paired import Floats, Paired
from tiltmeter.stats.intervals import percentile_interval
from tiltmeter.stats.resampling import Sample, generator
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.options import (
    Confidence,
    Rates,
    Repeats,
    Resamples,
    Seed,
    check_sampling,
    check_settings,
    subsamples,
)

CITATION = "Liu (2024), Robust Evaluation Measures, AAAI, Tables 4 and 5."


def pll_gap(
    evidence: PairEvidence,
    *,
    rates: Rates = None,
    repeats: Repeats = 100,
    resamples: Resamples = 1000,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
) -> Finding:
    """Mean scores in the stereotype group (f_st > f_at) and in the rest, |Δst| − |Δat| with interval, and on subsamples.

    A bias score counts the pairs of each group; this study measures how far apart their scores are. 0 is neutral.
    """
    import pandas as pd

    settings = check_settings(seed, resamples, confidence)
    chosen = check_sampling(repeats, rates)
    rows: list[dict[str, Any]] = []
    moved: list[dict[str, Any]] = []
    for paired in evidence.every():
        sample = paired.take(_complete(paired)).sample("bias_type")
        place = {"model": paired.model, "benchmark": paired.benchmark, "scorer": paired.scorer}
        row = groups(sample.columns["stereo"], sample.columns["anti"], " ".join(place.values()))
        rng = generator(seed, "pll_gap", paired.benchmark)
        draws = np.concatenate([_gap(sample, index) for index in sample.draws(rng, settings.resamples)])
        low, high = percentile_interval(draws[~np.isnan(draws)], confidence)
        rows.append(place | row | {"low": low, "high": high, "neutral": 0.0})
        for rate in chosen:
            index = subsamples(sample.stratum, rate, repeats, generator(seed, "pll_gap", paired.benchmark, f"{rate:g}"))
            moved.append(place | {"rate": rate, "n": index.shape[1]} | _under(_gap(sample, index), row["gap"]))
    table, under = pd.DataFrame(rows), pd.DataFrame(moved)
    figure = {"pll-gap": lambda: _draw(table, under)}
    return Finding("pll_gap", {"pll-gap": table, "subsamples": under}, figure, tuple(_sentences(table, under)))


def _complete(paired: Paired) -> Any:
    return ~(np.isnan(paired.scores["stereo"]) | np.isnan(paired.scores["anti"]))


def groups(stereo: Floats, anti: Floats, where: str = "these scores") -> dict[str, Any]:
    """Means of both sentences in both groups of pairs. A tie is in the second group, as in the paper.

    >>> means = groups(np.array([.4, .3, .9, .8]), np.array([.5, .4, .1, .2]))
    >>> [round(means[name], 12) for name in ("delta_st", "delta_at", "gap")]
    [0.7, 0.1, 0.6]
    """
    wins = stereo > anti
    for group, side in ((wins, "higher"), (~wins, "lower or equal")):
        if not group.any():
            raise RunError(
                f"pll-gap cannot be computed: in {where} no stereotypical sentence scores {side}.",
                code="undefined-result", study="pll-gap", side=side,
            )  # fmt: skip
    columns: dict[str, Any] = {}
    for name, group in (("st", wins), ("at", ~wins)):
        means = float(stereo[group].mean()), float(anti[group].mean())
        columns |= {f"n_{name}": int(group.sum()), f"stereo_{name}": means[0], f"anti_{name}": means[1]}
        columns[f"delta_{name}"] = abs(means[0] - means[1])
    return columns | {"gap": columns["delta_st"] - columns["delta_at"]}


def _gap(sample: Sample, index: Any) -> Floats:
    """|Δst| − |Δat| on draws of items; NaN where a draw has no pair of one group."""
    moved = (sample.columns["stereo"] - sample.columns["anti"])[index]
    wins = moved > 0
    with np.errstate(invalid="ignore"):
        up = np.where(wins, moved, 0.0).sum(axis=1) / wins.sum(axis=1)
        down = np.where(wins, 0.0, -moved).sum(axis=1) / (~wins).sum(axis=1)
    return np.asarray(up - down, dtype=np.float64)


def _under(draws: Floats, full: float) -> dict[str, Any]:
    defined = draws[~np.isnan(draws)]
    if not len(defined):
        return {"gap": np.nan, "change": np.nan, "sd": np.nan, "same_sign": np.nan}
    same = 100 * float((np.sign(defined) == np.sign(full)).mean())
    return {
        "gap": float(defined.mean()),
        "change": float(defined.mean()) - full,
        "sd": float(defined.std()),
        "same_sign": same,
    }


def _sentences(table: Any, under: Any) -> Iterator[str]:
    shown = "aul" if "aul" in set(table["scorer"]) else table["scorer"].iloc[0]
    for (benchmark, scorer), rows in table[table["scorer"] == shown].groupby(["benchmark", "scorer"], sort=False):
        sure = rows[(rows["low"] > 0) | (rows["high"] < 0)]
        at = under[(under["benchmark"] == benchmark) & (under["scorer"] == scorer)]
        least = at.loc[at["same_sign"].idxmin()]
        named = ", ".join(f"{row['model']} {significant_text(row['gap'], signed=True)}" for _, row in sure.iterrows())
        yield (
            f"{scorer} on {benchmark}: |Δst| − |Δat| differs from 0 in {len(sure)} of {len(rows)} models"
            f"{f' ({named})' if named else ''}; its sign is least stable in {least['model']}, kept in "
            f"{percent_text(least['same_sign'], 0)} of subsamples at {share_text(least['rate'], 0)}."
        )
    sure = int(((table["low"] > 0) | (table["high"] < 0)).sum())
    if table["scorer"].nunique() > 1:
        yield f"Over all {table['scorer'].nunique()} scores, {sure} of {len(table)} gaps differ from 0."


def _draw(table: Any, under: Any) -> Any:
    scorer = "aul" if "aul" in set(table["scorer"]) else table["scorer"].iloc[0]
    table, under = table[table["scorer"] == scorer], under[under["scorer"] == scorer]
    benchmarks, models = list(dict.fromkeys(table["benchmark"])), list(dict.fromkeys(table["model"]))
    across = min(len(benchmarks), figures.side_by_side(2))
    blocks = -(-len(benchmarks) // across)
    heights = (0.55 + 0.17 * len(models), 1.5) * blocks
    figure, axes = figures.canvas(
        2 * blocks, across, height=sum(heights) / len(heights) + 0.35, gridspec_kw={"height_ratios": heights}
    )
    figure.roominess *= min(across, 2) / across
    for axis in axes.flat:
        axis.set_visible(False)
    for number, benchmark in enumerate(benchmarks):
        block, column = divmod(number, across)
        above, below = axes[2 * block, column], axes[2 * block + 1, column]
        above.set_visible(True)
        below.set_visible(True)
        rows, moved = table[table["benchmark"] == benchmark], under[under["benchmark"] == benchmark]
        _draw_deltas(above, rows, models, scorer)
        n = rows["n_st"].iloc[0] + rows["n_at"].iloc[0]
        figures.head(above, f"{figures.short(benchmark, 24)}, n = {n:,}", 26)
        if column:
            above.set_yticklabels([])
        else:
            below.set_ylabel("|Δst| − |Δat| (nats)", fontsize=6.5)
        _draw_subsamples(below, moved, models)
    figures.legend_below(figure, axes[1, 0], 3)
    return figure


def _draw_deltas(axis: Any, rows: Any, models: list[str], scorer: str) -> None:
    at = [models.index(model) for model in rows["model"]]
    axis.hlines(at, rows["delta_at"], rows["delta_st"], color=figures.GREY, linewidth=0.8)
    axis.plot(rows["delta_st"], at, label="|Δst|", **figures.dot(1))
    axis.plot(rows["delta_at"], at, label="|Δat|", **figures.dot(0))
    figures.name_rows(axis, models)
    axis.locator_params(axis="x", nbins=3)  # panels stand side by side: longer rows of numbers would touch
    figures.label_x(axis, f"mean difference ({scorer}, nats)", 24)
    axis.legend(loc="best", handlelength=1)


def _draw_subsamples(axis: Any, moved: Any, models: list[str]) -> None:
    for n, model in enumerate(models):
        line = moved[moved["model"] == model]
        shift = figures.beside(n, len(models), 1.0)
        axis.errorbar(100 * line["rate"] + shift, line["gap"], yerr=line["sd"], label=model, **figures.look(n))
    figures.neutral_line(axis, 0.0, across=True, label="neutral")
    figures.label_x(axis, "share of the pairs (%); bars ± 1 sd", 24)
