"""`compare`: two models on the same items: the paired difference of every measure, with interval and p."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.errors import TiltmeterError
from tiltmeter.estimating import check_measures, choose_measures
from tiltmeter.group_estimating import MINIMUM_RESAMPLES, Settings
from tiltmeter.paired import Paired, pair_up
from tiltmeter.resampling import Sample, bootstrap_alike, generator, percentile_interval, statistic, stratum_of
from tiltmeter.significance import binomial_p, bootstrap_p, holm
from tiltmeter.tables import Scores

if TYPE_CHECKING:
    import pandas as pd

COMPARE_COLUMNS = (
    "benchmark", "scorer", "measure", "by", "group", "model", "baseline", "n", "n_missing", "value", "baseline_value",
    "difference", "low", "high", "p", "p_holm", "note",
)  # fmt: skip


def compare(
    scores: Scores,
    baseline: str | None = None,
    measures: Sequence[str] | None = None,
    by: str | Sequence[str] = "all",
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Every other model minus the baseline (the first model unless named), over the items that both have scores for.

    The same items are drawn for both, so what the models share cancels. p: exact McNemar test for bias_score (over the
    pairs on which the two disagree), else from the bootstrap of the difference; Holm-corrected over groups.
    """
    import pandas as pd

    settings = Settings(resamples, confidence, seed)
    settings.check()
    columns = [by] if isinstance(by, str) else list(by)
    pairs = list(pair_up(scores, [c for c in columns if c not in ("bias_type", "direction", "target", "all")]))
    if not pairs:
        raise TiltmeterError(
            "These runs hold no scores of pairs. What fills slots, and SEAT, is compared by `tiltmeter study debiasing`."
        )
    check_measures(pairs, measures)
    models = list(dict.fromkeys(paired.model for paired in pairs))
    baseline = baseline or models[0]
    if baseline not in models:
        raise TiltmeterError(f"There is no model '{baseline}' in these scores. Models: {', '.join(models)}.")
    if len(models) < 2:
        raise TiltmeterError(f"Comparing needs two models; these scores have one, {models[0]}.")
    rows = [row for one, other in _partners(pairs, baseline) for row in _compare(one, other, measures, columns, settings)]
    if not rows:
        raise TiltmeterError(
            f"No other model shares a benchmark and a scorer with {baseline}. A masked and a causal model have no scorer "
            "in common."
        )
    return pd.DataFrame(rows, columns=list(COMPARE_COLUMNS))


def _partners(pairs: Sequence[Paired], baseline: str) -> Iterator[tuple[Paired, Paired]]:
    """(other, baseline) for each benchmark and scorer that both have."""
    reference = {(one.benchmark, one.scorer): one for one in pairs if one.model == baseline}
    for one in pairs:
        base = reference.get((one.benchmark, one.scorer))
        if base is not None and one.model != baseline:
            yield one, base


def _compare(
    one: Paired, base: Paired, names: Sequence[str] | None, columns: Sequence[str], settings: Settings
) -> Iterator[dict[str, Any]]:
    for measure in choose_measures(one, names):
        yield _difference(one, base, measure, "all", "all", settings)
        for column in columns:
            if column == "all" or not one.groups[column].notna().any():
                continue
            rows = []
            for name in sorted(one.groups[column].dropna().unique()):
                here = one.take((one.groups[column] == name).to_numpy())
                there = base.take((base.groups[column] == name).to_numpy())
                rows.append(_difference(here, there, measure, column, name, settings))
            for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
                yield row | {"p_holm": p}


def _difference(one: Paired, base: Paired, measure: Entry, by: str, group: str, settings: Settings) -> dict[str, Any]:
    n_all = len(set(one.groups["item"]) | set(base.groups["item"]))
    one, base = _common(one.complete_for(measure)[0], base.complete_for(measure)[0])
    row: dict[str, Any] = {
        "benchmark": one.benchmark, "scorer": one.scorer, "measure": measure.name, "by": by, "group": group,
        "model": one.model, "baseline": base.model, "n": len(one), "n_missing": n_all - len(one),
        **dict.fromkeys(("value", "baseline_value", "difference", "low", "high", "p", "p_holm"), np.nan), "note": "",
    }  # fmt: skip
    if not len(one):
        return row | {"note": "no common complete items"}
    samples = [Sample.of(paired, stratum_of(measure)) for paired in (one, base)]
    values = [float(statistic(measure, sample.columns(), sample.bias_type)) for sample in samples]
    label = ("bootstrap", one.benchmark, by, group, measure.name)
    draws = bootstrap_alike(measure, samples, generator(settings.seed, *label), settings.resamples)
    difference = values[0] - values[1]
    row |= {"value": values[0], "baseline_value": values[1], "difference": difference}
    if measure.name == "bias_score":
        row["p"] = _mcnemar(one, base)
    moved = draws[0] - draws[1]
    moved = moved[~np.isnan(moved)]
    if len(moved) < MINIMUM_RESAMPLES or (np.ptp(moved) == 0 and difference != 0):
        return row | {"note": "too few items: no resample differs"}
    if measure.constant("BOUNDED", False):  # see bounded_interval: take out the bias of resampling
        moved = moved - (moved.mean() - difference)
    low, high = percentile_interval(moved, settings.confidence)
    p = row["p"] if measure.name == "bias_score" else bootstrap_p(moved)
    return row | {"low": low, "high": high, "p": p}


def _common(one: Paired, base: Paired) -> tuple[Paired, Paired]:
    """The items both have, in the same order."""
    position = {item: n for n, item in enumerate(base.groups["item"])}
    here = np.array([n for n, item in enumerate(one.groups["item"]) if item in position], dtype=np.int64)
    there = np.array([position[item] for item in one.groups["item"] if item in position], dtype=np.int64)
    return one.take(here), base.take(there)


def _mcnemar(one: Paired, base: Paired) -> float:
    """Exact test on the pairs that one model decides as stereotypical and the other does not."""
    ours = one.scores["stereo"] > one.scores["anti"]
    theirs = base.scores["stereo"] > base.scores["anti"]
    return binomial_p(int((ours & ~theirs).sum()), int((theirs & ~ours).sum()))
