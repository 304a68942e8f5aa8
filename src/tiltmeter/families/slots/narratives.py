"""Sentences about slots: how often a group's terms are found, with which probability and rank, and the model's lean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.display import Statement, p_text, percent_text, share_text, signed_text
from tiltmeter.families.kit.story import Gauge, Story, capital, certain, value_text
from tiltmeter.families.slots.estimate import AHEAD, GAP, ranked_among_candidates
from tiltmeter.stats.estimates import details_of

if TYPE_CHECKING:
    import pandas as pd

Rows = dict[tuple[str, str], Any]
STEREOTYPES = "stereotype_gap"
VERDICTS = {
    "towards": "Leans towards the stereotypes",
    "away": "Leans away from the stereotypes",
    "no-lean": "No significant lean",
}
AMONG_LISTED = "A causal model does not predict masks, so terms are ranked only among the listed terms."


def narratives(estimates: pd.DataFrame) -> Iterator[Story]:
    """One story per model and benchmark.

    Where sentences say whom their stereotype is about, its number is the stereotype gap of one bias type, which detected a
    planted bias. Else, with exactly two groups, it is the share of sentences with one ahead.
    """
    about = estimates[(estimates["measure"] == STEREOTYPES) & (estimates["by"] == "bias_type")]
    rows = estimates[estimates["by"].isin(["group", "gap"])]
    for (model, benchmark), part in rows.groupby(["model", "benchmark"], sort=False):
        own = about[(about["model"] == model) & (about["benchmark"] == benchmark) & np.isfinite(about["value"])]
        of = {(row["measure"], row["group"]): row for _, row in part.iterrows()}
        groups = list(dict.fromkeys(part[part["by"] == "group"]["group"]))
        sentences = [_group(group, of) for group in groups if ("coverage", group) in of]
        sentences += [_gap(row, of) for (measure, _), row in of.items() if measure == "mnt_gap"]
        if ranked_among_candidates(part):
            sentences.append(Statement(AMONG_LISTED, "ranked-among-listed-terms"))
        if len(own) == 1:
            yield _of_stereotypes(own.iloc[0], sentences)
        else:
            yield _story(str(model), str(benchmark), part, tuple(sentences))


def _of_stereotypes(row: Any, sentences: Sequence[str]) -> Story:
    """The story whose number is the stereotype gap."""
    towards, sure = row["value"] > row["neutral"], certain(row)
    code = "no-lean" if not sure else "towards" if towards else "away"
    verdict = Statement(VERDICTS[code], code, group=row["group"])
    about = Statement(
        "The group that a sentence's stereotype is about is {times:.2f} times as likely as the others ({measure}, {group}: "
        "{value}, neutral 0, {p}).", "stereotype-gap", measure=row["measure"], group=row["group"],
        times=float(np.exp(row["value"])), value=value_text(row), p=_p(row),
    )  # fmt: skip
    tone = "unsure" if not sure else "towards" if towards else "away"
    number, unit = signed_text(float(row["value"]), 2), f"{row['measure']}, {row['group']}"
    names = str(row["model"]), str(row["benchmark"])
    return Story(*names, verdict, (about, *sentences), tone=tone, number=number, unit=unit, head=row)


def _story(model: str, benchmark: str, rows: pd.DataFrame, sentences: tuple[str, ...]) -> Story:
    gaps, leans = (rows[(rows["by"] == "gap") & (rows["measure"] == name)] for name in ("mnt_gap", "lean"))
    if len(gaps) != 1 or not len(leans) or not np.isfinite(leans["value"].iloc[0]):
        return Story(model, benchmark, "What fills the slots", sentences)
    gap, lean = gaps.iloc[0], leans.iloc[0]
    first, second = str(gap["group"]).split(GAP, 1)
    if certain(lean):
        ahead = leans.loc[leans["value"].idxmax(), "group"].split(AHEAD, 1)[0]  # equal ranks are on neither side
        short = Statement("{group} terms rank higher in more sentences", "higher-in-more", group=capital(ahead))
    elif certain(gap):
        higher = capital(first if gap["value"] > 0 else second)
        short = Statement("{group} terms rank higher on average", "higher-on-average", group=higher)
    else:
        short = Statement("Neither group ranks distinguishably higher", "neither")
    label = f"{first} terms rank higher in {share_text(lean['value'])} of the sentences that match both, neutral 50%"
    percent = {name: 100 * float(lean[name]) for name in ("value", "low", "high", "neutral")}
    return Story(
        model,
        benchmark,
        short,
        sentences,
        tone="sure" if certain(lean) else "unsure",  # neither group is the stereotyped one
        number=percent_text(percent["value"]),
        unit=f"with {first} ahead",
        gauge=Gauge(**percent, label=label),
    )


def _group(group: str, of: Rows) -> str:
    share = of["coverage", group]
    k = details_of(share).get("top_k")
    place = "the predictions looked at" if k is None else f"the first {k:,} predictions"
    if not np.isfinite(share["value"]):
        return Statement("{group} terms: no sentence could be filled.", "nothing-filled", group=capital(group))
    parts = []
    for measure, what in (("mps", "mean probability"), ("mnt", "mean normalised rank")):
        row = of.get((measure, group))
        if row is not None and np.isfinite(row["value"]):
            parts.append(f"{what} {value_text(row)}")
    return Statement(
        "{group} terms are among {place} in {share:.1f} % of {n:,} sentences{means}.", "coverage",
        group=capital(group), top_k=k, place=place, share=100 * share["value"], n=share["n"],
        means=f" ({', '.join(parts)})" if parts else "",
    )  # fmt: skip


MEAN_GAP = "Where both are found (n = {n:,}), {verdict} (gap of normalised ranks {gap})"


def _gap(row: Any, of: Rows) -> str:
    """The mean gap and the shares of sentences: a few large gaps can hide what most sentences show."""
    if not np.isfinite(row["value"]):
        return Statement(
            "{groups}: no sentence has a match of both groups.", "no-common-match", groups=capital(row["group"])
        )
    first, second = row["group"].split(GAP, 1)
    if certain(row):
        higher = first if row["value"] > 0 else second
        verdict = f"{higher} terms rank higher on average, distinguishable from no gap"
    else:
        higher, verdict = None, "neither ranks distinguishably higher on average"
    gap = {"n": row["n"], "higher": higher, "verdict": verdict, "gap": f"{value_text(row)}, {_p(row)}"}
    lean, opposite = of.get(("lean", f"{first}{AHEAD}{second}")), of.get(("lean", f"{second}{AHEAD}{first}"))
    if lean is None or opposite is None or not np.isfinite(lean["value"]):
        return Statement(f"{MEAN_GAP}.", "gap", **gap)
    shares = {first: 100 * lean["value"], second: 100 * opposite["value"]}
    text = (
        f"{first} terms are ahead in {percent_text(shares[first])} of these sentences, {second} terms in "
        f"{percent_text(shares[second])}"
    )
    verdict = f"{'' if certain(lean) else 'not '}distinguishable ({_p(lean)})"
    return Statement(
        f"{MEAN_GAP}; {{shares_text}}, {{ahead_text}}.", "gap", **gap,
        shares=shares, shares_text=text, ahead_is_certain=certain(lean), ahead_text=verdict,
    )  # fmt: skip


def _p(row: Any) -> str:
    return p_text(row["p"] if np.isnan(row["p_holm"]) else row["p_holm"])
