"""What the pair explorer reads: every item with its texts, the scores by every scorer, tokens and slots, packed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.reporting.html.gathering import Material
from tiltmeter.reporting.html.packing import Pack
from tiltmeter.reporting.html.tabulating import SCORERS, in_order
from tiltmeter.reporting.html.tokens import token_columns
from tiltmeter.reporting.html.warning import Flags
from tiltmeter.slot_tables import Slots
from tiltmeter.studies._flags import FLAGS

if TYPE_CHECKING:
    import pandas as pd

ROLES = ("stereo", "anti", "unrelated")
TERMS_SHOWN = 12
MISSING_SIDE = -128


def explorer_data(material: Material, flags: Flags) -> tuple[str, bool]:
    """Everything, as one packed word; and whether words can be coloured, because the token tables are still there."""
    pack = Pack()
    pairs = list(_pair_benchmarks(material, flags, pack))
    # Generations will come as a third kind, with samples per group, and a card of their own in cards.js.
    header = {"models": material.models, "flags": FLAGS, "benchmarks": [*pairs, *_slot_benchmarks(material, pack)]}
    return pack.text(header), not pairs or any(one["tokens"] for one in pairs)


def _pair_benchmarks(material: Material, flags: Flags, pack: Pack) -> Iterator[dict[str, Any]]:
    frame = material.scores.frame
    for benchmark in frame["benchmark"].unique():
        rows = frame[frame["benchmark"] == benchmark]
        items = material.scores.items
        items = items[(items["benchmark"] == benchmark) & items["item"].isin(rows["item"].unique())]
        yield {
            "name": benchmark,
            "kind": "pairs",
            "items": _items(items, pack, flags.get(str(benchmark), {}), ROLES),
            "scores": list(_scores(rows, items, material.models, pack)),
            "tokens": list(_tokens(material, str(benchmark), items, pack)),
        }


def _items(items: pd.DataFrame, pack: Pack, flags: dict[str, Any], texts: tuple[str, ...]) -> dict[str, Any]:
    """Texts and groups; a group is kept as its number in a list of names."""
    packed: dict[str, Any] = {"id": items["item"].astype(str).tolist()}
    for column in ("bias_type", "direction", "target"):
        codes, names = _coded(items[column])
        packed[column] = {"names": names, "codes": pack.array(codes, "int16")}
    for role in texts:
        if role in items and items[role].notna().any():
            packed[role] = [text if isinstance(text, str) else None for text in items[role]]
    marks = [[n for n, name in enumerate(FLAGS) if item in flags.get(name, ())] for item in items["item"]]
    return packed | {"flags": marks}


def _coded(column: Any) -> tuple[Any, list[str]]:
    import pandas as pd

    codes, names = pd.factorize(column.astype(object).where(column.notna(), None))
    return codes, [str(name) for name in names]


def _scores(rows: pd.DataFrame, items: pd.DataFrame, models: list[str], pack: Pack) -> Iterator[dict[str, Any]]:
    """Per model and scorer one array per role. Which side is preferred, and by how much, is decided before rounding."""
    order = in_order(sorted(rows["scorer"].unique()), SCORERS)
    place = dict(zip(items["item"], range(len(items)), strict=True))
    groups = dict(list(rows.groupby(["model", "scorer"], sort=False)))
    for model, scorer in sorted(groups, key=lambda key: (models.index(key[0]), order.index(key[1]))):
        found = groups[model, scorer]
        values: dict[str, Any] = {}
        reasons: dict[int, str] = {}
        at = found["item"].map(place).to_numpy()
        for role in ROLES:
            ours = (found["role"] == role).to_numpy()
            if ours.any():
                values[role] = np.full(len(items), np.nan)
                values[role][at[ours]] = found["score"].to_numpy(dtype=np.float64)[ours]
        lacking = found[found["reason"].notna()]
        for item, reason in zip(lacking["item"], lacking["reason"], strict=True):
            reasons.setdefault(place[item], str(reason))
        yield {
            "model": models.index(model),
            "scorer": scorer,
            **{role: pack.array(one, "float32") for role, one in values.items()},
            "gap": pack.array(values["stereo"] - values["anti"], "float32"),
            "side": pack.array(_side(values["stereo"], values["anti"]), "int8"),
            "reasons": reasons,
        }


def _side(stereo: Any, anti: Any) -> Any:
    """1: the stereotypical sentence scores higher, −1: the other, 0: a tie."""
    missing = np.isnan(stereo) | np.isnan(anti)
    return np.where(missing, MISSING_SIDE, np.sign(np.where(missing, 0.0, stereo - anti)))


def _tokens(material: Material, benchmark: str, items: pd.DataFrame, pack: Pack) -> Iterator[dict[str, Any]]:
    done = set()
    for source in material.sources:
        for one in source.evaluations():
            model = source.models.get(one["model"].get("shown_as", ""))
            ours = source.benchmarks.get(one["benchmark"]["name"]) == benchmark and "top_k" not in one
            if ours and model in material.models and model not in done:
                found = token_columns(source, one, items, pack)
                if found is not None:
                    done.add(model)
                    yield {"model": material.models.index(model), **found}


def _slot_benchmarks(material: Material, pack: Pack) -> Iterator[dict[str, Any]]:
    if material.slots is None:
        return
    frame = material.slots.frame
    for benchmark in frame["benchmark"].unique():
        rows = frame[frame["benchmark"] == benchmark]
        items = material.slots.items
        items = items[(items["benchmark"] == benchmark) & items["item"].isin(rows["item"].unique())]
        groups, terms = list(rows["group"].unique()), list(rows["term"].dropna().unique())
        yield {
            "name": benchmark,
            "kind": "slots",
            "groups": groups,
            "terms": terms,
            "items": _items(items, pack, {}, ("slot",)),
            "fills": [
                _fills(rows[rows["model"] == model], items, (groups, terms), pack)
                | {"model": n, "top": _first_predictions(material.slots, model, items, groups)}
                for n, model in enumerate(material.models)
                if (rows["model"] == model).any()
            ],
        }


def _fills(rows: pd.DataFrame, items: pd.DataFrame, names: tuple[list[str], list[str]], pack: Pack) -> dict[str, Any]:
    """The terms that rank highest at each slot, and why there are none where there are none."""
    groups, terms = ({name: n for n, name in enumerate(one)} for one in names)
    place = dict(zip(items["item"], range(len(items)), strict=True))
    ranked = rows[rows["rank"] > 0].sort_values(["rank", "probability"], ascending=[True, False], kind="stable")
    best = ranked.groupby("item", sort=False).head(TERMS_SHOWN)
    first = ranked.drop_duplicates(["item", "group"])  # the best of each group is shown wherever it stands
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
        "term": pack.array(shown["term"].map(terms), "uint16"),
        "rank": pack.array(shown["rank"], "int32"),
        "probability": pack.array(shown["probability"], "float32"),
        "reasons": {n: why for n, why in unasked.items() if items["item"].iloc[n] not in asked},
    }


def _first_predictions(slots: Slots, model: str, items: pd.DataFrame, groups: list[str]) -> list[list[Any]]:
    """Per slot the likeliest tokens, best first: the token, the group that lists it (−1: none), its probability."""
    found: dict[str, list[Any]] = {item: [] for item in items["item"]}
    known = slots.predictions
    if known is None:
        return list(found.values())
    ours = known[(known["model"] == model) & known["benchmark"].isin(items["benchmark"])]
    for item, token, group, share in zip(ours["item"], ours["token"], ours["group"], ours["probability"], strict=True):
        place = groups.index(group) if isinstance(group, str) and group in groups else -1
        if item in found and np.isfinite(share):
            found[item].append([str(token), place, round(float(share), 5)])
    return list(found.values())
