"""Cards of slots in the explorer: the predictions of the model, and the listed terms that rank highest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.pack import Pack, packed_items

if TYPE_CHECKING:
    import pandas as pd

TERMS_SHOWN = 12


def cards(answers: Answers, models: Sequence[str], pack: Pack) -> Iterator[dict[str, Any]]:
    """Data for the explorer, one benchmark at a time; models are given by their number on the page."""
    frame = answers.table
    for benchmark in answers.benchmarks:
        rows = frame[frame["benchmark"] == benchmark]
        items = answers.items
        items = items[(items["benchmark"] == benchmark) & items["item"].isin(rows["item"].unique())]
        groups, terms = list(rows["group"].unique()), list(rows["term"].dropna().unique())
        yield {
            "name": benchmark,
            "groups": groups,
            "terms": terms,
            "items": packed_items(items, pack, ("slot",), {}, {}),
            "fills": [
                _fills(rows[rows["model"] == model], items, (groups, terms), pack)
                | {"model": n, "top": _first_predictions(answers, model, items, groups)}
                for n, model in enumerate(models)
                if (rows["model"] == model).any()
            ],
        }


def _fills(rows: pd.DataFrame, items: pd.DataFrame, names: tuple[list[str], list[str]], pack: Pack) -> dict[str, Any]:
    """The terms that rank highest at each slot, or the reason why there are none."""
    groups, terms = ({name: n for n, name in enumerate(listed)} for listed in names)
    place = dict(zip(items["item"], range(len(items)), strict=True))
    ranked = rows[rows["rank"] > 0].sort_values(["rank", "probability"], ascending=[True, False], kind="stable")
    best = ranked.groupby("item", sort=False).head(TERMS_SHOWN)
    first = ranked.drop_duplicates(["item", "group"])  # the best of each group is always shown
    shown = ranked.loc[best.index.union(first.index)].sort_values(["rank", "probability"], ascending=[True, False])
    shown = shown.assign(_place=shown["item"].map(place)).sort_values("_place", kind="stable")
    lacking = rows[(rows["rank"] <= 0) & rows["reason"].notna()].drop_duplicates("item")
    unasked = {place[item]: str(why) for item, why in zip(lacking["item"], lacking["reason"], strict=True)}
    asked = set(shown["item"])
    return {
        "among": str(next(iter(rows["among"].dropna()), "vocabulary")),
        "top_k": int(rows["top_k"].iloc[0]),
        "count": pack.array(np.bincount(shown["_place"], minlength=len(items)), "uint16"),
        "group": pack.array(shown["group"].map(groups), "uint8"),
        "term": pack.array(shown["term"].map(terms), "int32"),
        "rank": pack.array(shown["rank"], "int32"),
        "probability": pack.array(shown["probability"], "float32"),
        "reasons": {n: why for n, why in unasked.items() if items["item"].iloc[n] not in asked},
    }


def _first_predictions(answers: Answers, model: str, items: pd.DataFrame, groups: list[str]) -> list[list[Any]]:
    """Per slot the likeliest tokens, best first: the token, the group that lists it (−1: none), its probability."""
    listed: dict[str, list[Any]] = {item: [] for item in items["item"]}
    known = answers.get("predictions")
    if known is None:
        return list(listed.values())
    predictions = known[(known["model"] == model) & known["benchmark"].isin(items["benchmark"])]
    columns = (predictions[name] for name in ("item", "token", "group", "probability"))
    for item, token, group, share in zip(*columns, strict=True):
        place = groups.index(group) if isinstance(group, str) and group in groups else -1
        if item in listed and np.isfinite(share):
            listed[item].append([str(token), place, round(float(share), 5)])
    return list(listed.values())
