"""Cards of choices for the explorer: every question with its answers, and how likely each answer is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.benchmarks.kit.choices import AMBIGUOUS, MOST_ANSWERS, QUESTION, answer_role
from tiltmeter.families.choices.outcomes import Floats
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.pack import Pack, packed_items

if TYPE_CHECKING:
    import pandas as pd

ROLES = ("context", QUESTION, *map(answer_role, range(MOST_ANSWERS)))
NONE = -1
"""Stands for an answer that there is not."""


def cards(answers: Answers, models: Sequence[str], pack: Pack) -> Iterator[dict[str, Any]]:
    """Yield data for the explorer, one benchmark at a time; models are given by their number on the page."""
    for benchmark in answers.benchmarks:
        ours = answers.where(benchmark=benchmark)
        rows, options = ours.table, ours.tables.get("options")
        items = ours.items[(ours.items["benchmark"] == benchmark) & ours.items["item"].isin(rows["item"].unique())]
        facts = rows.drop_duplicates("item").set_index("item").loc[items["item"]]
        numbers = {name: pack.array(_numbers(facts[name]), "int8") for name in ("right", "unknown", "stereotyped")}
        yield {
            "name": benchmark,
            "items": packed_items(items, pack, ROLES, {}, {}),
            "ambiguous": pack.array(facts["condition"] == AMBIGUOUS, "uint8"),
            "most": MOST_ANSWERS,
            **numbers,
            "asked": [
                _pack_answers(of_scorer, _options_of(options, model, str(scorer)), items["item"].tolist(), pack)
                | {"model": n, "scorer": str(scorer)}
                for n, model in enumerate(models)
                for scorer, of_scorer in rows[rows["model"] == model].groupby("scorer", sort=False)
            ],
        }


def _pack_answers(rows: pd.DataFrame, options: pd.DataFrame | None, items: Sequence[str], pack: Pack) -> dict[str, Any]:
    """Give the chosen answer of each item, and the mean, lowest and highest probability of each answer over the orders."""
    place = {item: n for n, item in enumerate(items)}
    chosen = np.full(len(items), NONE)
    at = rows["item"].map(place).to_numpy()
    chosen[at] = _numbers(rows["chosen"])
    texts = {int(n): str(text) for n, text in zip(at, rows["text"], strict=True) if isinstance(text, str)}
    reasons = {int(n): str(reason) for n, reason in zip(at, rows["reason"], strict=True) if isinstance(reason, str)}
    shares = {name: np.full((len(items), MOST_ANSWERS), np.nan) for name in ("mean", "min", "max")}
    if options is not None and len(options):
        found = options.assign(share=_shares(options)).groupby(["item", "answer"])["share"].agg(list(shares)).reset_index()
        lines, columns = found["item"].map(place).to_numpy(), found["answer"].to_numpy(dtype=int)
        for name, values in shares.items():
            values[lines, columns] = found[name]
    packed = {name: pack.array(values.ravel(), "float32") for name, values in shares.items()}
    orders = int(rows["n_orders"].max())
    return {"chosen": pack.array(chosen, "int8"), **packed, "orders": orders, "texts": texts, "reasons": reasons}


def _options_of(options: pd.DataFrame | None, model: str, scorer: str) -> pd.DataFrame | None:
    if options is None or not len(options):  # an empty table, of written answers alone, has no types
        return None
    return options[(options["model"] == model) & (options["scorer"] == scorer) & np.isfinite(options["logprob"])]


def _shares(options: pd.DataFrame) -> Floats:
    """Give the probability of each answer among the answers of its question, in each order."""
    is_mean = options["scorer"].str.replace(r"[@+].*", "", regex=True).str.endswith("_mean")
    values = options["logprob"] / np.where(is_mean, options["n_tokens"], 1)
    asked = [options["item"], options["order"]]
    weights = np.exp(values - values.groupby(asked).transform("max"))
    shares: Floats = (weights / weights.groupby(asked).transform("sum")).to_numpy()
    return shares


def _numbers(column: pd.Series[Any]) -> Any:
    return column.fillna(NONE).to_numpy(dtype=int)
