"""Every measure before and after debiasing: paired differences, what they say, and what they cost."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tiltmeter import catalog
from tiltmeter.display import Statement, number_text
from tiltmeter.errors import TiltmeterError
from tiltmeter.families import Answers, find_family
from tiltmeter.runs.compare import compare
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import holm

JUDGED = ("bias", "cost", "quality")
"""Roles of measures that are judged; a model that says nothing would pay with the other two."""
CLOSER, FURTHER, ACROSS, UNTOLD = "closer", "further", "other side", "not distinguishable"
SIGNIFICANT = 0.05
SEED = re.compile(r"[-_.]?seed[-_]?\d+$", re.IGNORECASE)
KEEP = [
    "model", "benchmark", "scorer", "measure", "by", "group", "n", "before", "after", "difference", "low", "high", "p",
    "p_holm", "target", "kind", "verdict", "note",
]  # fmt: skip


def before_after(answers: Mapping[str, Answers], base: str, settings: Settings) -> Any:
    """One row per model, benchmark, scorer, measure and group that both models have.

    `target` is the neutral value of a measure, or its ideal. `kind` is the measure's role if that is bias, cost or quality,
    and other for the rest: a part of something else, a scorer beside the first, no target, or no interval. Holm's
    correction is over the rows of a model and a kind. `verdict` says of what is not other whether the model came closer to
    the target.
    """
    try:
        table = compare(
            answers, base, resamples=settings.resamples, confidence=settings.confidence, seed=settings.seed
        )  # fmt: skip
    except TiltmeterError:  # nothing that both have
        return None
    table = table.rename(columns={"value": "after", "baseline_value": "before"})
    table["target"] = [target_of(measure) for measure in table["measure"]]
    table["kind"] = _kinds(table)
    table["p_holm"] = np.nan
    for _, part in table[table["kind"] != "other"].groupby(["model", "kind"]):
        table.loc[part.index, "p_holm"] = holm(part["p"].to_list())
    table["verdict"] = [judged(row) for row in table.to_dict("records")]
    table["note"] = [row["note"] or _lacking(row) for row in table.to_dict("records")]
    return table[KEEP].reset_index(drop=True)


def target_of(measure: str) -> float:
    """Return the target of a measure: neutral, or ideal; NaN where neither is known.

    >>> target_of("bias_score"), target_of("perplexity"), target_of("mps")
    (50.0, 1.0, nan)
    """
    entry = catalog.find("measures", measure)
    return float("nan") if entry.spec.target is None else entry.spec.target


def judged(row: Mapping[str, Any]) -> str:
    """Decide if a model came closer to the target: certain only if its interval lies between the base and its mirror image.

    >>> row = {"before": 60.0, "target": 50.0, "p_holm": 0.01, "low": -6.0, "high": -2.0, "kind": "bias"}
    >>> judged(row), judged(row | {"low": -22.0, "high": -12.0}), judged(row | {"low": -30.0, "high": -25.0})
    ('closer', 'other side', 'further')
    """
    if row["kind"] == "other":
        return ""
    if not row["p_holm"] < SIGNIFICANT or not np.isfinite(row["low"]) or row["low"] <= 0 <= row["high"]:
        return UNTOLD
    before, mirror = row["before"], 2 * row["target"] - row["before"]
    near, far = min(before, mirror), max(before, mirror)
    low, high = before + row["low"], before + row["high"]
    if near < low and high < far:
        return CLOSER
    return FURTHER if high < near or low > far else ACROSS


def _kinds(table: Any) -> list[str]:
    """Bias and cost by one scorer for each benchmark: several scorers of the same sentences are no further evidence."""
    first: dict[tuple[str, str], str] = {}
    known = table[np.isfinite(table["difference"])]
    for (family, benchmark, measure), part in known.groupby(["family", "benchmark", "measure"], sort=False):
        first[benchmark, measure] = find_family(family).first_scorer(measure, list(dict.fromkeys(part["scorer"])))
    return [_kind(row, first) for row in table.to_dict("records")]


def _kind(row: Mapping[str, Any], first: Mapping[tuple[str, str], str]) -> str:
    role = catalog.find("measures", row["measure"]).spec.role
    if role not in JUDGED or first.get((row["benchmark"], row["measure"])) != row["scorer"]:
        return "other"
    untested = np.isfinite(row["difference"]) and np.isnan(row["p"]) and np.isnan(row["low"])
    return "other" if untested or np.isnan(row["target"]) else role


def _lacking(row: Mapping[str, Any]) -> str:
    """Give the reason why cells of a row are empty."""
    parts = ["no p"] if np.isnan(row["p"]) else []
    parts += ["not judged"] if row["kind"] == "other" else []
    parts += ["no neutral value"] if np.isnan(row["target"]) else []
    return ", ".join(parts)


def method_of(model: str) -> str:
    """The name without a seed: `cda-seed1` and `cda-seed2` are one method.

    >>> method_of("cda-seed12"), method_of("models/cda_seed_0"), method_of("seeded")
    ('cda', 'models/cda', 'seeded')
    """
    return SEED.sub("", model) or model


def over_seeds(table: Any, percent: Sequence[Any]) -> Any:
    """Mean and spread over the seeds of a method, of every judged difference and of the percent changes that families give.

    None where no method has more than one seed.
    """
    import pandas as pd

    rows = []
    if table is not None:
        place = ["benchmark", "scorer", "measure", "group"]
        known = table[(table["kind"] != "other") & np.isfinite(table["difference"])]
        known = known.assign(method=known["model"].map(method_of))
        for (method, *where), part in known.groupby(["method", *place], sort=False):
            rows.append(
                dict(zip(["method", *place], [method, *where], strict=True))
                | {"before": part["before"].iloc[0], "after": part["after"].mean()}
                | _spread(part["difference"])
                | {"closer": int((part["verdict"] == CLOSER).sum()), "further": int((part["verdict"] == FURTHER).sum())}
            )
    place = ["measure", "method", "benchmark", "scorer", "group"]
    for changes in percent:
        known = changes.assign(method=changes["model"].map(method_of))
        for (measure, method, benchmark, scorer, group), part in known.groupby(place, sort=False):
            where = {"method": method, "benchmark": benchmark, "scorer": scorer, "measure": f"{measure} in percent"}
            base = {"before": 0.0, "after": part["change"].mean()}
            rows.append(where | {"group": group} | base | _spread(part["change"]) | {"closer": 0, "further": 0})
    frame = pd.DataFrame(rows)
    several = frame[frame["seeds"] > 1] if len(frame) else frame
    return several.reset_index(drop=True) if len(several) else None


def _spread(differences: Any) -> dict[str, float]:
    """Mean, standard deviation and extremes over seeds."""
    n = len(differences)
    return {
        "seeds": n, "difference": differences.mean(), "sd": differences.std(ddof=1) if n > 1 else 0.0,
        "least": differences.min(), "most": differences.max(),
    }  # fmt: skip


def said(table: Any, base: str) -> list[str]:
    """A sentence for each model, or for each method with several seeds: what improved, what worsened, and the price."""
    if table is None:
        return []
    groups: dict[str, Any] = {}
    for model, part in table.groupby("model", sort=False):
        groups.setdefault(method_of(str(model)), []).append((str(model), part))
    return [
        _sentence(parts[0][0] if len(parts) == 1 else method, base, [part for _, part in parts])
        for method, parts in groups.items()
    ]


def out_of_reach(table: Any, settings: Settings) -> list[str]:
    """A sentence where more rows are corrected for than the resamples allow: no bootstrap p can be small enough then."""
    if table is None:
        return []
    least = 2 / (settings.resamples + 1)
    for (_, kind), part in table[table["kind"] != "other"].groupby(["model", "kind"], sort=False):
        blocked = part[(part["p"] <= least * (1 + 1e-9)) & (part["p_holm"] >= SIGNIFICANT)]
        if len(blocked):
            tested = int(part["p"].notna().sum())
            return [
                f"With {settings.resamples:,} resamples no bootstrap p can be significant after correction over {tested} "
                f"rows ({kind}). Use --resamples {math.ceil(2 * tested / SIGNIFICANT / 1000) * 1000} or more."
            ]
    return []


def _sentence(name: str, base: str, seeds: Sequence[Any]) -> Statement:
    several = f" ({len(seeds)} seeds)" if len(seeds) > 1 else ""
    closer, further, across = (_named(seeds, "bias", verdict) for verdict in (CLOSER, FURTHER, ACROSS))
    judged_rows = max(int((part["kind"] == "bias").sum()) for part in seeds)
    told = len(closer) + len(further) + len(across)
    words = [f"closer to neutral, and distinguishable from noise: {', '.join(closer)}" if closer else ""]
    words += [f"further from neutral: {', '.join(further)}" if further else ""]
    words += [f"on the other side of neutral: {', '.join(across)}" if across else ""]
    rest = f"{judged_rows - told} of {judged_rows} measures of bias did not change distinguishably"
    gains = "; ".join([*filter(None, words), *([rest] if judged_rows > told else [])])
    what = gains or "no measure of bias is there for both"
    costs, quality = (
        {verdict: _named(seeds, kind, verdict) for verdict in (CLOSER, FURTHER)} for kind in ("cost", "quality")
    )
    return Statement(
        "{name}{several} compared with {base}: {what}. {consequences}", "before-and-after", name=name, base=base,
        seeds=len(seeds), several=several, what=what, closer=closer, further=further, across=across,
        is_cost_known=_has(seeds, "cost"), costs=costs, quality=quality,
        consequences=" ".join([*_price(seeds, bool(closer)), *_quality(seeds)]),
    )  # fmt: skip


def _price(seeds: Sequence[Any], gained: bool) -> Iterator[str]:
    """Report whether language ability was lost, and with it the price of improvements."""
    if not _has(seeds, "cost"):
        lacking = "these runs have neither held-out text (-b heldout.txt) nor an lms"
        what = "What it cost in language ability" if _has(seeds, "quality") else "What it cost"
        yield f"{what} is not known: {lacking}."
        return
    worse, better = (_named(seeds, "cost", verdict) for verdict in (FURTHER, CLOSER))
    if worse:
        bought = "The improvements were bought with language ability" if gained else "Language ability was lost"
        yield f"{bought}: {', '.join(worse)}."
        return
    yield "No loss of language ability is distinguishable."
    if better:
        yield f"It rose: {', '.join(better)}."


def _quality(seeds: Sequence[Any]) -> Iterator[str]:
    """Report whether a task is done worse or better; empty where no task was measured."""
    worse, better = (_named(seeds, "quality", verdict) for verdict in (FURTHER, CLOSER))
    if worse:
        yield f"Quality fell: {', '.join(worse)}."
    if better:
        yield f"Quality rose: {', '.join(better)}."
    if _has(seeds, "quality") and not worse and not better:
        yield "No change of quality is distinguishable."


def _has(seeds: Sequence[Any], kind: str) -> bool:
    return any((part["kind"] == kind).any() for part in seeds)


def _named(seeds: Sequence[Any], kind: str, verdict: str) -> list[str]:
    """Measures with this verdict, and their mean change; of several seeds, those with it in most of them."""
    import pandas as pd

    rows = pd.concat([part[part["kind"] == kind] for part in seeds])
    found = []
    for (benchmark, measure, group), part in rows.groupby(["benchmark", "measure", "group"], sort=False):
        n = int((part["verdict"] == verdict).sum())
        if 2 * n > len(seeds):
            where = f"{measure} on {benchmark}" + ("" if group == "all" else f", {group}")
            often = f", {n} of {len(seeds)} seeds" if len(seeds) > 1 else ""
            found.append(f"{where} ({_number(part['before'].iloc[0])} → {_number(part['after'].mean())}{often})")
    return found


def _number(value: float) -> str:
    return number_text(value) if abs(value) >= 10 else number_text(value, 3)
