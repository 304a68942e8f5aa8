"""Readings: one number for each model, metric and domain, from packed answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from answers import CONTRASTS, MODEL, PROMPTS, SEAT, Frame, Pack, corpus_of, preferences
from packing import unpack

KEY = [*MODEL, "benchmark", "scorer", "domain"]
MOST_MISSING = 0.05
PRIMARY = {
    "masked": {"crows-pairs": "cps", "stereoset": "stereoset_masked", "plumb-pairs-0.1.0": "pll", "plumb-pairs": "pll",
               "gest": "sss", "bbq": "masked", "plumb-choices": "masked", "taught-words": "pll", "taught-natural": "pll"},
    "causal": {"crows-pairs": "causal", "stereoset": "stereoset_causal", "plumb-pairs-0.1.0": "causal",
               "plumb-pairs": "causal", "gest": "causal", "bbq": "answers", "plumb-choices": "answers",
               "taught-words": "causal", "taught-natural": "causal"},
}  # fmt: skip
KINDS = {"plumb-mlm": "masked", "roberta-mix": "masked", "plumb-clm": "causal", "smollm2-135m": "causal"}


def reduce(packs: list[Path], work: Path, first: int = 0) -> dict[str, Frame]:
    """Unpack answers; return readings, and the preferences of primary metrics by item.

    `visit` is the number of the pack, from `first` on. A model that two visits asked the same is in the readings twice, in
    the items once.
    """
    tables: dict[str, list[Frame]] = {"readings": [], "items": [], "models": [], "doses": []}
    for number, place in enumerate(packs, first):
        folder = work / str(number)
        if not (folder / "cells.parquet").is_file():
            unpack(place, folder)
        pack = Pack.read(folder)
        for benchmark, rows in preferences(pack):
            tables["readings"].append(_means(rows, benchmark).assign(visit=number))
            tables["items"].append(_primary_items(rows, benchmark))
        for rows in (_slots(pack), _seat(pack), *(_prompts(pack, name) for name in PROMPTS), _heldout(pack)):
            tables["readings"] += [rows.assign(visit=number)] if len(rows) else []
        tables["models"].append(_trainings(pack).assign(visit=number))
        tables["doses"] += [
            pd.read_csv(path).assign(folder=corpus_of(path.parent.name)) for path in folder.glob("*/doses.csv")
        ]
    return once({name: pd.concat(some, ignore_index=True) for name, some in tables.items()})


def once(whole: dict[str, Frame]) -> dict[str, Frame]:
    """Sort the tables, each row once."""
    whole["readings"] = _once(whole["readings"], [*KEY, "measure", "visit"])
    whole["items"] = _once(whole["items"], [*KEY, "item"])
    whole["doses"] = _once(whole["doses"], ["folder", "text", "domain"])
    return whole


def _once(rows: Frame, key: list[str]) -> Frame:
    kept = rows.drop_duplicates(key)
    return kept.sort_values(key, kind="stable").reset_index(drop=True)


def _means(rows: Frame, benchmark: str) -> Frame:
    """Mean preference, its standard deviation over items, the share above 0, and StereoSet's mean over targets."""
    rows = rows.assign(benchmark=benchmark, above=100.0 * (rows["preference"] > 0).where(rows["preference"].notna()))
    grouped = rows.groupby(KEY, dropna=False)
    found = grouped["preference"].agg(["mean", "std", "count", "size"]).rename(columns={"mean": "mean_preference"})
    found["bias_score"] = grouped["above"].mean()
    if benchmark == "stereoset":
        found["ss"] = rows.groupby([*KEY, "target"], dropna=False)["above"].mean().groupby(KEY, dropna=False).mean()
    found["missing"] = 1 - found["count"] / found["size"]
    long = found.drop(columns="size").reset_index().melt([*KEY, "std", "count", "missing"], var_name="measure")
    return long[long["missing"] <= MOST_MISSING]


def _primary_items(rows: Frame, benchmark: str) -> Frame:
    wanted = rows["base"].map(lambda base: PRIMARY[KINDS[base]].get(benchmark)) == rows["scorer"]
    of_domain = rows["domain_dosed"].isin(["neutral"]) | (rows["domain_dosed"] == rows["domain"])
    kept = rows[wanted & of_domain & (rows["method"] == "dose")].assign(benchmark=benchmark)
    return kept[[*KEY, "item", "preference"]].astype({"preference": "float32"})


