"""Did biased words move down, or did they only lose probability? What slots add to `study debiasing`.

Doughman et al. (2023), Tables 3 and 4, Figures 2 and 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.display import Statement
from tiltmeter.errors import RunError
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.debiasing import DebiasingDetails
from tiltmeter.families.slots.debiasing.changes import change_rows, changes, draws_of
from tiltmeter.families.slots.debiasing.figures import gap_figures
from tiltmeter.families.slots.debiasing.tables import by_label, printed, sentences_by_gap, spread_of
from tiltmeter.families.slots.debiasing.verdicts import verdict
from tiltmeter.families.slots.fills import Fills, aligned, best_terms, fills_of
from tiltmeter.measures.kit.matched import normalised
from tiltmeter.stats.settings import Settings

if TYPE_CHECKING:
    import pandas as pd


RANKED_OTHERWISE = (
    "{model} is left out where words fill a mask: it was ranked otherwise than {base} (another top k, or kind of model)."
)


def debiasing_details(
    answers: Answers, estimates: Sequence[pd.DataFrame], base: str, rows: int, settings: Settings
) -> DebiasingDetails:
    """MPS and MNT of each group, their percent changes from the base, and what changed: probability, rank, or both."""
    filled, others = _comparable(fills_of(answers), base)
    seat = effects, name = _seat(estimates)
    table, sentences = _compared(answers, filled, base, seat, settings)
    sentences += [Statement(RANKED_OTHERWISE, "ranked-otherwise", model=one, base=base) for one in others]
    gaps = _gaps(filled)
    tables = {"debiasing": table[[name for name in table if not name.endswith(("_low", "_high"))]]}
    tables |= {"intervals": _intervals(table)} | ({"gaps": gaps} if len(gaps) else {})
    tables["table_3"] = printed(table, filled, base, effects, name)
    if len(gaps):
        tables["largest_rank_gaps"] = sentences_by_gap(answers, filled, gaps, rows, typical=False)
        tables["typical_rank_gaps"] = sentences_by_gap(answers, filled, gaps, rows, typical=True)
        tables["gap_spread"] = spread_of(gaps)
    labelled = by_label(answers, filled)
    tables |= {"hostile_and_benevolent": labelled} if len(labelled) else {}
    return DebiasingDetails(tables, gap_figures(gaps, table), sentences, _in_percent(table[table["model"] != base]))


def _in_percent(table: Any) -> Any:
    """The changes of MPS and MNT that are defined, one row each."""
    import pandas as pd

    place = ["model", "benchmark", "group"]
    parts = [table[place].assign(scorer="slots", measure=name, change=table[f"{name}_change"]) for name in ("mps", "mnt")]
    whole = pd.concat(parts, ignore_index=True)
    return whole[np.isfinite(whole["change"])].reset_index(drop=True)


def _comparable(filled: list[Fills], base: str) -> tuple[list[Fills], list[str]]:
    """Fills that were ranked as the base was, and the models that were not. If none was, all stay: that is refused later."""
    way = {fills.benchmark: (fills.k, fills.among) for fills in filled if fills.model == base}
    alike = [fills for fills in filled if way.get(fills.benchmark, (fills.k, fills.among)) == (fills.k, fills.among)]
    if all(fills.model == base for fills in alike):
        return filled, []
    there = {fills.model for fills in alike}
    return alike, [name for name in dict.fromkeys(fills.model for fills in filled) if name not in there]


def _compared(
    answers: Answers, filled: list[Fills], base: str, effects: tuple[dict[str, float], str], settings: Settings
) -> tuple[Any, list[str]]:
    """The main table, and a sentence for each debiased model."""
    import pandas as pd

    reference = {fills.benchmark: fills for fills in filled if fills.model == base}
    medians = best_terms(answers.table).groupby(["model", "benchmark", "group"], sort=False)["rank"].median()
    seat, seat_name = effects
    table, sentences = [], []
    for fills in sorted(filled, key=lambda candidate: candidate.model != base):
        if fills.benchmark not in reference:
            continue
        before, after = aligned(reference[fills.benchmark], fills)
        if not len(after.reason):
            raise RunError(
                f"{fills.model} and {base} share no sentence of {fills.benchmark}.",
                code="empty-selection", study="debiasing", model=fills.model, base=base, benchmark=fills.benchmark,
            )  # fmt: skip
        if before.k != after.k or before.among != after.among:
            raise RunError(
                f"{fills.model} and {base} were ranked differently on {fills.benchmark} (top k, or kind).",
                code="not-comparable", model=fills.model, base=base, benchmark=fills.benchmark,
            )  # fmt: skip
        of_group = {group: float(medians.get((fills.model, fills.benchmark, group), np.nan)) for group in fills.rank}
        new = list(change_rows(before, after, of_group, settings))
        table += [row | ({seat_name: seat[fills.model]} if fills.model in seat else {}) for row in new]
        if fills.model != base:
            sides = draws_of(before, settings), draws_of(after, settings)
            groups = [row["group"] for row in new]
            sentences.append(
                verdict((base, fills.model, fills.benchmark), groups, sides, changes(*sides), after.k, settings)
            )
    if not any(row["coverage"] for row in table if row["model"] == base):
        raise RunError(
            f"No sentence has a match by {base}, so there is nothing to compare. Try a larger --top-k.",
            code="empty-selection", study="debiasing", base=base,
        )  # fmt: skip
    frame = pd.DataFrame(table)
    frame = frame if frame["note"].any() else frame.drop(columns="note")
    frame = frame.drop(columns=seat_name) if seat_name in frame and frame[seat_name].isna().any() else frame
    return frame, sentences or [f"{base} is the only model here, so there is nothing to compare it with."]


def _intervals(table: Any) -> Any:
    """One row per value that is defined, with its interval."""
    import pandas as pd

    place = ["benchmark", "model", "group", "n"]
    names = [name.removesuffix("_low") for name in table if name.endswith("_low")]
    parts = [
        table[place].assign(quantity=name, value=table[name], low=table[f"{name}_low"], high=table[f"{name}_high"])
        for name in names
    ]
    return pd.concat(parts, ignore_index=True).dropna(subset="value").reset_index(drop=True)


def _seat(runs: Sequence[pd.DataFrame]) -> tuple[dict[str, float], str]:
    """The average absolute effect size of SEAT, for models whose runs have it, and the name of its column.

    Where tiltmeter's own tests stood in for SEAT's files, the name says so.
    """
    effects: dict[str, float] = {}
    embedded = False
    for every in runs:
        rows = every[every["measure"] == "mean_abs_effect"]
        gender = rows[rows["group"] == "gender"] if len(rows) else rows
        for model, of_model in (gender if len(gender) else rows).groupby("model") if len(rows) else ():
            effects[str(model)] = float(of_model["value"].mean())
        tests = every[every["measure"] == "effect_size"]["group"].astype(str)
        embedded |= bool(tests.str.contains("plumb").any())
    return effects, "seat_embedded_tests" if embedded else "seat"


def _gaps(filled: list[Fills]) -> Any:
    """For each sentence with matches of both groups: probability and normalised rank of one minus those of the other."""
    import pandas as pd

    parts = []
    for fills in filled:
        for first, second in combinations(fills.rank, 2):
            gap = pd.DataFrame(
                {
                    "benchmark": fills.benchmark, "model": fills.model, "gap": f"{first} − {second}",
                    "item": fills.groups["item"], "mps_gap": fills.probability[first] - fills.probability[second],
                    "mnt_gap": normalised(fills.rank[first], fills.k) - normalised(fills.rank[second], fills.k),
                }
            )  # fmt: skip
            parts.append(gap.dropna())
    return pd.concat(parts, ignore_index=True)
