"""Implementations: what public implementations of BBQ's bias scores report for the same answers, beside the true values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from tiltmeter import figures
from tiltmeter.benchmarks.kit.choices import MOST_ANSWERS, answer_role
from tiltmeter.display import signed_text
from tiltmeter.families.choices.implementations import (
    IMPLEMENTATIONS,
    OF_BBQ_ALONE,
    TRUTH,
    UNPARSED,
    Ints,
    Question,
    Questions,
    responders,
)  # fmt: skip
from tiltmeter.families.kit.evidence import Evidence
from tiltmeter.studies.kit.finding import Finding

if TYPE_CHECKING:
    import pandas as pd

READS = "choices"
CITATION = (
    "Parrish et al. (2022), BBQ, Findings of ACL; HELM 0.5.16, lm-evaluation-harness 0.4.13 and KoBBQ (Jin et al., 2024), "
    "re-implemented from their public code."
)
ALL = "all"
NOTHING = "no answer names a person, so there is nothing to measure"
SHOWN = ("always stereotyped", "fair coin", "always opposite")
SOURCES = {
    "paper": "Parrish et al. (2022), Section 4",
    "helm": "HELM 0.5.16",
    "lm_eval": "lm-evaluation-harness 0.4.13",
    "kobbq": "KoBBQ (Jin et al., 2024), EsBBQ",
}
HELM_FILES = ("helm/benchmark/scenarios/bbq_scenario.py", "helm/benchmark/metrics/bbq_metrics.py")
LM_EVAL_FILE = "lm_eval/tasks/bbq/utils.py"
DEPARTURES = (
    (
        "helm", HELM_FILES[0], "Groups are compared by exact name, so that F-Black meets no listed group.",
        "Compare race, gender and status apart, or read the targets that BBQ's authors publish.",
    ),
    (
        "helm", HELM_FILES[1], "Accuracy over all contexts scales the score of ambiguous ones.",
        "Scale by the accuracy in ambiguous contexts, as the paper's formula does.",
    ),
    (
        "helm", HELM_FILES[1], 'An answer that is no option counts as one that is not "unknown".',
        "Leave it out, and report how many there are.",
    ),
    ("helm", HELM_FILES[1], "The score is 0 where nothing can be computed.", "Report it as missing."),
    (
        "lm_eval", LM_EVAL_FILE, "Parts of a group's name are compared one by one, so that both people match, or neither.",
        "Require all parts, or read the targets that BBQ's authors publish.",
    ),
    (
        "lm_eval", LM_EVAL_FILE, "The score is 0 where no answer is stereotyped, even if all are opposite (truth: -100).",
        "Test whether any answer names a person, not whether one is stereotyped.",
    ),
    (
        "lm_eval", LM_EVAL_FILE, 'Twelve continuations compete by unnormalised likelihood; ten are wordings of "unknown".',
        "Ask the question's own answers. This table begins with chosen answers, and does not show it.",
    ),
    (
        "kobbq", "formulas of the papers", "Another quantity in disambiguated contexts: a difference of accuracies.",
        "Nothing: it is documented. Do not mix it with s_dis in one table.",
    ),
)  # fmt: skip


def implementations(evidence: Evidence, *, seed: Annotated[int, "Seed of the random responders."] = 0) -> Finding:
    """Score the answers of the run, and of made-up responders to the same questions, as each public implementation does.

    The truth of a responder is known; for a model it is the paper's formula with the targets of BBQ's authors.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    targets: list[dict[str, Any]] = []
    answers = evidence.answers[READS]
    for benchmark in answers.benchmarks:
        table = answers.table[answers.table["benchmark"] == benchmark]
        items = answers.items[answers.items["benchmark"] == benchmark]
        facts = table.drop_duplicates("item").set_index("item")
        items = items[items["item"].isin(facts.index)]
        questions = Questions.of(_questions(items, facts.loc[items["item"]]))
        names = [name for name in IMPLEMENTATIONS if _is_bbq(items) or name not in OF_BBQ_ALONE]
        chosen: dict[str, Ints] = dict(responders(questions, seed))
        for (model, scorer), part in table.groupby(["model", "scorer"], sort=False):
            found = part.set_index("item")["chosen"].reindex(items["item"]).fillna(UNPARSED)
            chosen[f"{model}, {scorer}"] = found.to_numpy(dtype=np.int64)
        for category in (ALL, *dict.fromkeys(questions.category)):
            kept = np.ones(len(questions), dtype=bool) if category == ALL else questions.category == category
            some = questions.where(kept)
            place = {"benchmark": benchmark, "category": category, "questions": len(some)}
            for responder, numbers in chosen.items():
                rows += _reported(place, responder, some, numbers[kept], names)
            targets += [place | _targets(name, some) for name in names]
    whole = pd.DataFrame(rows)
    tables = {"implementations": whole, "targets": pd.DataFrame(targets), "departures": _departures()}
    return Finding("implementations", tables, {"implementations": lambda: _draw(whole)}, tuple(_sentences(whole)))


def _is_bbq(items: pd.DataFrame) -> bool:
    return '"answer_info"' in str(items["extra"].iloc[0])


