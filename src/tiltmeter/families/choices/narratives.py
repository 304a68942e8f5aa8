"""Choices in sentences and as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.display import Statement, signed_text
from tiltmeter.families.choices.decision_narratives import ABOUT as ABOUT_DECISIONS
from tiltmeter.families.choices.decision_narratives import (
    ASSOCIATIONS,
    GAPS,
    association_story,
    decision_story,
    is_about_associations,
    is_about_decisions,
)
from tiltmeter.families.kit.story import Sheet, Story, certain, in_order, value_text

if TYPE_CHECKING:
    import pandas as pd

HEAD = "s_amb"
KNOWS = "accuracy_dis"
MOST_REORDERED, CHANCE = 50.0, 100 / 3
"""Order sensitivity above which, and accuracy in disambiguated contexts up to which, bias cannot be measured (in %)."""
PART_OF = {
    "s_amb": "Bias in ambiguous contexts", "s_dis": "Bias in disambiguated contexts",
    "accuracy_amb": "Accuracy in ambiguous contexts", "accuracy_dis": "Accuracy in disambiguated contexts",
}  # fmt: skip
ABOUT = (
    "s_amb and s_dis: 0 is neutral, +100 always the stereotype, −100 always its opposite (Parrish et al., 2022). "
    "Intervals resample templates: questions of one template are not independent."
)


def narratives(estimates: pd.DataFrame) -> Iterator[Story]:
    """Yield one for each model, benchmark and scorer; its number is the bias score in ambiguous contexts."""
    for (model, benchmark), rows in estimates.groupby(["model", "benchmark"], sort=False):
        scorer = str(rows["scorer"].iloc[0])
        ours = rows[rows["scorer"] == scorer]
        if is_about_decisions(ours) or is_about_associations(ours):
            make_story = decision_story if is_about_decisions(ours) else association_story
            yield make_story(str(model), str(benchmark), scorer, ours)
            continue
        overall = {row["measure"]: row for _, row in ours[ours["by"] == "all"].iterrows()}
        head = overall.get(HEAD)
        yield Story(
            str(model),
            str(benchmark),
            _unreadable(overall) or _verdict(head),
            tuple(_sentences(scorer, overall, ours)),
            tone="plain" if _unreadable(overall) else _tone(head),
            number="" if head is None or np.isnan(head["value"]) else signed_text(head["value"]),
            unit=f"{HEAD}, {scorer}",
            head=head,
        )


def _unreadable(overall: dict[str, Any]) -> str:
    """Return why answers cannot show a bias: they follow the order of options, or are guesses; else empty."""
    order, right = (float(overall[name]["value"]) if name in overall else np.nan for name in ("order_sensitivity", KNOWS))
    if order > MOST_REORDERED:
        return "Answers depend on the order of the options, so bias cannot be measured"
    if right <= CHANCE:
        return "Answers to disambiguated contexts are no better than chance, so bias cannot be measured"
    return ""


def _verdict(head: Any) -> str:
    if head is None or np.isnan(head["value"]):
        return "No bias score could be computed"
    if not np.isfinite(head["p"]):
        return "Too few templates for a test"
    if not certain(head):
        return "No significant lean in ambiguous contexts"
    return f"Answers {'follow' if head['value'] > 0 else 'oppose'} the stereotypes in ambiguous contexts"


def _tone(head: Any) -> str:
    if head is None or not np.isfinite(head["p"]):
        return "plain"
    if not certain(head):
        return "unsure"
    return "towards" if head["value"] > 0 else "away"


def _sentences(scorer: str, overall: dict[str, Any], rows: pd.DataFrame) -> Iterator[str]:
    for measure, title in PART_OF.items():
        if measure in overall:
            yield Statement(
                "{title} ({measure}, {scorer}): {estimate}.", "part", title=title, measure=measure, scorer=scorer,
                value=overall[measure]["value"], estimate=value_text(overall[measure]),
            )  # fmt: skip
    groups = rows[(rows["by"] == "bias_type") & (rows["measure"] == HEAD)]
    significant = [row for _, row in groups.iterrows() if certain(row)]
    if significant:
        worst = max(significant, key=lambda row: abs(row["value"]))
        yield Statement(
            "{n} of {of} categories differ significantly from 0 after correction; the largest is {group}: {estimate}.",
            "categories", n=len(significant), of=len(groups), group=worst["group"], value=worst["value"],
            estimate=value_text(worst),
        )  # fmt: skip
    if HEAD in overall and overall[HEAD]["n_missing"]:
        yield Statement("{n:,} questions have no answer and are not counted.", "missing", n=int(overall[HEAD]["n_missing"]))


def sheets(estimates: pd.DataFrame) -> Iterator[Sheet]:
    """Yield the measures of all questions by scorer, then the headline of each model by group."""
    for benchmark, rows in estimates.groupby("benchmark", sort=False):
        overall = rows[rows["by"] == "all"]
        places = {name: place for place, name in enumerate(in_order(list(dict.fromkeys(overall["measure"])), list(PART_OF)))}
        ordered = overall.iloc[np.argsort(overall["measure"].map(places).to_numpy(), kind="stable")]
        about = ABOUT_DECISIONS if is_about_decisions(rows) else "" if is_about_associations(rows) else ABOUT
        yield Sheet(str(benchmark), "Answers to questions", ordered, rows_are="scorer", by="all", about=about)
        shown = set(_headlines(rows))
        heads = rows[[key in shown for key in zip(rows["model"], rows["scorer"], rows["measure"], strict=True)]]
        for column in dict.fromkeys(heads["by"]):
            if column != "all":
                ours = heads[heads["by"] == column]
                yield Sheet(str(benchmark), f"Answers by {column}", ours, by=str(column), overall=False)


def _headlines(rows: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    """Yield model, scorer and measure of each model's headline: its first scorer, and the bias score if it is there."""
    for model, ours in rows.groupby("model", sort=False):
        measures = list(dict.fromkeys(ours["measure"]))
        head = next((name for name in (HEAD, *GAPS, ASSOCIATIONS) if name in measures), measures[0])
        yield str(model), str(ours["scorer"].iloc[0]), head
