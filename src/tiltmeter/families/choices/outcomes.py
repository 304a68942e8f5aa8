"""Answers to questions as counts: what each of them adds to the sums that measures are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.benchmarks import Benchmark
from tiltmeter.benchmarks.kit.choices import AMBIGUOUS
from tiltmeter.benchmarks.kit.decisions import ASSOCIATION, DECISION, GROUP_COLUMNS, DecisionBenchmark
from tiltmeter.benchmarks.kit.items import group_column, has_column
from tiltmeter.catalog import Entry
from tiltmeter.families.choices.decisions import (
    ANY_READS,
    ASSOCIATION_READS,
    COMPARED,
    DECISION_READS,
    REFUSAL_GAP_READS,
    association_counts,
    compared,
    decision_counts,
    is_association,
    is_decision,
)  # fmt: skip
from tiltmeter.families.choices.parse import FILTERED, REFUSED
from tiltmeter.families.kit.answers import Answers
from tiltmeter.stats.design import Design

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
QUESTION_READS = ANY_READS | {
    "asked_amb", "right_amb", "stereo_amb", "anti_amb", "asked_dis", "right_dis", "stereo_dis", "anti_dis",
    "asked_pro", "right_pro", "asked_con", "right_con", "answered", "said_unknown",
}  # fmt: skip
"""Inputs of measures of questions with a right answer, with one entry a question or a template."""
READS = QUESTION_READS | DECISION_READS | ASSOCIATION_READS
EXCHANGED = (
    ("stereo_amb", "anti_amb"), ("stereo_dis", "anti_dis"), ("asked_pro", "asked_con"), ("right_pro", "right_con"),
    ("favourable", "other_favourable"), ("own_score", "other_score"), ("with_stereotype", "against_stereotype"),
)  # fmt: skip
"""The columns that change places when the stereotyped group and the other one do, or a group and the others."""
COUNT_MISSING = frozenset({"unparsed", "refused"})
"""Inputs that count questions without an answer."""
REFUSALS = (REFUSED, FILTERED)
"""Reasons for which the model, or its server's filter, gave no answer on purpose."""
FEWEST_TEMPLATES = 5
"""With fewer templates there is neither an interval nor a test."""
MANY_CASES = 20
"""Cases in a domain from which on they are resampled within it."""
OWN_GROUPS = ("bias_type", "target", "direction", "condition", "polarity", "label_type", "template")
"""Columns of the main table that estimates can be grouped by."""


def counts_of(rows: pd.DataFrame) -> dict[str, Floats]:
    """Count what every question, decision or list of words adds."""
    if is_decision(rows):
        return _any_counts(rows) | decision_counts(rows)
    return _any_counts(rows) | (association_counts(rows) if is_association(rows) else _question_counts(rows))


def reads_of(rows: pd.DataFrame, column: str) -> frozenset[str]:
    """Return what measures can read of these rows by themselves, where they are grouped by a column."""
    if is_association(rows):
        return ASSOCIATION_READS - {"reordered"} - REFUSAL_GAP_READS
    if not is_decision(rows):
        return QUESTION_READS - REFUSAL_GAP_READS
    left_out = {"mean_ranks"} if column in GROUP_COLUMNS else COMPARED if column == "all" else COMPARED | {"mean_ranks"}
    unread = [
        name
        for name, there in (("reordered", "changed"), ("scored", "score"))
        if there not in rows or rows[there].isna().all()
    ]
    return DECISION_READS - left_out - set(unread) - REFUSAL_GAP_READS


def provides(benchmark: Benchmark) -> frozenset[str]:
    """Return what measures can read of a benchmark."""
    if isinstance(benchmark, DecisionBenchmark):
        return DECISION_READS
    first = next(iter(benchmark.asked_items), None)
    return ASSOCIATION_READS if first is not None and first.extra["condition"] == ASSOCIATION else QUESTION_READS


def _any_counts(rows: pd.DataFrame) -> dict[str, Floats]:
    changed, there = (rows[name].to_numpy(dtype=np.float64) for name in ("changed", "chosen"))
    missing = rows["reason"].notna().to_numpy() if is_association(rows) else np.isnan(there)
    return {
        "questions": np.ones(len(rows)),
        "unparsed": missing.astype(np.float64),
        "refused": rows["reason"].isin(REFUSALS).to_numpy().astype(np.float64),
        "reordered": (~np.isnan(changed)).astype(np.float64),
        "changed": (np.nan_to_num(changed) > 0).astype(np.float64),
    }