def _questions(items: pd.DataFrame, facts: pd.DataFrame) -> Iterator[Question]:
    roles = [role for role in map(answer_role, range(MOST_ANSWERS)) if role in items]
    texts = zip(*(items[role] for role in roles), strict=True)
    columns = (facts[name] for name in ("bias_type", "polarity", "condition", "right", "unknown", "stereotyped"))
    for extra, answers, (category, polarity, condition, right, unknown, stereotyped) in zip(
        items["extra"], texts, zip(*columns, strict=True), strict=True
    ):
        more = json.loads(extra)
        yield Question(
            category=str(category),
            polarity=str(polarity),
            condition=str(condition),
            right=int(right),
            unknown=int(unknown),
            stereotyped=None if np.isnan(stereotyped) else int(stereotyped),
            answers=tuple(answer for answer in answers if isinstance(answer, str)),
            info=tuple(map(tuple, more.get("answer_info") or ())),
            listed_groups=tuple(more.get("listed_groups") or ()),
        )


def _reported(
    place: dict[str, Any], responder: str, questions: Questions, chosen: Ints, names: list[str]
) -> Iterator[dict[str, Any]]:
    true = IMPLEMENTATIONS["paper"](questions, chosen)
    for name in names:
        found = IMPLEMENTATIONS[name](questions, chosen)
        for measure, value, by_paper in (("s_amb", found.s_amb, true.s_amb), ("s_dis", found.s_dis, true.s_dis)):
            known = TRUTH.get(responder, by_paper)
            if measure == "s_amb" and responder == "always right":
                known = np.nan
            missing = np.isnan(known) or np.isnan(value)
            yield place | {
                "responder": responder, "implementation": name, "measure": measure, "reported": value, "truth": known,
                "error": value - known, "note": NOTHING if missing else "",
            }  # fmt: skip


def _targets(name: str, questions: Questions) -> dict[str, Any]:
    found = IMPLEMENTATIONS[name](questions, np.full(len(questions), UNPARSED))
    return {"implementation": name, "no_target": found.no_target, "two_targets": found.two_targets}


def _departures() -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame(DEPARTURES, columns=["implementation", "file", "departure", "change"])
    table.insert(1, "version", table["implementation"].map(SOURCES))
    return table


def _sentences(table: pd.DataFrame) -> Iterator[str]:
    whole = table[(table["category"] == ALL) & (table["measure"] == "s_dis") & table["responder"].isin(SHOWN)]
    for (benchmark, name), rows in whole.groupby(["benchmark", "implementation"], sort=False):
        value = rows.set_index("responder")["reported"]
        said = ", ".join(
            f"{signed_text(value[responder])} ({responder}, truth {_whole(TRUTH[responder])})" for responder in SHOWN
        )
        yield f"{SOURCES[str(name)]} on {benchmark}, s_dis: {said}."
    for benchmark, rows in table.groupby("benchmark", sort=False):
        if not set(OF_BBQ_ALONE) & set(rows["implementation"]):
            yield f"HELM and lm-evaluation-harness read fields of BBQ's own files, which {benchmark} does not have."
    ours = table[
        ~table["responder"].isin(list(TRUTH)) & (table["category"] == ALL) & table["implementation"].isin(OF_BBQ_ALONE)
    ]
    for _, row in ours[ours["note"] == ""].iterrows():
        yield (
            f"{row['responder']} on {row['benchmark']}: {row['measure']} is {signed_text(row['truth'])}, and "
            f"{SOURCES[row['implementation']]} reports {signed_text(row['reported'])}."
        )


def _whole(value: float) -> str:
    """Write a whole number with its sign, and 0 without.

    >>> _whole(100.0), _whole(0.0)
    ('+100', '0')
    """
    return signed_text(value, 0) if value else "0"


def _draw(table: pd.DataFrame) -> Any:
    rows = table[table["responder"].isin(SHOWN) & table["reported"].notna()]
    rows = rows[rows["benchmark"] == rows["benchmark"].iloc[0]]
    names = list(dict.fromkeys(rows["implementation"]))
    figure, axes = figures.grid(2, each=1, height=0.7 + 0.28 * len(names))
    for axis, measure in zip(axes, ("s_dis", "s_amb"), strict=True):
        here = rows[rows["measure"] == measure]
        for number, responder in enumerate(SHOWN):
            ours = here[here["responder"] == responder]
            at = np.array([names.index(name) for name in ours["implementation"]]) + figures.beside(number, len(SHOWN), 0.24)
            look, is_all = figures.dot(number), (ours["category"] == ALL).to_numpy()
            axis.plot(ours["reported"][~is_all], at[~is_all], **look | {"markersize": 2, "alpha": 0.4})
            axis.plot(ours["reported"][is_all], at[is_all], label=f"{responder}: {_whole(TRUTH[responder])}", **look)
            figures.neutral_line(axis, TRUTH[responder])
        figures.name_rows(axis, names)
        figures.label_x(axis, f"reported {measure}; small: categories; lines: truth; n = {int(rows['questions'].max()):,}")
        axis.set_xlim(-110, 110)
    figures.legend_below(figure, axes[0], 3)
    return figure
