"""Normality: are the scores Gaussian, as KLS and JSS assume?

Table 1 and Figure 2 of Liu (2024).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from tiltmeter import figures
from tiltmeter.display import Statement, number_text, signed_text
from tiltmeter.errors import UsageError
from tiltmeter.families.pairs.evidence import PairEvidence
from tiltmeter.families.pairs.paired import Paired
from tiltmeter.families.pairs.studies.kit.bias_types import check_types
from tiltmeter.stats.resampling import generator
from tiltmeter.studies.kit.corrections import corrected
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.options import LEAST_ITEMS, Seed, check_sampling

CITATION = "Liu (2024), Robust Evaluation Measures, AAAI, Table 1 and Figure 2; Shapiro and Wilk (1965)."
LARGEST_N = 5000  # beyond it scipy's p is not reliable


def normality(
    evidence: PairEvidence,
    *,
    draw: Annotated[str | None, "Scorer to draw. Default: aul, else the first."] = None,
    alpha: Annotated[float, "Level of the test in the sentences."] = 0.05,
    subsample: Annotated[int | None, "Also test subsamples of this many pairs, drawn without replacement."] = None,
    repeats: Annotated[int, "How many subsamples."] = 100,
    seed: Seed = 0,
) -> Finding:
    """Shapiro–Wilk per model, benchmark, scorer, sentence and bias type; density against the fitted Gaussian.

    W is 1 for a perfect Gaussian. p_holm is corrected over the score sets of a model, benchmark and scorer. A test that
    does not reject proves nothing: with few pairs almost everything passes, with thousands almost nothing; so see W and
    the skew too. With `subsample` the same test is repeated on that many pairs, which shows what n alone does to p.
    """
    import pandas as pd

    pairs = evidence.every()
    check_types("normality", pairs)
    rows = corrected([row for paired in pairs for row in _sets(paired)], "model", "benchmark", "scorer")
    table = pd.DataFrame(rows)
    tables = {"normality": table} | (
        {"subsamples": _subsampled(pairs, subsample, repeats, alpha, seed)} if subsample else {}
    )
    shown = draw or ("aul" if "aul" in set(table["scorer"]) else str(table["scorer"].iloc[0]))
    drawn = [paired for paired in pairs if paired.scorer == shown]
    figure = {"normality": lambda: _draw(drawn, table)}
    said = [*_sentences(table, shown, alpha), *_about_subsamples(tables.get("subsamples"), shown, alpha)]
    return Finding("normality", tables, figure if drawn else {}, tuple(said))


def _sets(paired: Paired) -> Iterator[dict[str, Any]]:
    types = paired.groups["bias_type"].astype(str).to_numpy()
    for role in ("stereo", "anti"):
        there = ~np.isnan(paired.scores[role])
        for name in ("all", *sorted(set(types))):
            at = there & ((types == name) | (name == "all"))
            yield {
                "model": paired.model, "benchmark": paired.benchmark, "scorer": paired.scorer, "role": role,
                "bias_type": name, **shapiro_wilk(paired.scores[role][at]),
            }  # fmt: skip


def _subsampled(pairs: list[Paired], size: int, repeats: int, alpha: float, seed: int) -> Any:
    """The test on subsamples of all pairs: the middle W and p, where nine tenths of W lie, and how often p < alpha."""
    import pandas as pd

    check_sampling(repeats, None)
    rows = []
    for paired in pairs:
        for role in ("stereo", "anti"):
            scores = paired.scores[role][~np.isnan(paired.scores[role])]
            if not LEAST_ITEMS <= size <= min(len(scores), LARGEST_N):
                raise UsageError(
                    f"--subsample must be {LEAST_ITEMS} to {min(len(scores), LARGEST_N)} for {paired.model} on "
                    f"{paired.benchmark} by {paired.scorer}, not {size}.",
                    code="out-of-range", option="subsample", value=size, low=LEAST_ITEMS,
                    high=min(len(scores), LARGEST_N),
                )  # fmt: skip
            rng = generator(seed, "normality", paired.benchmark)  # the same pairs for every model, scorer and role
            tests = [shapiro_wilk(rng.choice(scores, size, replace=False)) for _ in range(repeats)]
            w, p = (np.array([test[name] for test in tests]) for name in ("W", "p"))
            low, high = np.percentile(w, [5, 95])
            rows.append(
                {
                    "model": paired.model, "benchmark": paired.benchmark, "scorer": paired.scorer, "role": role, "n": size,
                    "repeats": repeats, "W": float(np.median(w)), "W_low": float(low), "W_high": float(high),
                    "p": float(np.median(p)), "rejected": 100 * float((p < alpha).mean()),
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def _about_subsamples(table: Any, shown: str, alpha: float) -> Iterator[str]:
    rows = [] if table is None else table[table["scorer"] == shown].groupby("benchmark", sort=False)
    for benchmark, part in rows:
        yield Statement(
            "{scorer} on {benchmark}, {repeats} subsamples of {n:,} pairs: median W {w[0]:.3f} to {w[1]:.3f}, and "
            "p < {alpha:g} in {rejected[0]:.0f} to {rejected[1]:.0f} % of them.", "subsamples",
            scorer=shown, benchmark=benchmark, repeats=part["repeats"].iloc[0], n=part["n"].iloc[0], alpha=alpha,
            w=(part["W"].min(), part["W"].max()), rejected=(part["rejected"].min(), part["rejected"].max()),
        )  # fmt: skip


def shapiro_wilk(scores: Any) -> dict[str, Any]:
    """n, W, p, skew and excess kurtosis of one set of scores."""
    from scipy.stats import kurtosis, shapiro, skew

    tested = scores if len(scores) <= LARGEST_N else np.random.default_rng(0).choice(scores, LARGEST_N, replace=False)
    # Shapiro–Wilk does not depend on location and scale; scipy warns when the scores are tiny.
    test = shapiro((tested - tested.mean()) / tested.std())
    return {
        "n": len(scores), "W": float(test.statistic), "p": float(test.pvalue),
        "skew": float(skew(scores)), "kurtosis": float(kurtosis(scores)),
    }  # fmt: skip


def _sentences(table: Any, shown: str, alpha: float) -> Iterator[str]:
    whole = table["bias_type"] == "all"
    for benchmark, rows in table[whole & (table["scorer"] == shown)].groupby("benchmark", sort=False):
        types = table[(table["benchmark"] == benchmark) & (table["scorer"] == shown) & ~whole]
        rejected, of_types = (int((part["p_holm"] < alpha).sum()) for part in (rows, types))
        yield (
            f"{shown} on {benchmark}: normality is rejected for {rejected} of {len(rows)} score sets of all pairs (W "
            f"{number_text(rows['W'].min(), 3)} to {number_text(rows['W'].max(), 3)}, skew "
            f"{signed_text(rows['skew'].min(), 2)} to {signed_text(rows['skew'].max(), 2)}), "
            f"and for {of_types} of {len(types)} of single bias types (Holm-corrected p < {alpha:g})."
        )
    by_scorer = table[whole].groupby("scorer", sort=False)["W"].median().sort_values(ascending=False)
    if len(by_scorer) > 1:
        yield (
            f"Of {len(by_scorer)} scorers, {by_scorer.index[0]} is closest to Gaussian (median W "
            f"{number_text(by_scorer.iloc[0], 3)}) "
            f"and {by_scorer.index[-1]} is furthest from it ({number_text(by_scorer.iloc[-1], 3)})."
        )


def _draw(pairs: list[Paired], table: Any) -> Any:
    """Draws a panel per score set; with two benchmarks, a row per model."""
    models = list(dict.fromkeys(paired.model for paired in pairs))
    if len({paired.benchmark for paired in pairs}) == 2:
        pairs = sorted(pairs, key=lambda paired: models.index(paired.model))
    figure, axes = figures.grid(len(pairs), height=1.35 if len(pairs) > 1 else 2.4)
    for axis, paired in zip(axes, pairs, strict=True):
        for n, role in enumerate(("stereo", "anti")):
            _density(axis, paired.scores[role][~np.isnan(paired.scores[role])], role, n)
        tested = table[
            (table["model"] == paired.model) & (table["benchmark"] == paired.benchmark) & (table["scorer"] == paired.scorer)
        ]
        w = tested[tested["bias_type"] == "all"]["W"].min()
        figures.head(axis, f"{figures.short(paired.model, 24)}, {figures.short(paired.benchmark, 16)}", 28)
        axis.text(
            0.03, 0.95, f"n = {len(paired):,}\nW = {number_text(w, 3)}", transform=axis.transAxes, va="top", fontsize=6
        )
        axis.set_yticks([])
        axis.set_ylabel("density", fontsize=6.5)
    for axis in figures.lowest(axes):
        figures.label_x(axis, f"{pairs[0].scorer} score (nats)")
    figures.legend_below(figure, axes[0], 2)
    return figure


def _density(axis: Any, scores: Any, role: str, n: int) -> None:
    """Draws one density without its far tail: half a percent of the scores would take most of the width."""
    from scipy.stats import gaussian_kde, norm

    x = np.linspace(np.percentile(scores, 0.5), scores.max(), 200)
    colour = figures.COLOURS[n]
    axis.plot(x, gaussian_kde(scores)(x), color=colour, linestyle="-" if n == 0 else "--", label=f"{role}: kernel density")
    fitted = norm.pdf(x, scores.mean(), scores.std(ddof=1))
    axis.plot(x, fitted, color=colour, linestyle=":" if n == 0 else "-.", linewidth=0.8, label=f"{role}: fitted Gaussian")
