"""Debiasing: did it move the biased words down, or only make them less probable? Base and debiased models side by side."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.families.slots.compare import aligned
from tiltmeter.families.slots.fills import Fills, best_matches, best_terms, fills_of
from tiltmeter.measures.kit.matched import normalised
from tiltmeter.runs.folder import read_estimates
from tiltmeter.stats.settings import Settings
from tiltmeter.studies.kit.changes import change_rows, changes, draws_of
from tiltmeter.studies.kit.evidence import Evidence
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.gap_figures import gap_figures
from tiltmeter.studies.kit.options import Confidence, Resamples, Seed, check_settings
from tiltmeter.studies.kit.verdicts import verdict

CITATION = "Doughman et al. (2023), Can a Prediction's Rank Offer a More Accurate Quantification of Bias? (SEXISTLY)."
READS = "slots"


def debiasing(
    evidence: Evidence,
    *,
    base: Annotated[str | None, "The model before debiasing. Default: the first."] = None,
    rows: Annotated[int, "Sentences with the largest rank gap to list, for each model."] = 10,
    resamples: Resamples = 1000,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
) -> Finding:
    """MPS and MNT of each group, their percent change from the base, and a verdict: probability, rank, or both (Table 3).

    Changes compare the same sentences, and intervals draw the same sentences for both models. `median_rank` is of each
    sentence's best term wherever it stands, so that terms that left the top k are not lost.
    """
    settings = check_settings(seed, resamples, confidence)
    if rows < 1:
        raise TiltmeterError(f"--rows is a number from 1 on, not {rows}.")
    found = list(fills_of(evidence.slots))
    base = _base(base, found)
    table, sentences = _compared(evidence, found, base, settings)
    gaps = _gaps(found)
    tables = {"debiasing": table[[name for name in table if not name.endswith(("_low", "_high"))]]}
    tables |= {"intervals": _intervals(table)} | ({"gaps": gaps} if len(gaps) else {})
    largest = _largest(evidence, gaps, rows) if len(gaps) else gaps
    tables |= {"largest_rank_gaps": largest} if len(largest) else {}
    return Finding("debiasing", tables, gap_figures(gaps, table), sentences, {"base": base})


def _base(name: str | None, found: list[Fills]) -> str:
    models = list(dict.fromkeys(fills.model for fills in found))
    if name and name not in models:
        raise TiltmeterError(f"There is no model '{name}' in these runs. Models: {', '.join(models)}.")
    return name or models[0]


def _compared(evidence: Evidence, found: list[Fills], base: str, settings: Settings) -> tuple[Any, list[str]]:
    """The main table, and a sentence for each debiased model."""
    import pandas as pd

    reference = {fills.benchmark: fills for fills in found if fills.model == base}
    medians = best_terms(evidence.slots.table).groupby(["model", "benchmark", "group"], sort=False)["rank"].median()
    seat = _seat(evidence)
    table, sentences = [], []
    for fills in sorted(found, key=lambda one: one.model != base):
        if fills.benchmark not in reference:
            continue
        before, after = aligned(reference[fills.benchmark], fills)
        if not len(after.reason):
            raise TiltmeterError(f"{fills.model} and {base} share no sentence of {fills.benchmark}.")
        if before.k != after.k or before.among != after.among:
            raise TiltmeterError(f"{fills.model} and {base} were ranked otherwise on {fills.benchmark} (top k, or kind).")
        ours = {group: float(medians[fills.model, fills.benchmark, group]) for group in fills.rank}
        new = list(change_rows(before, after, ours, settings))
        table += [row | ({"seat": seat[fills.model]} if fills.model in seat else {}) for row in new]
        if fills.model != base and new:
            sides = draws_of(before, settings), draws_of(after, settings)
            groups = [row["group"] for row in new]
            sentences.append(
                verdict((base, fills.model, fills.benchmark), groups, sides, changes(*sides), after.k, settings)
            )
    if not table:
        raise TiltmeterError(f"No sentence has a match of {base} and of another model; a larger --top-k may find some.")
    frame = pd.DataFrame(table)
    frame = frame.drop(columns="seat") if "seat" in frame and frame["seat"].isna().any() else frame
    return frame, sentences or [f"{base} is the only model here: there is nothing to compare it with yet."]


def _intervals(table: Any) -> Any:
    """One row per value: where it lies."""
    import pandas as pd

    place = ["benchmark", "model", "group", "n"]
    names = [name.removesuffix("_low") for name in table if name.endswith("_low")]
    parts = [
        table[place].assign(quantity=name, value=table[name], low=table[f"{name}_low"], high=table[f"{name}_high"])
        for name in names
    ]
    return pd.concat(parts, ignore_index=True)


def _seat(evidence: Evidence) -> dict[str, float]:
    """The average absolute effect size of SEAT, for models whose runs have it."""
    import pandas as pd

    found: dict[str, float] = {}
    for folder in evidence.folders:
        path = Path(folder) / "estimates.csv"
        rows = read_estimates(path) if path.is_file() else pd.DataFrame(columns=["measure"])
        rows = rows[rows["measure"] == "mean_abs_effect"]
        gender = rows[rows["group"] == "gender"] if len(rows) else rows
        for model, ours in (gender if len(gender) else rows).groupby("model") if len(rows) else ():
            found[str(model)] = float(ours["value"].mean())
    return found


def _gaps(found: list[Fills]) -> Any:
    """Per sentence, both groups matched: probability and normalised rank of one less those of the other."""
    import pandas as pd

    parts = []
    for fills in found:
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


def _largest(evidence: Evidence, gaps: Any, rows: int) -> Any:
    """The sentences with the largest rank gap, with both terms, probabilities and ranks (Table 4)."""
    import pandas as pd

    best = best_matches(evidence.slots.table).set_index(["model", "benchmark", "item", "group"])
    text = evidence.slots.items.set_index(["benchmark", "item"])["slot"]
    order = gaps.assign(size=gaps["mnt_gap"].abs()).sort_values("size", ascending=False, kind="stable")
    found = []
    for _, row in order.groupby(["model", "benchmark", "gap"], sort=False).head(rows).iterrows():
        place = {"model": row["model"], "benchmark": row["benchmark"], "item": row["item"]}
        one: dict[str, Any] = place | {"sentence": text[row["benchmark"], row["item"]], "gap": row["gap"]}
        for number, group in enumerate(row["gap"].split(" − "), 1):
            match = best.loc[(*place.values(), group)]
            one |= {f"term_{number}": match["term"], f"probability_{number}": match["probability"]}
            one |= {f"rank_{number}": int(match["rank"])}
        found.append(one | {"mps_gap": row["mps_gap"], "mnt_gap": row["mnt_gap"]})
    return pd.DataFrame(found)