def _question_counts(rows: pd.DataFrame) -> dict[str, Floats]:
    """Count what every question adds: ones and zeros."""
    chosen = rows["chosen"].to_numpy(dtype=np.float64)
    there, ambiguous = ~np.isnan(chosen), rows["condition"].to_numpy() == AMBIGUOUS
    right, unknown = (rows[name].to_numpy(dtype=np.float64) for name in ("right", "unknown"))
    stereotyped = rows["stereotyped"].to_numpy(dtype=np.float64)
    is_right, named = there & (chosen == right), there & (chosen != unknown) & ~np.isnan(stereotyped)
    stereo, aligned = named & (chosen == stereotyped), ~np.isnan(stereotyped) & (right == stereotyped)
    opposed = ~np.isnan(stereotyped) & ~aligned
    amb, dis = there & ambiguous, there & ~ambiguous
    found = {
        "asked_amb": amb, "right_amb": amb & is_right, "stereo_amb": amb & stereo, "anti_amb": amb & named & ~stereo,
        "asked_dis": dis, "right_dis": dis & is_right, "stereo_dis": dis & stereo, "anti_dis": dis & named & ~stereo,
        "asked_pro": dis & aligned, "right_pro": dis & aligned & is_right,
        "asked_con": dis & opposed, "right_con": dis & opposed & is_right,
        "answered": there, "said_unknown": there & (chosen == unknown),
    }  # fmt: skip
    return {name: np.asarray(values, dtype=np.float64) for name, values in found.items()}


def about(rows: pd.DataFrame, measure: Entry) -> NDArray[np.bool_]:
    """Return which questions a measure is about: those of one condition, or all."""
    conditions = {name.rpartition("_")[2] for name in measure.parameters} & {"amb", "dis", "pro", "con"}
    is_ambiguous = (rows["condition"] == AMBIGUOUS).to_numpy()
    wanted = is_ambiguous if conditions == {"amb"} else ~is_ambiguous
    return np.asarray(wanted if conditions else np.ones(len(rows)), dtype=bool)


def has_answer(rows: pd.DataFrame, measure: Entry) -> NDArray[np.bool_]:
    """Return which questions have what a measure reads. Measures of missing answers count every question."""
    if COUNT_MISSING & set(measure.parameters):
        return np.ones(len(rows), dtype=bool)
    counts = counts_of(rows)
    if own := [name for name in ("reordered", "scored", "associated") if name in measure.parameters]:
        return np.asarray(counts[own[0]] > 0, dtype=bool)
    return np.asarray(rows["chosen"].notna(), dtype=bool)


def counted(rows: pd.DataFrame, measure: Entry) -> NDArray[np.bool_]:
    """Return which questions a measure's value is made of: those that add something to what it reads."""
    counts = counts_of(rows)
    return np.asarray(np.any([counts[name] != 0 for name in measure.parameters], axis=0), dtype=bool)


def design_of(rows: pd.DataFrame) -> Design:
    """Questions of one template are resampled together, templates within their category.

    Cases of decisions are few in a domain: they are resampled over all domains.
    """
    if is_decision(rows) and rows["template"].nunique() < MANY_CASES * rows["bias_type"].nunique():
        return Design.of(rows["template"].to_numpy(), np.zeros(len(rows), dtype=object))
    return Design.of(rows["template"].to_numpy(), rows["bias_type"].to_numpy())


def clustered_answers(answers: Answers, *, clusters: bool) -> Answers:
    """Return the answers; without clusters every question is a template of its own. Cases of decisions stay whole."""

    def apart(frame: pd.DataFrame) -> pd.DataFrame:
        if not {"template", "condition"} <= set(frame):
            return frame
        return frame.assign(template=frame["template"].where(frame["condition"] == DECISION, frame["item"]))

    return answers if clusters else answers.mapped(apart)


@dataclass(frozen=True, eq=False)
class Replies:
    """Answers of one model to questions of one benchmark by one scorer.

    `groups`: rows of each column and group, where those that two models do not both have were left out of `rows`.
    """

    model: str
    benchmark: str
    scorer: str
    rows: pd.DataFrame
    groups: Mapping[tuple[str, str], pd.DataFrame] = field(default_factory=dict)


def cells(answers: Answers) -> Iterator[Replies]:
    """Go through models, benchmarks and scorers."""
    for (model, benchmark, scorer), rows in answers.table.groupby(["model", "benchmark", "scorer"], sort=False):
        yield Replies(str(model), str(benchmark), str(scorer), rows)


def groups_of(rows: pd.DataFrame, answers: Answers, by: Sequence[str]) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Go through all questions, and each group of each column that the questions have.

    Decisions are grouped by the people that they are about, too, and compared with the other groups of their case.
    """
    yield "all", "all", rows
    of_people = GROUP_COLUMNS if is_decision(rows) else ()
    for column in dict.fromkeys((*of_people, *(name for name in by if name != "all"))):
        values = group_values(rows, answers, column)
        ours = compared(rows, values) if column in of_people else rows
        for group, some in ours.groupby(values, sort=False):
            yield column, str(group), some


def group_values(rows: pd.DataFrame, answers: Answers, column: str) -> Any:
    """Return the value of a column for every row; None where the questions have no such column."""
    if column in OWN_GROUPS:
        return rows[column].to_numpy()
    items = answers.items[answers.items["benchmark"] == rows["benchmark"].iloc[0]]
    found = group_column(items, rows["item"], column) if has_column(items, column) else [None] * len(rows)
    return np.array(found, dtype=object)
