"""Debiasing: what changed, what did it cost, and did biased words move down or only lose probability?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tiltmeter.errors import RunError, UsageError, require_known
from tiltmeter.families import find_family
from tiltmeter.families.kit.debiasing import DebiasingDetails
from tiltmeter.families.kit.evidence import Evidence
from tiltmeter.runs.folder import read_estimates
from tiltmeter.stats.settings import Settings
from tiltmeter.studies.kit.before_after import before_after, out_of_reach, over_seeds, said
from tiltmeter.studies.kit.dumbbells import dumbbell_figures
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.options import Confidence, Resamples, Seed, check_settings

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
    """Every measure before and after, with paired differences, and what it cost.

    Then MPS and MNT of each group, their percent change from the base, and what changed: probability, rank, or both
    (Table 3 of the paper).

    The table table_3 has the paper's columns, largest_rank_gaps and typical_rank_gaps those of Table 4, gap_spread what the
    whiskers of Figures 2 and 3 show, hostile_and_benevolent the two kinds of sentences where they are labelled.
    Changes compare the same sentences, and intervals draw the same sentences for both models. `median_rank` is that of
    each sentence's best term at any rank, so that terms that left the top k are counted too. A group without a match keeps
    its row, with coverage 0. Models whose names end in -seed0, -seed1 … are seeds of one method: mean and spread.
    """
    settings = check_settings(seed, resamples, confidence)
    if rows < 1:
        raise UsageError(f"--rows must be at least 1, not {rows}.", code="out-of-range", option="--rows", value=rows)
    base = _base(base, evidence)
    changed = before_after(evidence.answers, base, settings)
    details = _details(evidence, base, rows, settings)
    if not details and changed is None:
        raise RunError(NOTHING, code="too-few", kind="models")
    tables = {name: table for part in details for name, table in part.tables.items()}
    tables |= {"before_and_after": changed} if changed is not None else {}
    seeds = over_seeds(changed, [part.changes for part in details])
    tables |= {"seeds": seeds} if seeds is not None else {}
    drawn = {name: draw for part in details for name, draw in part.figures.items()} | dumbbell_figures(changed)
    sentences = [line for part in details for line in part.sentences]
    sentences += [*said(changed, base), *out_of_reach(changed, settings)]
    return Finding("debiasing", tables, drawn, sentences, {"base": base})


def _details(evidence: Evidence, base: str, rows: int, settings: Settings) -> list[DebiasingDetails]:
    """Yield the statements of families that the base model answered, beyond the differences of all measures."""
    paths = [Path(folder) / "estimates.csv" for folder in evidence.folders]
    estimates = [read_estimates(path) for path in paths if path.is_file()]
    asked = {name: part for name, part in evidence.answers.items() if base in part.models}
    found = (find_family(name).debiasing_details(part, estimates, base, rows, settings) for name, part in asked.items())
    return [details for details in found if details is not None]


def _base(name: str | None, evidence: Evidence) -> str:
    models = list(dict.fromkeys(model for part in evidence.answers.values() for model in part.models))
    if name:
        require_known("model", name, models)
    return name or evidence.models[0]
