"""Debiasing: what changed, what did it cost, and did biased words move down or only lose probability?"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from tiltmeter.errors import TiltmeterError
from tiltmeter.families.slots.compare import aligned
from tiltmeter.families.slots.fills import Fills, best_terms, fills_of
from tiltmeter.measures.kit.matched import normalised
from tiltmeter.runs.folder import read_estimates
from tiltmeter.stats.settings import Settings
from tiltmeter.studies.kit.before_after import before_after, over_seeds, said
from tiltmeter.studies.kit.changes import change_rows, changes, draws_of
from tiltmeter.studies.kit.debiasing_tables import by_label, printed, sentences_by_gap, spread_of
from tiltmeter.studies.kit.dumbbells import dumbbell_figures
from tiltmeter.studies.kit.evidence import Evidence
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.gap_figures import gap_figures
from tiltmeter.studies.kit.options import Confidence, Resamples, Seed, check_settings
from tiltmeter.studies.kit.verdicts import verdict

CITATION = "Doughman et al. (2023), Can a Prediction's Rank Offer a More Accurate Quantification of Bias? (SEXISTLY)."
READS = "any"


NOTHING = (
    "These runs have no slots and no two models that can be compared. Run BASE and DEBIASED models first: "
    "tiltmeter run -m BASE -m DEBIASED -b plumb-slots -b plumb-pairs -b heldout.txt -o FOLDER."
)


def debiasing(
    evidence: Evidence,
    *,
    base: Annotated[str | None, "The model before debiasing. Default: the first."] = None,
    rows: Annotated[int, "Sentences with the largest rank gap to list, for each model."] = 10,
    resamples: Resamples = 1000,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
) -> Finding:
    """Every measure before and after, with paired differences, and what it cost; then MPS and MNT of each group, their
    percent change from the base, and what changed: probability, rank, or both (Table 3 of the paper).

    The table table_3 has the paper's columns, largest_rank_gaps and typical_rank_gaps those of Table 4, gap_spread what the
    whiskers of Figures 2 and 3 show, hostile_and_benevolent the two kinds of sentences where they are labelled.
    Changes compare the same sentences, and intervals draw the same sentences for both models. `median_rank` is that of
    each sentence's best term at any rank, so that terms that left the top k are counted too. A group without a match keeps
    its row, with coverage 0. Models whose names end in -seed0, -seed1 … are seeds of one method: mean and spread.
    """
    settings = check_settings(seed, resamples, confidence)
    if rows < 1:
        raise TiltmeterError(f"--rows must be at least 1, not {rows}.")
    base = _base(base, evidence)
    changed = before_after(evidence.answers, base, settings)
    found = _slots(evidence, base, rows, settings)
    if found is None and changed is None:
        raise TiltmeterError(NOTHING)
    tables, drawn, sentences, percent = found or ({}, {}, [], None)
    tables |= {"before_and_after": changed} if changed is not None else {}
    seeds = over_seeds(changed, percent)
    tables |= {"seeds": seeds} if seeds is not None else {}
    drawn = drawn | dumbbell_figures(changed)
    return Finding("debiasing", tables, drawn, [*sentences, *said(changed, base)], {"base": base})


def _slots(evidence: Evidence, base: str, rows: int, settings: Settings) -> Any:
    """Tables, figures and sentences about words that fill a mask, and percent changes; None where there are none."""
    if "slots" not in evidence.answers or base not in evidence.slots.models:
        return None
    filled, others = _comparable(list(fills_of(evidence.slots)), base)
    table, sentences = _compared(evidence, filled, base, settings)
    sentences += [
        f"{name} is left out where words fill a mask: it was ranked otherwise than {base} (another top k, or kind of model)."
        for name in others
    ]
    gaps = _gaps(filled)
    tables = {"debiasing": table[[name for name in table if not name.endswith(("_low", "_high"))]]}
    tables |= {"intervals": _intervals(table)} | ({"gaps": gaps} if len(gaps) else {})
    effects, name = _seat(evidence)
    tables["table_3"] = printed(table, filled, base, effects, name)
    if len(gaps):
        tables["largest_rank_gaps"] = sentences_by_gap(evidence, filled, gaps, rows, typical=False)
        tables["typical_rank_gaps"] = sentences_by_gap(evidence, filled, gaps, rows, typical=True)
        tables["gap_spread"] = spread_of(gaps)
    labelled = by_label(evidence, filled)
    tables |= {"hostile_and_benevolent": labelled} if len(labelled) else {}
    return tables, gap_figures(gaps, table), sentences, table[table["model"] != base]


def _comparable(filled: list[Fills], base: str) -> tuple[list[Fills], list[str]]:
    """What was ranked as the base was, and the models that were not. If none was, all stay: that is refused later."""
    way = {fills.benchmark: (fills.k, fills.among) for fills in filled if fills.model == base}
    alike = [fills for fills in filled if way.get(fills.benchmark, (fills.k, fills.among)) == (fills.k, fills.among)]
    if all(fills.model == base for fills in alike):
        return filled, []
    there = {fills.model for fills in alike}
    return alike, [name for name in dict.fromkeys(fills.model for fills in filled) if name not in there]


def _base(name: str | None, evidence: Evidence) -> str:
    models = list(dict.fromkeys(model for part in evidence.answers.values() for model in part.models))
    if name and name not in models:
        raise TiltmeterError(f"There is no model '{name}' in these runs. Models: {', '.join(models)}.")
    return name or evidence.models[0]


def _compared(evidence: Evidence, filled: list[Fills], base: str, settings: Settings) -> tuple[Any, list[str]]:
    """The main table, and a sentence for each debiased model."""
    import pandas as pd

    reference = {fills.benchmark: fills for fills in filled if fills.model == base}
    medians = best_terms(evidence.slots.table).groupby(["model", "benchmark", "group"], sort=False)["rank"].median()
    seat, seat_name = _seat(evidence)
    table, sentences = [], []
    for fills in sorted(filled, key=lambda candidate: candidate.model != base):
        if fills.benchmark not in reference:
            continue
        before, after = aligned(reference[fills.benchmark], fills)
        if not len(after.reason):
            raise TiltmeterError(f"{fills.model} and {base} share no sentence of {fills.benchmark}.")
        if before.k != after.k or before.among != after.among:
            raise TiltmeterError(f"{fills.model} and {base} were ranked differently on {fills.benchmark} (top k, or kind).")
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
        raise TiltmeterError(f"No sentence has a match by {base}, so there is nothing to compare. Try a larger --top-k.")
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


def _seat(evidence: Evidence) -> tuple[dict[str, float], str]:
    """The average absolute effect size of SEAT, for models whose runs have it, and the name of its column.

    Where tiltmeter's own tests stood in for SEAT's files, the name says so.
    """
    import pandas as pd

    effects: dict[str, float] = {}
    embedded = False
    for folder in evidence.folders:
        path = Path(folder) / "estimates.csv"
        every = read_estimates(path) if path.is_file() else pd.DataFrame(columns=["measure", "group"])
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
