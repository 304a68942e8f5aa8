"""Decisions and associations in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.benchmarks.kit.decisions import GROUP_COLUMNS
from tiltmeter.display import Statement, number_text, p_text, signed_text
from tiltmeter.families.kit.story import Story, certain, value_text

if TYPE_CHECKING:
    import pandas as pd

OMNIBUS, GAPS, ASSOCIATIONS = "kendall_w", ("log_odds_gap", "selection_gap"), "iat_score"
FOUR_FIFTHS = 0.8
MOST_GROUPS = 4
ABOUT = (
    "Gaps compare a group with the other groups of the same case; 0 is neutral. impact_ratio is the selection rate divided "
    "by that of the group with the highest rate; 0.8 is the line of the four-fifths rule. Intervals resample cases."
)


def is_about_decisions(rows: pd.DataFrame) -> bool:
    """Return whether estimates are of decisions."""
    return OMNIBUS in set(rows["measure"]) or "selection_rate" in set(rows["measure"])


def is_about_associations(rows: pd.DataFrame) -> bool:
    """Return whether estimates are of words given to groups."""
    return ASSOCIATIONS in set(rows["measure"])


def decision_story(model: str, benchmark: str, scorer: str, rows: pd.DataFrame) -> Story:
    """Report whether decisions differ between groups: one test over all groups, then the groups that stand out."""
    overall = rows[(rows["measure"] == OMNIBUS) & (rows["by"] == "all")]
    head = None if not len(overall) else overall.iloc[0]
    if head is None or not np.isfinite(head["p"]):
        verdict, tone = "Too few complete cases for a test over all groups", "plain"
    elif certain(head):
        verdict, tone = "Decisions differ between groups", "towards"
    else:
        verdict, tone = "No significant difference between groups", "unsure"
    number = "" if head is None or np.isnan(head["value"]) else number_text(head["value"], 2)
    sentences = tuple(_decision_sentences(scorer, head, rows))
    return Story(model, benchmark, verdict, sentences, tone=tone, number=number, unit=f"{OMNIBUS}, {scorer}", head=head)


def _decision_sentences(scorer: str, head: Any, rows: pd.DataFrame) -> Iterator[str]:
    if head is not None and np.isfinite(head["p"]):
        yield Statement(
            "Agreement of the cases on a ranking of the groups ({measure}, {scorer}): {value:.3f}, {p}.", "agreement",
            measure=OMNIBUS, scorer=scorer, value=head["value"], p=p_text(head["p"]),
        )  # fmt: skip
    for measure in GAPS:
        groups = rows[(rows["measure"] == measure) & rows["by"].isin(GROUP_COLUMNS)]
        found = sorted((row for _, row in groups.iterrows() if certain(row)), key=lambda row: -abs(row["value"]))
        if found:
            named = "; ".join(f"{row['group']}: {value_text(row)}" for row in found[:MOST_GROUPS])
            yield Statement(
                "{measure}, significant after correction in {n} of {of} groups: {named}.", "groups", measure=measure,
                n=len(found), of=len(groups), named=named,
            )  # fmt: skip
            break
    below = rows[(rows["measure"] == "impact_ratio") & (rows["high"] < FOUR_FIFTHS)]
    if len(below):
        yield Statement(
            "Whole interval of impact_ratio below four fifths: {named}.", "four-fifths", named=", ".join(below["group"])
        )
    refused = rows[(rows["measure"] == "unparsed_share") & (rows["by"] == "all") & (rows["value"] > 0)]
    for _, row in refused.iterrows():
        text = "{share:.1f} % of the decisions have no answer; unparsed_share lists them by group."
        yield Statement(text, "missing", share=row["value"])


def association_story(model: str, benchmark: str, scorer: str, rows: pd.DataFrame) -> Story:
    """Report whether words are assigned to groups as a stereotype has it."""
    ours = rows[rows["measure"] == ASSOCIATIONS]
    overall = ours[ours["by"] == "all"]
    head = None if not len(overall) else overall.iloc[0]
    if head is None or np.isnan(head["value"]):
        return Story(model, benchmark, "No list of words could be scored", (), unit=f"{ASSOCIATIONS}, {scorer}", head=head)
    sure = certain(head)
    side = "follow" if head["value"] > 0 else "oppose"
    verdict = f"Associations {side} the stereotypes" if sure else "No significant association with the stereotypes"
    tone = "unsure" if not sure else "towards" if head["value"] > 0 else "away"
    facts = {"measure": ASSOCIATIONS, "scorer": scorer, "value": head["value"], "estimate": value_text(head)}
    sentences = [Statement("Mean score ({measure}, {scorer}): {estimate}.", "mean", **facts)]
    if head["n_missing"]:
        missing = int(head["n_missing"])
        sentences.append(Statement("{n:,} answers could not be scored and are not counted.", "missing", n=missing))
    return Story(
        model, benchmark, verdict, tuple(sentences), tone=tone, number=signed_text(head['value'], 2),
        unit=f"{ASSOCIATIONS}, {scorer}", head=head,
    )  # fmt: skip
