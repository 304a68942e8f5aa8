"""Curves over half doses, power by items, agreement of seeds, intrinsic against extrinsic, and debiasing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from agreement import correlation_interval, intraclass, related, smallest_correlation, within_seed_correlation
from answers import TAUGHT
from curves import curve, power_by_items
from debiasing import difference_of_left, left, mean_interval
from effects import seed_slopes, slopes
from panels import ALL, NAMES, WITHOUT_PAIRS, Floats, Frame, Panel, panel, primary

SIZES = (10, 20, 40, 80, 160, 320, 640, 1200)
EXTRINSIC = ("bbq", "plumb-choices", "bold", "plumb-prompts")
CONTROL = "more-text"
UNTREATED = ("dose", "none")
FEWEST_SEEDS = 3
"""Of debiased models for an interval; with fewer, only the seeds are listed."""


def _read(whole: Panel) -> Panel:
    """The primary metrics, and the taught pairs by the usual scorer."""
    usual = whole.metrics["benchmark"].isin([name for name in TAUGHT if name != "taught-names"])
    usual &= whole.metrics["scorer"].isin(["pll", "causal"]) & (whole.metrics["measure"] == "mean_preference")
    return whole.only(primary(whole) | usual.to_numpy())


def curves(of: Sequence[Panel], readings: Frame, doses: Frame) -> Frame:
    """One row for each metric and dose of the designs that have half doses, by the seeds that have all five."""
    rows = []
    for whole in of:
        every = panel(readings, whole.corpus, whole.base, whole.domain, ALL)
        if len(every.metrics) and len(every.seeds) > 1:
            rows += list(_curve_rows(_read(every), _log_odds(doses, every)))
    return pd.DataFrame(rows)


def _log_odds(doses: Frame, whole: Panel) -> np.ndarray[Any, Any]:
    own = doses[(doses["folder"] == whole.corpus) & (doses["domain"] == whole.domain)]
    own = own[own["dosed"].isin(["neutral", whole.domain])]
    return own.groupby("dose")["log_odds"].mean().reindex(whole.doses).to_numpy(dtype=float)


def _curve_rows(own: Panel, log_odds: np.ndarray[Any, Any]) -> Iterator[dict[str, Any]]:
    for number, metric in enumerate(own.metrics.to_dict("records")):
        values = own.standardised[number]
        values = values[:, np.isfinite(values).all(0)]
        found = curve(values, own.doses, log_odds)
        noise = np.std((values - values[own.doses == 0])[own.doses != 0], axis=1, ddof=1)
        for at, dose in enumerate(own.doses):
            yield {
                "base": own.base, "corpus": own.corpus, "domain": own.domain, **{name: metric[name] for name in NAMES},
                "seeds": values.shape[1], "dose": dose, "change": found.fitted[at], "low": found.low[at],
                "high": found.high[at], "noise": float(np.sqrt((noise**2).mean())), **found.fit, "smallest": found.smallest,
                "smallest_low": found.smallest_low, "smallest_high": found.smallest_high, "line": found.line,
                "line_low": found.line_low, "line_high": found.line_high,
            }  # fmt: skip


def powers(items: Frame) -> Frame:
    """Power of the uncorrected test by the number of items, for the primary metrics with items."""
    whole = items[items["dose"].isin([-1.0, 0.0, 1.0])]
    rows = []
    for key, own in whole.groupby(["corpus", "base", "domain", "benchmark", "scorer"], sort=True):
        wide = own.pivot(index="item", columns=["dose", "seed"], values="preference").dropna()
        seeds = sorted({seed for _, seed in wide.columns})
        wide = wide.reindex(columns=pd.MultiIndex.from_product([[-1.0, 0.0, 1.0], seeds])).dropna(axis=1, how="all")
        if wide.shape[1] == 3 * len(seeds) and len(seeds) > 1:
            cube = wide.to_numpy(dtype=float).reshape(len(wide), 3, len(seeds))
            found = power_by_items(cube, np.array([-1.0, 0.0, 1.0]), list(SIZES))
            names = dict(zip(["corpus", "base", "domain", "benchmark", "scorer"], key, strict=True))
            rows += [{**names, "items": size, "of": len(wide), "power": power} for size, power in found.items()]
    return pd.DataFrame(rows)


def seed_agreement(of: Sequence[Panel]) -> Frame:
    """ICC of readings over doses for each metric; and of slopes over metrics, for each base model."""
    rows, by_base = [], {}
    for whole in of:
        own = _read(whole)
        fit = slopes(own.standardised, own.doses)
        of_items = (~own.metrics["benchmark"].isin([*WITHOUT_PAIRS, *TAUGHT])).to_numpy()
        by_base.setdefault((whole.corpus, whole.base), []).append(fit.of_seeds[of_items])
        for number, metric in enumerate(own.metrics.to_dict("records")):
            one = intraclass(own.standardised[number][:, np.isfinite(own.standardised[number]).all(0)])
            names = {name: metric[name] for name in NAMES}
            rows.append(
                {
                    "corpus": own.corpus,
                    "base": own.base,
                    "domain": own.domain,
                    **names,
                    "of": "readings over doses",
                    **vars(one),
                }
            )
    for (corpus, base), slopes_of in by_base.items():
        one = intraclass(np.concatenate(slopes_of))
        rows.append({"corpus": corpus, "base": base, "domain": "all", "of": "slopes over metrics", **vars(one)})
    return pd.DataFrame(rows)


def relations(of: Sequence[Panel]) -> Frame:
    """Correlations over models of likelihood metrics with answers and generations, seed means removed."""
    rows = []
    for whole in of:
        own = _read(whole)
        names = own.metrics["benchmark"]
        outer = [number for number in range(len(names)) if names[number] in EXTRINSIC]
        for x in (number for number in range(len(names)) if number not in outer):
            rows += [_relation(own, x, y) for y in outer]
    return pd.DataFrame([row for row in rows if row])


def _relation(own: Panel, x: int, y: int) -> dict[str, Any]:
    both = np.isfinite(own.values[[x, y]]).all((0, 1))
    seeds = int(both.sum())
    if seeds < 2:
        return {}
    found = within_seed_correlation(own.values[x][:, both], own.values[y][:, both])
    low, high = correlation_interval(found.value, len(own.doses), seeds)
    return {
        "corpus": own.corpus, "base": own.base, "domain": own.domain, "intrinsic": own.metrics["benchmark"][x],
        "extrinsic": own.metrics["benchmark"][y], "models": found.n, "seeds": seeds, "r": found.value, "low": found.low,
        "high": found.high, "fisher_low": low, "fisher_high": high, "smallest": smallest_correlation(len(own.doses), seeds),
        "verdict": related(min(low, found.low), max(high, found.high)),
    }  # fmt: skip


def treatments(readings: Frame) -> Frame:
    """What methods leave of the gender dose, and the difference from the control; empty without debiased models."""
    return pd.DataFrame(
        [names | row for names, _, untreated, own in _debiased(readings) for row in _treated(untreated, own)]
    )


def treated_seeds(readings: Frame) -> Frame:
    """What methods leave of the gender dose in each seed, as a share of the untreated slope of that seed."""
    rows = []
    for names, seeds, untreated, own in _debiased(readings):
        for method, values in own.items():
            for seed, before, after in zip(seeds, untreated, values, strict=True):
                if np.isfinite(before) and np.isfinite(after):
                    found = {"method": method, "seed": seed, "before": before, "after": after, "left": after / before}
                    rows.append(names | found)
    return pd.DataFrame(rows)


def _debiased(readings: Frame) -> Iterator[tuple[dict[str, Any], tuple[int, ...], Floats, dict[str, Floats]]]:
    """Yield names of corpus, base model and metric, the seeds, their untreated slopes, and those after each method."""
    readings = of_last_treatment(readings)
    methods = [name for name in readings["method"].unique() if name not in UNTREATED]
    visits = readings.loc[readings["method"].isin(methods), ["corpus", "base", "visit"]].drop_duplicates()
    for corpus, base, visit in visits.itertuples(index=False):
        readings_of = readings[readings["visit"] == visit]
        before = _read(panel(readings_of, corpus, base, "gender"))
        after = {name: panel(readings_of, corpus, base, "gender", method=name) for name in sorted(methods)}
        for number, metric in enumerate(before.metrics.to_dict("records")):
            names = {"corpus": corpus, "base": base, **{key: metric[key] for key in NAMES}}
            untreated = seed_slopes(before.standardised[[number]], before.doses)[0]
            yield (
                names,
                before.seeds,
                untreated,
                {name: _matching(one, metric, before, number) for name, one in after.items()},
            )


def of_last_treatment(readings: Frame) -> Frame:
    """Leave out debiased models of a text and base model that a later visit debiased again."""
    is_treated = ~readings["method"].isin(UNTREATED)
    last = readings["visit"].where(is_treated).groupby([readings["corpus"], readings["base"]]).transform("max")
    return readings[~is_treated | (readings["visit"] == last)]


def _matching(one: Panel, metric: dict[str, Any], before: Panel, number: int) -> Floats:
    """Slopes of the treated models, seed by seed, in the units of the untreated ones; NaN where a seed is missing."""
    found = np.full(len(before.seeds), np.nan)
    if not len(one.metrics):
        return found
    at = np.flatnonzero((one.metrics[list(NAMES)] == pd.Series({name: metric[name] for name in NAMES})).all(axis=1))
    if len(at):
        of_seeds = seed_slopes(one.values[at], one.doses)[0]
        for seed, value in zip(one.seeds, of_seeds, strict=True):
            if seed in before.seeds:
                place = before.seeds.index(seed)
                found[place] = value / before.units[number, place]
    return found


def _treated(untreated: Floats, after: dict[str, Floats]) -> Iterator[dict[str, Any]]:
    control = after.get(CONTROL)
    for name, values in after.items():
        there = np.isfinite(values) & np.isfinite(untreated)
        if there.sum() < FEWEST_SEEDS:
            continue
        value, low, high = left(untreated[there], values[there])
        row = {"method": name, "seeds": int(there.sum()), "left": value, "left_low": low, "left_high": high}
        both = there & np.isfinite(control) if control is not None else np.zeros_like(there)
        if name != CONTROL and both.sum() >= FEWEST_SEEDS:
            row |= vars(difference_of_left(untreated[both], values[both], control[both]))
        yield row


def costs(of_seeds: Frame) -> Frame:
    """What methods cost: perplexity of held-out lines in per cent of the untreated model's, and points of token accuracy."""
    rows = []
    for (corpus, method, measure), some in of_seeds.groupby(["corpus", "method", "measure"]):
        value, low, high = mean_interval(some["change"].to_numpy(), 0.95)
        names = {"corpus": corpus, "method": method, "measure": measure, "models": some["models"].sum()}
        rows.append({**names, "before": some["before"].median(), "change": value, "low": low, "high": high})
    return pd.DataFrame(rows)


def costs_of_seeds(readings: Frame) -> Frame:
    """Perplexity and token accuracy of held-out lines by method and seed; means over the models of the seed's doses."""
    own = of_last_treatment(readings[readings["benchmark"] == "heldout"])
    key = ["visit", "corpus", "base", "domain_dosed", "dose", "seed", "measure"]
    before = own[own["method"] == "dose"].set_index(key)["value"].rename("before")
    rows = []
    treated = own[~own["method"].isin(UNTREATED)]
    for (corpus, method, seed, measure), some in treated.groupby(["corpus", "method", "seed", "measure"]):
        pair = some.set_index(key)[["value"]].join(before, how="inner")
        is_ratio = measure == "perplexity"
        change = 100 * (pair["value"] / pair["before"] - 1) if is_ratio else pair["value"] - pair["before"]
        names = {"corpus": corpus, "method": method, "seed": seed, "measure": measure, "models": len(pair)}
        means = {"before": pair["before"].mean(), "after": pair["value"].mean(), "change": change.mean()}
        rows.append(names | means)
    return pd.DataFrame(rows)
