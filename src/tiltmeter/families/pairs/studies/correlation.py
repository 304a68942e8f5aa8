"""Correlation between measures: do they agree? Pearson's r and mutual information over bias types and models.

Figure 4 of Liu (2024).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Annotated, Any

import numpy as np

from tiltmeter import catalog, figures
from tiltmeter.display import Statement, number_text, signed_text
from tiltmeter.errors import RunError, UsageError, require_choice
from tiltmeter.families.pairs.evidence import PairEvidence
from tiltmeter.families.pairs.headline import SCORERS as HEADLINE
from tiltmeter.families.pairs.paired import Floats, Paired
from tiltmeter.families.pairs.studies.kit.bias_types import check_types
from tiltmeter.stats.measured import stratum_of
from tiltmeter.stats.resampling import statistic
from tiltmeter.studies.kit.corrections import corrected
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.options import Confidence, MeasureNames, Seed, check_settings

CITATION = "Liu (2024), Robust Evaluation Measures, AAAI, Figure 4; Kraskov, Stögbauer and Grassberger (2004)."
FEW = 10
LEAST = 3
PREFERENCE = "bias_score"
PREFERENCES = ("cps", "sss", "aul", "aula", "all_masked", "causal", "causal_mean", "stereoset_masked", "stereoset_causal")


def correlation(
    evidence: PairEvidence,
    *,
    measure: MeasureNames = None,
    over: Annotated[str, "types: one point per model and bias type; models: one per model, as in the paper."] = "types",
    distance: Annotated[bool, "Correlate distances from neutral: kls and jss give no direction."] = False,
    neighbours: Annotated[int, "k of the nearest-neighbour estimate of mutual information (the paper: 1)."] = 3,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
) -> Finding:
    """Pearson's r with Fisher's interval, and mutual information in nats, for every two measures of a benchmark.

    By default: bias_score by each scorer, and kls and jss by aul. Named measures other than bias_score are those of aul
    too, unless scorers are named. Points of one model are dependent, so the intervals are too narrow.
    """
    import pandas as pd

    check_settings(seed=seed, confidence=confidence)
    require_choice("--over", over, ("types", "models"))
    rows: list[dict[str, Any]] = []
    for benchmark in dict.fromkeys(name for _, name in evidence.evaluations):
        values = _values(evidence, benchmark, measure, over, distance)
        _check(values, benchmark, over, neighbours)
        rows += [{"benchmark": benchmark} | row for row in correlations(values, neighbours, confidence, seed)]
    table = pd.DataFrame(corrected(rows, "benchmark"))
    few = sorted({f"{row['benchmark']} has {row['n']}" for row in rows if row["n"] < FEW})
    warning = [Statement(FEW_POINTS, "few-points", least=FEW, few="; ".join(few))] if few else []
    drawings = {"correlation": lambda: _draw(table)}
    return Finding("correlation", {"correlation": table}, drawings, (*_sentences(table), *warning), {"over": over})


FEW_POINTS = "Fewer than {least} points ({few}): r and mutual information are unreliable."


def _values(evidence: PairEvidence, benchmark: str, names: Any, over: str, distance: bool) -> dict[str, Floats]:
    """Label of a measure → its values, one per point, in the same order for all."""
    wanted = list(_wanted(evidence, benchmark, names))
    models = [model for model, where in evidence.evaluations if where == benchmark]
    here = [paired for paired in evidence.chosen(evidence.scorers) if paired.benchmark == benchmark]
    known = {(paired.model, paired.scorer): paired for paired in here}
    shared = [model for model in models if all((model, scorer) in known for scorer, _ in wanted)]
    if not shared:
        raise RunError(
            f"correlation: no model on {benchmark} has all of {', '.join(dict.fromkeys(scorer for scorer, _ in wanted))}. "
            "A masked and a causal model have no scorer in common. Choose scorers with -s.",
            code="missing-answers", study="correlation", benchmark=benchmark,
            scorers=list(dict.fromkeys(scorer for scorer, _ in wanted)),
        )  # fmt: skip
    check_types("correlation", [known[model, scorer] for model in shared for scorer, _ in wanted])
    values = {}
    for scorer, entry in wanted:
        points = [point for model in shared for point in _points(known[model, scorer], entry, over)]
        shift = entry.spec.neutral if distance and entry.spec.neutral is not None else None
        numbers = np.array(points, dtype=np.float64)
        values[f"{entry.name}\n{scorer}"] = numbers if shift is None else np.abs(numbers - shift)
    return values


def _wanted(evidence: PairEvidence, benchmark: str, names: Any) -> Iterator[tuple[str, catalog.Entry]]:
    here = list(dict.fromkeys(paired.scorer for paired in evidence.pairs if paired.benchmark == benchmark))
    kinds = [name for name in ([*evidence.named] or HEADLINE) if name in here] or here
    chosen = [catalog.find("measures", name) for name in names or ("bias_score", "kls", "jss")]
    if evidence.named:
        yield from ((scorer, entry) for entry in chosen for scorer in kinds)
        return
    masked = [name for name in PREFERENCES if name in here]
    base = "aul" if "aul" in here else kinds[0]
    # No model has both causal and masked scores; the larger family is studied.
    family = [name for name in masked if name.startswith(("causal", "stereoset_causal")) != ("aul" in here)] or kinds
    for entry in chosen:
        yield from ((scorer, entry) for scorer in (family if entry.name == PREFERENCE else [base]))


def _points(paired: Paired, entry: catalog.Entry, over: str) -> Iterator[float]:
    types = paired.groups["bias_type"].astype(str).to_numpy()
    for name in sorted(set(types)) if over == "types" else (None,):
        part = paired.take(types == name) if name else paired
        sample = part.complete_for(entry)[0].sample(stratum_of(entry))
        yield float(statistic(entry, sample.columns, sample.parts))


def _check(values: dict[str, Floats], benchmark: str, over: str, neighbours: int) -> None:
    n = len(next(iter(values.values())))
    if neighbours < 1:
        raise UsageError(
            f"--neighbours must be at least 1, not {neighbours}.",
            code="out-of-range", option="neighbours", value=neighbours, low=1,
        )  # fmt: skip
    if len(values) < 2:
        raise UsageError(
            f"correlation needs at least 2 measures; {benchmark} has {len(values)}.",
            code="too-few", study="correlation", benchmark=benchmark, least=2, measures=len(values),
        )  # fmt: skip
    if n < LEAST:
        what = "models" if over == "models" else "models × bias types"
        raise UsageError(
            f"correlation needs at least {LEAST} points ({what}) on {benchmark}; there are {n}.",
            code="too-few", study="correlation", benchmark=benchmark, least=LEAST, points=n,
        )  # fmt: skip
    for name, column in values.items():
        if np.ptp(column) == 0:
            label = " by ".join(name.split("\n"))
            raise RunError(
                f"correlation is undefined: {label} is {column[0]:g} for all {n} points of {benchmark}.",
                code="undefined-result", study="correlation", benchmark=benchmark, measure=label, n=n,
            )  # fmt: skip


def correlations(values: dict[str, Floats], neighbours: int, confidence: float, seed: int) -> Iterator[dict[str, Any]]:
    """r, its interval and p, and mutual information, for every two of the named values.

    With no more points than neighbours, one neighbour is taken, as the paper does with its three models.
    """
    from scipy.stats import pearsonr
    from sklearn.feature_selection import mutual_info_regression

    for (a, x), (b, y) in combinations(values.items(), 2):
        pearson = pearsonr(x, y)
        low, high = pearson.confidence_interval(confidence) if len(x) > LEAST else (-1.0, 1.0)  # three points say nothing
        used = neighbours if neighbours < len(x) else 1
        shared = mutual_info_regression(x[:, None], y, n_neighbors=used, random_state=seed)[0]
        yield {
            "a": " by ".join(a.split("\n")), "b": " by ".join(b.split("\n")), "n": len(x), "r": float(pearson.statistic),
            "low": float(low), "high": float(high), "p": float(pearson.pvalue),
            "mutual_information": float(shared), "neighbours": used,
        }  # fmt: skip


def _sentences(table: Any) -> Iterator[str]:
    for benchmark, rows in table.groupby("benchmark", sort=False):
        most, least = rows.loc[rows["r"].abs().idxmax()], rows.loc[rows["r"].abs().idxmin()]
        sure = int((rows["p_holm"] < 0.05).sum())
        yield (
            f"{benchmark}, over {most['n']} points: the correlation is strongest between {most['a']} and {most['b']} "
            f"(r = {signed_text(most['r'], 2)}) and weakest between {least['a']} and {least['b']} (r = "
            f"{signed_text(least['r'], 2)}); {sure} of "
            f"{len(rows)} correlations differ from zero (Holm-corrected p < 0.05)."
        )


def _draw(table: Any) -> Any:
    benchmarks = list(dict.fromkeys(table["benchmark"]))
    figure, axes = figures.grid(len(benchmarks), each=1, height=2.7)
    for axis, benchmark in zip(axes, benchmarks, strict=True):
        rows = table[table["benchmark"] == benchmark]
        names = list(dict.fromkeys([*rows["a"], *rows["b"]]))
        image = _heat_map(axis, rows, names)
        short = [name.replace("bias_score by ", "").replace(" by ", ", ") for name in names]
        axis.set_xticks(range(len(names)), short, rotation=60, ha="right", rotation_mode="anchor")
        axis.set_yticks(range(len(names)), short)
        title = f"{benchmark}, n = {rows['n'].iloc[0]} points; lower left: r, upper right: MI (nats)"
        figures.head(axis, title)
        figure.colorbar(image, ax=axis, label="Pearson's r (neutral: 0)", shrink=0.8)
    return figure


def _heat_map(axis: Any, rows: Any, names: list[str]) -> Any:
    """Correlations below the diagonal, in colour; mutual information above it, in numbers."""
    colours, texts = np.eye(len(names)), np.full((len(names), len(names)), "1.00", dtype=object)
    for _, row in rows.iterrows():
        i, j = sorted((names.index(row["a"]), names.index(row["b"])))
        colours[j, i], colours[i, j] = row["r"], np.nan
        texts[j, i], texts[i, j] = number_text(row["r"], 2), number_text(row["mutual_information"], 2)
    for (i, j), text in np.ndenumerate(texts):
        dark = j <= i and abs(colours[i, j]) > 0.6
        axis.text(j, i, text, ha="center", va="center", fontsize=5.5, color="white" if dark else "black")
    return axis.imshow(colours, cmap="PuOr", vmin=-1, vmax=1)