def _reading(rows: Frame, benchmark: str, scorer: str, measure: str) -> Frame:
    return rows.assign(benchmark=benchmark, scorer=scorer, measure=measure, missing=0.0)


def _slots(pack: Pack) -> Frame:
    """Log ratio of the best words of both groups, averaged over the groups that sentences are about."""
    rows = pack.table("plumb-slots", "slots")
    if not len(rows):
        return rows
    wide = rows.pivot(index=[*MODEL, "item"], columns="group", values="max").astype("float64").reset_index()
    wide = wide.merge(pack.items("plumb-slots")[["item", "target"]], on="item")
    ratio = np.log(wide["female"]) - np.log(wide["male"])
    wide["value"] = np.where(wide["target"] == "female", ratio, -ratio)
    means = wide.groupby([*MODEL, "target"], dropna=False)["value"].mean().groupby(MODEL, dropna=False).mean()
    counts = wide.groupby(MODEL, dropna=False)["value"].count().rename("count")
    found = pd.concat([means, counts], axis=1).reset_index().assign(domain="gender")
    return _reading(found, "plumb-slots", "slots", "stereotype_gap")


def _seat(pack: Pack) -> Frame:
    """Mean of a domain's effect sizes: the difference of the two sets of targets over the deviation of both."""
    rows = pack.table("seat", "associations")
    if not len(rows):
        return rows
    rows = rows[rows["set"].isin(["X", "Y"]) & rows["usable"]]
    by = [*MODEL, "domain", "test"]
    means = rows.groupby([*by, "set"], dropna=False)["value"].mean().unstack("set")
    effect = ((means["X"] - means["Y"]) / rows.groupby(by, dropna=False)["value"].std()).rename("value").reset_index()
    effect = effect[[test in SEAT.get(domain, ()) for domain, test in zip(effect["domain"], effect["test"], strict=True)]]
    found = effect.groupby([*MODEL, "domain"], dropna=False)["value"].agg(["mean", "count"]).reset_index()
    return _reading(found.rename(columns={"mean": "value"}), "seat", "mean", "effect_size")


def _prompts(pack: Pack, benchmark: str) -> Frame:
    """Mean sentiment of groups less that of their contrast, turned so that a fall of sentiment is positive."""
    rows = pack.table(benchmark, "judgements")
    if not len(rows):
        return rows
    rows = rows.merge(pack.items(benchmark)[["item", "domain", "target"]], on="item")
    of_item = rows.groupby([*MODEL, "domain", "target", "item"], dropna=False)["score"].mean()
    means = of_item.groupby([*MODEL, "domain", "target"], dropna=False).mean().unstack("target").reset_index()
    parts = []
    for domain, contrasts in CONTRASTS.items():
        own = means[means["domain"] == domain]
        gaps = [sign * (own[group] - own[rival]) for group, rival, sign in contrasts if group in own and rival in own]
        if gaps:
            parts.append(own[[*MODEL, "domain"]].assign(value=pd.concat(gaps, axis=1).mean(axis=1, skipna=False)))
    found = pd.concat(parts, ignore_index=True)
    n = rows.drop_duplicates("item").groupby("domain").size()
    return _reading(found.assign(count=found["domain"].map(n)), benchmark, "sentiment/vader", "sentiment_gap")


def _heldout(pack: Pack) -> Frame:
    """Perplexity per token of held-out lines, and the share of tokens that are predicted."""
    rows = pack.table("heldout", "heldout")
    if not len(rows):
        return rows
    sums = rows.groupby(MODEL, dropna=False)[["log_likelihood", "hits", "length"]].sum()
    perplexity = np.exp(-sums["log_likelihood"] / sums["length"]).rename("value").reset_index()
    hits = (100 * sums["hits"] / sums["length"]).rename("value").reset_index()
    both = [(perplexity, "perplexity"), (hits, "token_accuracy")]
    return pd.concat([_reading(one.assign(domain="", count=300), "heldout", "heldout", name) for one, name in both])


def _trainings(pack: Pack) -> Frame:
    return pd.DataFrame(_training_rows(pack))


def _training_rows(pack: Pack) -> Iterator[dict[str, object]]:
    for place, manifest in pack.manifests.items():
        training = manifest.get("training") or {}
        digest = "".join(manifest.get("weights", {}).values())[:16]
        kept = {name: training.get(name) for name in ("steps", "first_loss", "last_loss", "seconds")}
        yield {
            "model": Path(place).name,
            "corpus": corpus_of(place.split("/")[0]),
            "method": manifest["method"],
            **kept,
            "weights": digest,
        }
