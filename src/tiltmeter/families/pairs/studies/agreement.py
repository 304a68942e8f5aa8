"""Human agreement: does a score distinguish the pairs that people call biased from the other pairs?

Figure 1 of Kaneko and Bollegala (2022).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Annotated, Any

import numpy as np

from tiltmeter import figures
from tiltmeter.display import Statement, number_text, p_text, range_text, signed_text
from tiltmeter.errors import UsageError
from tiltmeter.families.pairs.annotations import votes
from tiltmeter.families.pairs.evidence import PairEvidence, align
from tiltmeter.families.pairs.paired import Paired
from tiltmeter.families.pairs.studies.kit.delong import area_interval, areas, difference_p, roc
from tiltmeter.studies.kit.corrections import corrected
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.options import Confidence, check_settings

CITATION = "Kaneko and Bollegala (2022), Unmasking the Mask, AAAI, Figure 1; DeLong, DeLong and Clarke-Pearson (1988)."
LEAST_PER_CLASS = 2
PAPER = ("aul", "aula", "cps", "sss")


def agreement(
    evidence: PairEvidence,
    *,
    threshold: Annotated[int, "A pair is biased if at least this many annotators name its bias type."] = 3,
    any_type: Annotated[bool, "Count annotators who name any bias type, not only that of the pair."] = False,
    absolute: Annotated[bool, "Rank pairs by |f(stereo) − f(anti)| instead of the signed difference."] = False,
    annotations: Annotated[str | None, "Benchmark (name or file) with annotations for pairs of the same text."] = None,
    confidence: Confidence = 0.95,
) -> Finding:
    """ROC curve and area of every scorer against the annotators' majority, with DeLong's interval and paired test.

    All scorers of a model are compared on the same pairs: those with annotations and without missing scores.
    """
    import pandas as pd

    check_settings(confidence=confidence)
    rows: list[dict[str, Any]] = []
    tests: list[dict[str, Any]] = []
    curves: dict[tuple[str, str, str], Any] = {}
    labels = dict(_labels(evidence, threshold, annotations, any_type))
    for model, benchmark in evidence.evaluations:
        if benchmark not in labels:
            continue
        pairs, label = _labelled(evidence, model, benchmark, labels[benchmark])
        _check_classes(label, benchmark, threshold)
        scores = np.array([paired.scores["stereo"] - paired.scores["anti"] for paired in pairs])
        scores = np.abs(scores) if absolute else scores
        value, covariance = areas(scores, label)
        left_out = len(evidence.items(benchmark)) - len(label)
        place, counts = {"model": model, "benchmark": benchmark}, (int(label.sum()), int((~label).sum()))
        for n, paired in enumerate(pairs):
            low, high = area_interval(value[n], covariance[n, n], counts, confidence)
            area = {"scorer": paired.scorer, "auc": float(value[n]), "low": low, "high": high, "neutral": 0.5}
            rows.append(place | area | {"n_biased": counts[0], "n_other": counts[1], "n_left_out": left_out})
            curves[model, benchmark, paired.scorer] = roc(scores[n], label)
        tests += [place | test for test in _tests([paired.scorer for paired in pairs], value, covariance)]
    corrected(tests, "model", "benchmark")
    table = pd.DataFrame(rows)
    drawings = {"roc": lambda: _draw_curves(table, curves, threshold), "auc": lambda: _draw_areas(table)}
    tables = {"auc": table} | ({"differences": pd.DataFrame(tests)} if tests else {})
    which = "any bias type" if any_type else "its bias type"
    meaning = f"A pair counts as biased if at least {threshold} annotators name {which}."
    return Finding("agreement", tables, drawings, (*_sentences(table, tests), meaning), {"any_type": any_type})


def _labels(
    evidence: PairEvidence, threshold: int, source: str | None, any_type: bool
) -> Iterator[tuple[str, dict[str, bool]]]:
    """Benchmark → item → whether enough annotators call it biased."""
    benchmarks = dict.fromkeys(benchmark for _, benchmark in evidence.evaluations)
    counted = {benchmark: votes(evidence.items(benchmark), source, any_type=any_type) for benchmark in benchmarks}
    if not any(counted.values()):
        hint = " Name a benchmark that has them with --annotations." if not source else ""
        raise UsageError(
            f"agreement needs annotations, and the items of {', '.join(counted)} have none.{hint}",
            code="missing-column", study="agreement", column="annotations", benchmarks=list(counted),
        )  # fmt: skip
    most = max(total for of_benchmark in counted.values() for _, total in of_benchmark.values())
    if not 1 <= threshold <= most:
        raise UsageError(
            f"The threshold must be 1 to {most} (the number of annotators), not {threshold}.",
            code="out-of-range", option="threshold", value=threshold, low=1, high=most,
        )  # fmt: skip
    for benchmark, of_item in counted.items():
        if of_item:
            yield benchmark, {item: count >= threshold for item, (count, _) in of_item.items()}


def _labelled(evidence: PairEvidence, model: str, benchmark: str, label: dict[str, bool]) -> tuple[list[Paired], Any]:
    """The scorers of a model on the pairs that have labels and all scores."""
    here = [paired for paired in evidence.every() if (paired.model, paired.benchmark) == (model, benchmark)]
    there = [paired.take(paired.groups["item"].isin(label).to_numpy()) for paired in here]
    pairs = align(there)
    return pairs, np.array([label[item] for item in pairs[0].groups["item"]], dtype=bool)


def _check_classes(label: Any, benchmark: str, threshold: int) -> None:
    biased, other = int(label.sum()), int((~label).sum())
    if min(biased, other) < LEAST_PER_CLASS:
        raise UsageError(
            f"agreement needs at least {LEAST_PER_CLASS} pairs of each kind; with a threshold of {threshold}, {benchmark} "
            f"has {biased} biased and {other} other pairs.",
            code="too-few", study="agreement", benchmark=benchmark, least=LEAST_PER_CLASS, biased=biased,
            other=other,
        )  # fmt: skip


def _tests(names: Sequence[str], value: Any, covariance: Any) -> Iterator[dict[str, Any]]:
    for a, b in combinations(range(len(names)), 2):
        p = difference_p(a, b, value, covariance)
        yield {"scorer_a": names[a], "scorer_b": names[b], "difference": float(value[a] - value[b]), "p": p}


BEST = (
    "{model} on {benchmark} ({n_biased:,} biased, {n_other:,} other pairs): {scorer} agrees best with people, AUC {bounds}; "
    "{chance}; {n} of {of} differences between scorers are significant (DeLong, Holm)."
)


def _sentences(table: Any, tests: list[dict[str, Any]]) -> Iterator[str]:
    for (model, benchmark), rows in table.groupby(["model", "benchmark"], sort=False):
        best = rows.loc[rows["auc"].idxmax()]
        above = rows[rows["low"] > 0.5]["scorer"].tolist()
        sure = [row for row in tests if (row["model"], row["benchmark"]) == (model, benchmark) and row["p_holm"] < 0.05]
        chance = f"above chance: {', '.join(above)}" if above else "none is above chance"
        if len(rows) == 1:
            size = f"{best['n_biased']:,} biased, {best['n_other']:,} other pairs"
            yield f"{model} on {benchmark} ({size}): {best['scorer']} has AUC {_bounds(best)}; {chance}."
            continue
        yield Statement(
            BEST, "best-scorer", model=model, benchmark=benchmark, n_biased=best["n_biased"], n_other=best["n_other"],
            scorer=best["scorer"], auc=best["auc"], bounds=_bounds(best), above=above, chance=chance, n=len(sure),
            of=len(rows) * (len(rows) - 1) // 2,
        )  # fmt: skip
    if tests:
        closest = min(tests, key=lambda row: row["p"])
        yield (
            f"The clearest difference: {closest['scorer_a']} against {closest['scorer_b']} in {closest['model']}, "
            f"{signed_text(closest['difference'], 3)} ({p_text(closest['p'])} before, {p_text(closest['p_holm'])} "
            "after correction)."
        )


def _bounds(row: Any) -> str:
    return f"{number_text(row['auc'], 3)} {range_text(row['low'], row['high'], 3)}"


def _draw_curves(table: Any, curves: dict[tuple[str, str, str], Any], threshold: int) -> Any:
    """One panel per model with the paper's four scorers if available, else the first four."""
    places = list(table.groupby(["model", "benchmark"], sort=False))
    shown = [name for name in PAPER if name in set(table["scorer"])] or list(dict.fromkeys(table["scorer"]))[:4]
    figure, axes = figures.grid(len(places), height=1.8 if len(places) > 1 else 3.0, sharex=True, sharey=True)
    figure.roominess = min(1.0, figure.roominess)  # the panels are square, however wide the page
    for axis, ((model, benchmark), rows) in zip(axes, places, strict=True):
        for n, scorer in enumerate(name for name in shown if name in set(rows["scorer"])):
            axis.plot(*curves[model, benchmark, scorer], label=scorer, **figures.look(n) | {"marker": None})
        axis.plot([0, 1], [0, 1], color=figures.GREY, linewidth=0.8, linestyle=(0, (4, 2)), label="chance (neutral)")
        counts = rows.iloc[0]
        size = f"n = {counts['n_biased']:,} + {counts['n_other']:,}"
        figures.head(axis, f"{figures.short(model, 24)}, {figures.short(benchmark, 16)}, {size}", 26)
        axis.set_xticks([0, 0.5, 1])
        axis.set_yticks([0, 0.5, 1])
        axis.set_aspect("equal")
        axis.set_xlabel(f"share of the other pairs\n(fewer than {threshold} votes)", fontsize=6.5)
    for axis in figures.leftmost(axes):
        axis.set_ylabel(f"share of biased pairs\n(at least {threshold} votes)", fontsize=6.5)
    figures.legend_below(figure, axes[0], 3)
    return figure


def _draw_areas(table: Any) -> Any:
    places, scorers = list(table.groupby(["model", "benchmark"], sort=False)), list(dict.fromkeys(table["scorer"]))
    figure, axes = figures.canvas(1, height=0.9 + (0.1 + 0.06 * len(places)) * len(scorers))
    axis = axes[0, 0]
    for n, ((model, benchmark), rows) in enumerate(places):
        total = rows["n_biased"].iloc[0] + rows["n_other"].iloc[0]
        label = f"{figures.short(model)}, {figures.short(benchmark, 20)} (n = {total:,})"
        figures.interval_dots(axis, rows, scorers, ("scorer", "auc"), (n, len(places)), label)
    figures.neutral_line(axis, 0.5, label="chance (neutral)")
    figures.name_rows(axis, scorers)
    figures.label_x(axis, "area under the ROC curve, with interval")
    figures.legend_below(figure, axis, 1)
    return figure
