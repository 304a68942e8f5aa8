"""Cards of the explorer for labels: each text with its probability, its counterfactuals, and the words that drive it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.benchmarks.kit.labelled import TEXT
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.pack import Pack, packed_items

if TYPE_CHECKING:
    import pandas as pd


def cards(answers: Answers, models: Sequence[str], pack: Pack) -> Iterator[dict[str, Any]]:
    """Data for the explorer, one benchmark at a time; models are given by their number on the page."""
    for benchmark in answers.benchmarks:
        part = answers.where(benchmark=benchmark)
        items = part.items[part.items["item"].isin(part.table["item"].unique())].reset_index(drop=True)
        yield {
            "name": benchmark,
            "items": packed_items(items, pack, (TEXT,), {}, {}),
            "toxic": pack.array((items["direction"] == "toxic").astype(int), "uint8"),
            "labels": [
                _of_model(part.where(model=model), items, pack) | {"model": n}
                for n, model in enumerate(models)
                if model in part.models
            ],
        }


def _of_model(answers: Answers, items: pd.DataFrame, pack: Pack) -> dict[str, Any]:
    """Mean, lowest and highest probability over seeds; the words of explained texts; labels that change when swapped."""
    by_item = answers.table.groupby("item")["probability"].agg(["mean", "min", "max"]).reindex(items["item"])
    reasons = answers.table[answers.table["reason"].notna()].drop_duplicates("item").set_index("item")["reason"]
    return {
        **{name: pack.array(by_item[name].to_numpy(), "float32") for name in ("mean", "min", "max")},
        "seeds": int(answers.table["seed"].nunique()),
        "words": _words(_table(answers, "drivers"), items),
        "flips": _flips(answers, items, by_item["mean"]),
        "reasons": {n: str(reasons[item]) for n, item in enumerate(items["item"]) if item in reasons},
    }


def _table(answers: Answers, name: str) -> pd.DataFrame:
    found = answers.get(name)
    return answers.table.head(0) if found is None else found


def _words(drivers: pd.DataFrame, items: pd.DataFrame) -> dict[int, list[list[Any]]]:
    place = {item: n for n, item in enumerate(items["item"])}
    words: dict[int, list[list[Any]]] = {}
    for item, part in drivers.groupby("item", sort=False) if len(drivers) else ():
        if item in place:
            pairs = zip(part["word"], part["drop"], strict=True)
            words[place[item]] = [[str(word), round(float(drop), 4) if np.isfinite(drop) else None] for word, drop in pairs]
    return words


def _flips(answers: Answers, items: pd.DataFrame, mean: pd.Series) -> dict[int, list[list[Any]]]:
    """Per text the groups that would change its label, with the probability then."""
    swaps = _table(answers, "swaps")
    place = {item: n for n, item in enumerate(items["item"])}
    flips: dict[int, list[list[Any]]] = {}
    if not len(swaps):
        return flips
    for (item, other), probability in swaps.groupby(["item", "other"], sort=False)["probability"].mean().items():
        if item in place and np.isfinite(probability) and (probability >= 0.5) != (mean[item] >= 0.5):
            flips.setdefault(place[item], []).append([str(other), round(float(probability), 4)])
    return flips
