"""Tables of debiasing in the form that Doughman et al. (2023) print: Table 3, Table 4, and what Figures 2 and 3 show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tiltmeter.benchmarks.kit.items import group_column, has_column
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.slots.fills import Fills, best_matches
from tiltmeter.measures.coverage import coverage
from tiltmeter.measures.mnt import mnt
from tiltmeter.measures.mnt_table import mnt_table
from tiltmeter.measures.mps import mps

LABELS = frozenset({"hostile", "benevolent"})
"""Names for a sentence in the corpus of Jha and Mamidi (2017); where both are there, they are reported apart."""
REACH = 1.5
"""Whiskers end at the last value within so many quartile ranges of the box (Tukey)."""


def printed(table: Any, filled: Sequence[Fills], base: str, seat: Mapping[str, float], seat_name: str) -> Any:
    """Table 3: MPS, and MNT as the tables print it and by Eq. 2, with percent changes; SEAT's average with its own."""
    import pandas as pd

    of = {(fills.model, fills.benchmark): fills for fills in filled}
    rows = []
    for row in table.to_dict("records"):
        before, after = (_mnt_table(of.get((model, row["benchmark"])), row["group"]) for model in (base, row["model"]))
        values: dict[str, Any] = {key: row[key] for key in ("benchmark", "model", "group", "mps", "mps_change")}
        values |= {"mnt_table": after, "mnt_table_change": 100 * (after / before - 1) if before else np.nan}
        values |= {"mnt_eq2": row["mnt"], "mnt_eq2_change": row["mnt_change"]}
        if row["model"] in seat and base in seat:
            change = 100 * (seat[row["model"]] / seat[base] - 1)
            values |= {seat_name: seat[row["model"]], f"{seat_name}_change": change}
        rows.append(values | {"note": row.get("note", "")})
    frame = pd.DataFrame(rows)
    partial = [name for name in frame if str(name).startswith(seat_name) and frame[name].isna().any()]
    return frame.drop(columns=partial if frame["note"].any() else [*partial, "note"])


def _mnt_table(fills: Fills | None, group: str) -> float:
    return float(mnt_table(fills.rank[group], fills.k)) if fills is not None and group in fills.rank else np.nan


def spread_of(gaps: Any) -> Any:
    """Whiskers of Figures 2 and 3: minimum, fences, quartiles and maximum of every kind of gap."""
    import pandas as pd

    rows = []
    for (benchmark, model, gap), part in gaps.groupby(["benchmark", "model", "gap"], sort=False):
        for quantity in ("mps_gap", "mnt_gap"):
            values = part[quantity].to_numpy(dtype=np.float64)
            place = {"benchmark": benchmark, "model": model, "gap": gap, "quantity": quantity, "n": len(values)}
            rows.append(place | five_numbers(values))
    return pd.DataFrame(rows)


def five_numbers(values: Any) -> dict[str, float]:
    """Minimum, lower fence, quartiles, upper fence, maximum.

    >>> five_numbers(np.array([0.0, 1.0, 2.0, 3.0, 100.0]))["upper_fence"]
    3.0
    """
    low, middle, high = (float(value) for value in np.percentile(values, [25, 50, 75]))
    inside = values[(values >= low - REACH * (high - low)) & (values <= high + REACH * (high - low))]
    return {
        "minimum": float(values.min()), "lower_fence": float(inside.min()), "q1": low, "median": middle, "q3": high,
        "upper_fence": float(inside.max()), "maximum": float(values.max()),
    }  # fmt: skip


def sentences_by_gap(answers: Answers, filled: Sequence[Fills], gaps: Any, rows: int, typical: bool) -> Any:
    """Table 4: sentences with both words, probabilities, ranks and normalised ranks.

    Those with the largest rank gap, or the typical ones: closest to the median size of the gap.
    """
    import pandas as pd

    best = best_matches(answers.table).set_index(["model", "benchmark", "item", "group"])
    text = answers.items.set_index(["benchmark", "item"])["slot"]
    k = {(fills.model, fills.benchmark): fills.k for fills in filled}
    size = gaps["mnt_gap"].abs()
    middle = size.groupby([gaps[name] for name in ("model", "benchmark", "gap")]).transform("median")
    order = gaps.assign(order=(size - middle).abs() if typical else -size).sort_values("order", kind="stable")
    found = []
    for _, row in order.groupby(["model", "benchmark", "gap"], sort=False).head(rows).iterrows():
        place = {"model": row["model"], "benchmark": row["benchmark"], "item": row["item"]}
        entry: dict[str, Any] = place | {"sentence": text[row["benchmark"], row["item"]], "gap": row["gap"]}
        for number, group in enumerate(row["gap"].split(" − "), 1):
            match = best.loc[(*place.values(), group)]
            rank = np.array([float(match["rank"])])
            entry |= {f"term_{number}": match["term"], f"probability_{number}": match["probability"]}
            entry |= {f"rank_{number}": int(match["rank"])}
            entry |= {f"normalised_{number}": float(mnt_table(rank, k[row["model"], row["benchmark"]]))}
        found.append(entry | {"mps_gap": row["mps_gap"], "mnt_gap": row["mnt_gap"]})
    return pd.DataFrame(found)


def by_label(answers: Answers, filled: Sequence[Fills]) -> Any:
    """MPS and MNT of hostile and of benevolent sentences; empty where the benchmark does not distinguish them."""
    import pandas as pd

    return pd.DataFrame([row for fills in filled for row in _of_labels(answers, fills)])


def _of_labels(answers: Answers, fills: Fills) -> Iterator[dict[str, Any]]:
    items = answers.items[answers.items["benchmark"] == fills.benchmark]
    if not has_column(items, "label"):
        return
    labels = np.array([str(label).lower() for label in group_column(items, fills.groups["item"], "label")])
    if not set(labels) >= LABELS:
        return
    for label in sorted(LABELS):
        part = fills.take(labels == label)
        for group, rank in part.rank.items():
            known = bool((~np.isnan(rank)).any())
            yield {
                "benchmark": part.benchmark, "model": part.model, "label": label, "group": group, "n": len(part),
                "mps": float(mps(part.probability[group])), "mnt": float(mnt(rank, part.k)),
                "mnt_table": float(mnt_table(rank, part.k)), "coverage": float(coverage(rank)),
                "note": "" if known else f"no match in the top {part.k}",
            }  # fmt: skip
