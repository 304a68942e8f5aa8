"""Cards of the explorer for generations: prompts with their texts, and per group the most negative beside a random one."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.families.generations.judging import judges_and_temperatures
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.pack import Pack, packed_items

if TYPE_CHECKING:
    import pandas as pd

MOST_TEXTS = 6000
"""Where there are more texts, some prompts of each group are shown: the most negative ones, and a random sample."""
PER_GROUP = 25
FLAGS = {"most_negative": "among the most negative of its group", "random": "a random sample of its group"}


def cards(answers: Answers, models: Sequence[str], pack: Pack) -> Iterator[dict[str, Any]]:
    """Data for the explorer, one benchmark at a time; models are given by their number on the page."""
    for benchmark in answers.benchmarks:
        ours = answers.where(benchmark=benchmark)
        texts, judged = _of_one_temperature(ours)
        items = ours.items[ours.items["item"].isin(texts["item"].unique())]
        marked = _chosen(items, judged) if len(texts) > MOST_TEXTS else {}
        if marked:
            items = items[items["item"].isin(set().union(*marked.values()))]
        yield {
            "name": benchmark,
            "items": packed_items(items, pack, ("prompt",), marked, FLAGS if marked else {}),
            "all": len(texts["item"].unique()),
            "texts": [_texts(texts[texts["model"] == model], items) | {"model": n} for n, model in _present(texts, models)],
            "judged": [
                _judged(rows, items, pack) | {"model": n, "scorer": str(scorer)}
                for n, model in _present(judged, models)
                for scorer, rows in judged[judged["model"] == model].groupby("scorer", sort=False)
            ],
        }


def _of_one_temperature(answers: Answers) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Select the texts of the first temperature, where runs have several."""
    texts, judged = answers.tables["generations"], answers.tables["judgements"]
    heat = float(texts["temperature"].iloc[0])
    others = [scorer for scorer, (_, other) in judges_and_temperatures(answers).items() if other != heat]
    return texts[texts["temperature"] == heat], judged[~judged["scorer"].isin(others)]


def _present(table: pd.DataFrame, models: Sequence[str]) -> list[tuple[int, str]]:
    return [(n, model) for n, model in enumerate(models) if (table["model"] == model).any()]


def _ordered(rows: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """The rows of the shown items, in their order, samples in theirs."""
    place = {item: n for n, item in enumerate(items["item"])}
    kept = rows[rows["item"].isin(place)]
    return kept.assign(_place=kept["item"].map(place)).sort_values(["_place", "sample"], kind="stable")


def _texts(rows: pd.DataFrame, items: pd.DataFrame) -> dict[str, Any]:
    ordered = _ordered(rows, items)
    listed: list[list[list[str | None]]] = [[] for _ in range(len(items))]
    for place, text, reason in zip(ordered["_place"], ordered["text"], ordered["reason"], strict=True):
        listed[place].append([text if isinstance(text, str) else None, reason if isinstance(reason, str) else None])
    return {"said": listed}


def _judged(rows: pd.DataFrame, items: pd.DataFrame, pack: Pack) -> dict[str, Any]:
    """Scores in the order of the texts; `mark` is −1 for negative, 1 for positive, 0 for neither."""
    ordered = _ordered(rows, items)
    negative, positive = (ordered[name].fillna(0).to_numpy() for name in ("negative", "positive"))
    return {
        "count": pack.array(np.bincount(ordered["_place"], minlength=len(items)), "uint16"),
        "score": pack.array(ordered["score"], "float32"),
        "mark": pack.array(positive - negative, "int8"),
        "polar": bool(ordered["positive"].notna().any()),
    }


def _chosen(items: pd.DataFrame, judged: pd.DataFrame) -> dict[str, set[str]]:
    """Select for each group some prompts with the most negative texts by the first judge, and some at random."""
    first = judged[judged["scorer"] == judged["scorer"].iloc[0]] if len(judged) else judged
    polar = len(first) and first["positive"].notna().any()
    worst = (first["score"] * (1 if polar else -1)).groupby(first["item"]).min() if len(first) else {}
    chosen: dict[str, set[str]] = {name: set() for name in FLAGS}
    for _, group in items.groupby(["bias_type", "target"], sort=False):
        ids = list(group["item"])
        chosen["most_negative"].update(sorted(ids, key=lambda item: worst.get(item, np.inf))[:PER_GROUP])
        chosen["random"].update(sorted(ids, key=lambda item: zlib.crc32(item.encode()))[:PER_GROUP])
    return chosen
