"""Power: the smallest lean that a benchmark of this size can detect, and how many pairs would be needed.

None of the papers reports it; most bias types have so few pairs that only a large lean would be detected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Annotated, Any

import numpy as np

from tiltmeter import figures
from tiltmeter.catalog import Entry
from tiltmeter.display import percent_text, share_text
from tiltmeter.errors import UsageError
from tiltmeter.families.pairs.evidence import PairEvidence, align
from tiltmeter.families.pairs.paired import Paired, check_measures, choose_measures
from tiltmeter.families.pairs.studies.kit.bias_types import check_types
from tiltmeter.families.pairs.studies.kit.binomial_power import MOST_PAIRS, pairs_needed, power_of, smallest_lean
from tiltmeter.families.pairs.studies.kit.simulated_power import Deal, Question, simulated
from tiltmeter.stats.measured import has_exact_test, stratum_of
from tiltmeter.stats.resampling import generator
from tiltmeter.stats.significance import smallest_difference
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.options import MeasureNames, Seed

CITATION = "tiltmeter; after Card et al. (2020), With Little Power Comes Great Responsibility, EMNLP."
SCORERS = ("cps", "sss", "aul", "aula", "causal", "causal_mean", "stereoset_masked", "stereoset_causal")
UNDETECTABLE = "not detectable at any lean"
LEAST_DRAWS = 50


def power(
    evidence: PairEvidence,
    *,
    measure: MeasureNames = None,
    wanted: Annotated[float, "Power: how often a real lean should be detected."] = 0.8,
    alpha: Annotated[float, "Level of the test."] = 0.05,
    draws: Annotated[int, "Simulated benchmarks per lean."] = 200,
    seed: Seed = 0,
) -> Finding:
    """For each measure and bias type: the smallest lean distinguishable from neutral at this n, and the pairs needed.

    A lean is the share of pairs whose higher-scoring sentence is the stereotypical one (50 % is neutral), for every measure,
    so that they can be compared. bias_score: exact binomial test. The others: the scores of each pair are reassigned with
    that lean, and tested as `estimate` tests them. Pairs needed are for the observed lean; 1,000,000 means that many or
    more, and where no lean is detected at all, the number is a lower bound.
    """
    import pandas as pd

    if not 0 < alpha < 0.5 or not 0.5 <= wanted < 1 or draws < LEAST_DRAWS:
        raise UsageError(
            f"power needs a level between 0 and 0.5, a power of at least 0.5 and below 1, and at least {LEAST_DRAWS} draws, "
            f"not {alpha:g}, {wanted:g} and {draws}.",
            code="out-of-range", alpha=alpha, power=wanted, draws=draws,
        )  # fmt: skip
    pairs = evidence.chosen(SCORERS)
    check_measures(pairs, measure)
    check_types("power", pairs, spread=False)
    question = Question(wanted, alpha, draws, seed)
    rows = [row for paired in pairs for row in _rows(paired, choose_measures(paired, measure), question)]
    if not rows:
        raise UsageError(
            "power needs a measure with a neutral point, and none of those named has one.",
            code="empty-selection", study="power", measures=list(measure or ()),
        )  # fmt: skip
    table = pd.DataFrame(rows)
    apart = list(_separations(pairs, 1 - alpha, wanted))
    tables = {"power": table} | ({"separation": pd.DataFrame(apart)} if apart else {})
    drawing = {"power": lambda: _draw(table, wanted)}
    return Finding("power", tables, drawing, tuple(_sentences(table, apart, wanted)))


def _rows(paired: Paired, entries: Sequence[Entry], question: Question) -> Iterator[dict[str, Any]]:
    """For each measure a row for all pairs and one per bias type. Measures that read the same items share their draws."""
    families: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries:
        if entry.spec.neutral is not None:
            families.setdefault((stratum_of(entry), *paired.roles_of(entry)), []).append(entry)
    place = {"model": paired.model, "benchmark": paired.benchmark, "scorer": paired.scorer}
    for (stratum, *_), family in families.items():
        for deal in _deals(paired.complete_for(family[0])[0], stratum, question):
            yield from (place | {"measure": entry.name} | _row(deal, entry, question) for entry in family)


def _deals(complete: Paired, stratum: str, question: Question) -> Iterator[Deal]:
    types = complete.groups["bias_type"].astype(str).to_numpy()
    for name in ("all", *sorted(set(types))):
        at = np.flatnonzero((types == name) | (name == "all"))
        rng = generator(question.seed, "power", complete.benchmark, name, stratum)
        yield Deal(name, complete.take(at).sample(stratum), rng.random((question.draws, len(at))))


def _row(deal: Deal, entry: Entry, question: Question) -> dict[str, Any]:
    stereo, anti = deal.sample.columns["stereo"], deal.sample.columns["anti"]
    wins, decided = int((stereo > anti).sum()), int((stereo != anti).sum())
    observed = wins / decided if decided else 0.5
    if has_exact_test(entry):
        least = smallest_lean(decided, question.alpha, question.wanted)
        reached, value = power_of(decided, least or 1.0, question.alpha), 100 * (least or 1.0)
        needed = pairs_needed(observed, question.alpha, question.wanted)
    else:
        least, reached, value = simulated(entry, deal, question)
        needed = _scaled(len(stereo), least, observed)
    return {
        "bias_type": deal.bias_type, "n": len(stereo), "observed_lean": 100 * observed,
        "smallest_lean": 100 * (least or 1.0), "is_detectable": least is not None, "power": reached,
        "smallest_value": value, "neutral": entry.spec.neutral, "pairs_needed": needed,
    }  # fmt: skip


def _scaled(n: int, least: float | None, observed: float) -> int:
    """Pairs needed: noise falls with √n, so they grow with the square of (smallest lean / observed lean)."""
    reach, lean = (least or 1.0) - 0.5, abs(observed - 0.5)
    return min(MOST_PAIRS, int(np.ceil(n * (reach / lean) ** 2))) if lean > 0 else MOST_PAIRS


def _separations(pairs: list[Paired], confidence: float, wanted: float) -> Iterator[dict[str, Any]]:
    """For each two models: the smallest difference of bias scores that is detected, given the pairs they disagree on."""
    for a, b in combinations(pairs, 2):
        if (a.benchmark, a.scorer) != (b.benchmark, b.scorer):
            continue
        first, second = align([a, b])
        wins_a, wins_b = (part.scores["stereo"] > part.scores["anti"] for part in (first, second))
        difference, n = float(100 * (wins_a.mean() - wins_b.mean())), len(wins_a)
        error = 100 * float(np.std(wins_a.astype(float) - wins_b)) / np.sqrt(n)
        least = smallest_difference(error, confidence, wanted)
        needed = min(MOST_PAIRS, int(np.ceil(n * (least / difference) ** 2))) if difference else MOST_PAIRS
        yield {
            "benchmark": a.benchmark, "scorer": a.scorer, "model_a": a.model, "model_b": b.model, "n": n,
            "difference": difference, "smallest_difference": least, "separable": abs(difference) >= least,
            "pairs_needed": needed,
        }  # fmt: skip


def _sentences(table: Any, apart: list[dict[str, Any]], wanted: float) -> Iterator[str]:
    overall, types = table[table["bias_type"] == "all"], table[table["bias_type"] != "all"]
    for benchmark, rows in overall.groupby("benchmark", sort=False):
        parts = ", ".join(f"{name} {_least_of(some)}" for name, some in rows.groupby("measure", sort=False))
        yield (
            f"{benchmark}, n = {rows['n'].max():,}: the smallest lean detected with {share_text(wanted, 0)} power (neutral "
            f"50 %), median over models and scores: {parts}."
        )
        of_benchmark = types[(types["benchmark"] == benchmark) & (types["measure"] == "bias_score")]
        if len(of_benchmark):
            worst = of_benchmark.loc[of_benchmark["smallest_lean"].where(of_benchmark["is_detectable"], np.inf).idxmax()]
            of_worst = of_benchmark[of_benchmark.index == worst.name]
            hidden = of_benchmark[(of_benchmark["observed_lean"] - 50).abs() < of_benchmark["smallest_lean"] - 50]
            yield (
                f"{benchmark}, bias_score by type: {len(hidden)} of {len(of_benchmark)} observed leans are too small to be "
                f"detected with their n. {worst['bias_type']} (n = {worst['n']}) has the least power: "
                + (
                    f"only leans of {_least_of(of_worst)} or more are detected."
                    if worst["is_detectable"]
                    else f"{UNDETECTABLE}."
                )
            )
    close = [row for row in apart if not row["separable"]]
    if apart:
        yield f"Of {len(apart)} comparisons of two models by bias_score, {len(close)} are too close to be distinguished."


def _least_of(rows: Any) -> str:
    """The median of the smallest leans that are detected; that none is, where at least half of the rows detect none."""
    median = rows["smallest_lean"].where(rows["is_detectable"].astype(bool), np.inf).median()
    return percent_text(median) if np.isfinite(median) else UNDETECTABLE


def _draw(table: Any, wanted: float) -> Any:
    benchmarks, measures = list(dict.fromkeys(table["benchmark"])), list(dict.fromkeys(table["measure"]))
    counts = [table[table["benchmark"] == name]["bias_type"].nunique() for name in benchmarks]
    how = {"height_ratios": [count + 1 for count in counts]}
    figure, axes = figures.canvas(
        len(benchmarks), height=0.5 + 0.24 * sum(counts) / len(counts), sharex=True, gridspec_kw=how
    )
    for axis, benchmark in zip(axes[:, 0], benchmarks, strict=True):
        rows = table[table["benchmark"] == benchmark]
        sizes = rows.groupby("bias_type")["n"].max().sort_values(ascending=False)
        for n, name in enumerate(measures):
            least = rows[rows["measure"] == name].groupby("bias_type")["smallest_lean"].median()
            at = [list(sizes.index).index(bias_type) + figures.beside(n, len(measures), 0.13) for bias_type in least.index]
            axis.plot(least, at, label=name, **figures.dot(n))
        figures.neutral_line(axis, 50.0, label="neutral")
        figures.name_rows(axis, [f"{name}, n = {n:,}" for name, n in sizes.items()])
        figures.head(axis, benchmark)
        axis.set_xlim(48, 102)
    label = f"smallest lean detected with {share_text(wanted, 0)} power (% of pairs; median over models and scores)"
    figures.label_x(axes[-1, 0], label, 36)
    figures.legend_below(figure, max(axes[:, 0], key=lambda axis: len(axis.lines)), 3)
    return figure
