"""Normality: are the scores Gaussian, as KLS and JSS take them to be?

Table 1 and Figure 2 of Liu (2024).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from tiltmeter import figures
from tiltmeter.families.pairs.paired import Paired
from tiltmeter.studies.kit.corrections import check_types, corrected
from tiltmeter.studies.kit.evidence import Evidence
from tiltmeter.studies.kit.finding import Finding

CITATION = "Liu (2024), Robust Evaluation Measures, AAAI, Table 1 and Figure 2; Shapiro and Wilk (1965)."
LARGEST_N = 5000  # beyond it scipy's p is not reliable


def normality(
    evidence: Evidence,
    *,
    draw: Annotated[str | None, "Scorer to draw. Default: aul, else the first."] = None,
    alpha: Annotated[float, "Level of the test in the sentences."] = 0.05,
) -> Finding:
    """Shapiro–Wilk per model, benchmark, scorer, sentence and bias type; density against the fitted Gaussian.

    W is 1 for a perfect Gaussian. p_holm is corrected over the score sets of a model, benchmark and scorer. Not rejecting
    is no proof: with few pairs almost anything passes, with thousands almost nothing does; so read W and the skew too.
    """
    import pandas as pd

    pairs = evidence.every()
    check_types("normality", pairs)
    rows = corrected([row for one in pairs for row in _sets(one)], "model", "benchmark", "scorer")
    table = pd.DataFrame(rows)
    shown = draw or ("aul" if "aul" in set(table["scorer"]) else str(table["scorer"].iloc[0]))
    drawn = [one for one in pairs if one.scorer == shown]
    figure = {"normality": lambda: _draw(drawn, table)}
    return Finding("normality", {"normality": table}, figure if drawn else {}, tuple(_sentences(table, shown, alpha)))


def _sets(one: Paired) -> Iterator[dict[str, Any]]:
    types = one.groups["bias_type"].astype(str).to_numpy()
    for role in ("stereo", "anti"):
        there = ~np.isnan(one.scores[role])
        for name in ("all", *sorted(set(types))):
            at = there & ((types == name) | (name == "all"))
            yield {
                "model": one.model, "benchmark": one.benchmark, "scorer": one.scorer, "role": role, "bias_type": name,
                **shapiro_wilk(one.scores[role][at]),
            }  # fmt: skip


def shapiro_wilk(scores: Any) -> dict[str, Any]:
    """n, W, p, skew and excess kurtosis of one set of scores."""
    from scipy.stats import kurtosis, shapiro, skew

    tested = scores if len(scores) <= LARGEST_N else np.random.default_rng(0).choice(scores, LARGEST_N, replace=False)
    # Shapiro–Wilk does not depend on location and scale; scipy warns when the scores are tiny.
    found = shapiro((tested - tested.mean()) / tested.std())
    return {
        "n": len(scores), "W": float(found.statistic), "p": float(found.pvalue),
        "skew": float(skew(scores)), "kurtosis": float(kurtosis(scores)),
    }  # fmt: skip


def _sentences(table: Any, shown: str, alpha: float) -> Iterator[str]:
    whole = table["bias_type"] == "all"
    for benchmark, rows in table[whole & (table["scorer"] == shown)].groupby("benchmark", sort=False):
        types = table[(table["benchmark"] == benchmark) & (table["scorer"] == shown) & ~whole]
        refused, of_types = (int((part["p_holm"] < alpha).sum()) for part in (rows, types))
        yield (
            f"{shown} on {benchmark}: Gaussian is rejected for {refused} of {len(rows)} score sets of all pairs (W "
            f"{rows['W'].min():.3f} to {rows['W'].max():.3f}, skew {rows['skew'].min():+.2f} to {rows['skew'].max():+.2f}), "
            f"and for {of_types} of {len(types)} of single bias types (Holm-corrected p < {alpha:g})."
        )
    by_scorer = table[whole].groupby("scorer", sort=False)["W"].median().sort_values(ascending=False)
    if len(by_scorer) > 1:
        yield (
            f"Nearest to Gaussian of {len(by_scorer)} scores: {by_scorer.index[0]} (median W {by_scorer.iloc[0]:.3f}); "
            f"furthest: {by_scorer.index[-1]} ({by_scorer.iloc[-1]:.3f})."
        )


def _draw(pairs: list[Paired], table: Any) -> Any:
    """A panel per score set; with two benchmarks a row per model."""
    models = list(dict.fromkeys(one.model for one in pairs))
    if len({one.benchmark for one in pairs}) == 2:
        pairs = sorted(pairs, key=lambda one: models.index(one.model))
    figure, axes = figures.grid(len(pairs), height=1.35 if len(pairs) > 1 else 2.4)
    for axis, one in zip(axes, pairs, strict=True):
        for n, role in enumerate(("stereo", "anti")):
            _density(axis, one.scores[role][~np.isnan(one.scores[role])], role, n)
        found = table[
            (table["model"] == one.model) & (table["benchmark"] == one.benchmark) & (table["scorer"] == one.scorer)
        ]
        w = found[found["bias_type"] == "all"]["W"].min()
        figures.head(axis, f"{figures.short(one.model, 24)}, {figures.short(one.benchmark, 16)}", 28)
        axis.text(0.03, 0.95, f"n = {len(one):,}\nW = {w:.3f}", transform=axis.transAxes, va="top", fontsize=6)
        axis.set_yticks([])
        axis.set_ylabel("density", fontsize=6.5)
    for axis in figures.lowest(axes):
        figures.label_x(axis, f"{pairs[0].scorer} score (nats)")
    figures.legend_below(figure, axes[0], 2)
    return figure


def _density(axis: Any, scores: Any, role: str, n: int) -> None:
    """The far tail is left off: half a per cent of the scores would take most of the width."""
    from scipy.stats import gaussian_kde, norm

    x = np.linspace(np.percentile(scores, 0.5), scores.max(), 200)
    colour = figures.COLOURS[n]
    axis.plot(x, gaussian_kde(scores)(x), color=colour, linestyle="-" if n == 0 else "--", label=f"{role}: kernel density")
    fitted = norm.pdf(x, scores.mean(), scores.std(ddof=1))
    axis.plot(x, fitted, color=colour, linestyle=":" if n == 0 else "-.", linewidth=0.8, label=f"{role}: fitted Gaussian")
