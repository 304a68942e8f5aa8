"""Cards of pairs in the explorer: both sentences, the scores by every scorer, and the words that drive a preference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.benchmarks import ROLES
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.pack import Pack, packed_items
from tiltmeter.families.pairs.flags import FLAGS, item_flags
from tiltmeter.families.pairs.headline import ordered_scorers
from tiltmeter.families.pairs.tokens import token_columns

if TYPE_CHECKING:
    import pandas as pd

MISSING_SIDE = -128


def cards(answers: Answers, models: Sequence[str], pack: Pack) -> Iterator[dict[str, Any]]:
    """Data for the explorer, one benchmark at a time; models are given by their number on the page."""
    flags = item_flags(answers)
    for benchmark in answers.benchmarks:
        rows = answers.table[answers.table["benchmark"] == benchmark]
        items = answers.items
        items = items[(items["benchmark"] == benchmark) & items["item"].isin(rows["item"].unique())]
        marked = {name: flags[benchmark].get(name, set()) for name in FLAGS}
        yield {
            "name": benchmark,
            "items": packed_items(items, pack, ROLES, marked, FLAGS),
            "scores": list(_scores(rows, items, models, pack)),
            "tokens": list(_tokens(answers, benchmark, items, models, pack)),
        }


def _scores(rows: pd.DataFrame, items: pd.DataFrame, models: Sequence[str], pack: Pack) -> Iterator[dict[str, Any]]:
    """One array per model, scorer and role. The preferred side and the gap are computed before rounding."""
    order = ordered_scorers(list(rows["scorer"].unique()))
    place = dict(zip(items["item"], range(len(items)), strict=True))
    groups = dict(list(rows.groupby(["model", "scorer"], sort=False)))
    for model, scorer in sorted(groups, key=lambda key: (models.index(key[0]), order.index(key[1]))):
        of_scorer = groups[model, scorer]
        values: dict[str, Any] = {}
        reasons: dict[int, str] = {}
        at = of_scorer["item"].map(place).to_numpy()
        for role in ROLES:
            of_role = (of_scorer["role"] == role).to_numpy()
            if of_role.any():
                values[role] = np.full(len(items), np.nan)
                values[role][at[of_role]] = of_scorer["score"].to_numpy(dtype=np.float64)[of_role]
        lacking = of_scorer[of_scorer["reason"].notna()]
        for item, reason in zip(lacking["item"], lacking["reason"], strict=True):
            reasons.setdefault(place[item], str(reason))
        yield {
            "model": models.index(model),
            "scorer": scorer,
            **{role: pack.array(scores, "float32") for role, scores in values.items()},
            "gap": pack.array(values["stereo"] - values["anti"], "float32"),
            "side": pack.array(_side(values["stereo"], values["anti"]), "int8"),
            "reasons": reasons,
        }


def _side(stereo: Any, anti: Any) -> Any:
    """1: the stereotypical sentence scores higher, −1: the other, 0: a tie."""
    missing = np.isnan(stereo) | np.isnan(anti)
    return np.where(missing, MISSING_SIDE, np.sign(np.where(missing, 0.0, stereo - anti)))


def _tokens(
    answers: Answers, benchmark: str, items: pd.DataFrame, models: Sequence[str], pack: Pack
) -> Iterator[dict[str, Any]]:
    done = set()
    for manifest in answers.manifests:
        model = manifest.get("model", {}).get("shown_as", "")
        if manifest.get("benchmark", {}).get("name") == benchmark and model in models and model not in done:
            columns = token_columns(answers, manifest, items, pack)
            if columns is not None:
                done.add(model)
                yield {"model": models.index(model), **columns}
