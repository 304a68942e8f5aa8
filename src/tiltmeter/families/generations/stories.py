"""Sentences about generations: which domains differ between groups, who is told of worst, and who judged, how well."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.families.generations.gaps import MEAN, OF_ALL, SIGN
from tiltmeter.families.kit.story import Story, certain, value_text

if TYPE_CHECKING:
    import pandas as pd

VARIANCE, SCORE, NEGATIVE, POSITIVE, GAP, KAPPA = (
    "score_variance", "mean_score", "negative_share", "positive_share", "score_gap", "judge_kappa",
)  # fmt: skip
JUDGE = "the judge"
MOST_NAMED = 3
CLUSTERED = re.compile(r"(?P<all>[\d,]+ prompts from [\d,]+ (?P<what>\w+s))\b")
"""What the note of an estimate says where clusters were drawn."""


def stories(estimates: pd.DataFrame) -> Iterator[Story]:
    """One per model and benchmark. A domain differs where the variance over its groups is beyond chance."""
    for (model, benchmark), rows in estimates.groupby(["model", "benchmark"], sort=False):
        tested = rows[(rows["measure"] == VARIANCE) & rows["p"].notna()]
        sure = [row for _, row in tested.iterrows() if certain(row)]
        names = ", ".join(dict.fromkeys(f"{row['group']} by {row['scorer'].partition('/')[0]}" for row in sure))
        short = f"Texts differ between groups: {names}" if sure else "No difference between groups beyond chance was found"
        yield Story(
            str(model),
            str(benchmark),
            short if len(tested) else "What is written about groups",
            tuple(_sentences(rows)),
            tone="sure" if sure else "unsure" if len(tested) else "plain",
            number=f"{len(sure)} of {len(tested)}" if len(tested) else "",
            unit="domains by judge" if tested["scorer"].nunique() > 1 else "domains" if len(tested) else "",
        )


def _sentences(rows: pd.DataFrame) -> Iterator[str]:
    for scorer, of_judge in rows[rows["by"] != "judges"].groupby("scorer", sort=False):
        yield from _overall(str(scorer), of_judge)
        yield from _domains(of_judge)
    for _, row in rows[(rows["by"] == "judges") & rows["value"].notna()].iterrows():
        yield f"{row['group']} agree on {row['scorer']} with κ {value_text(row)}."
    yield from _unjudged(rows)
    yield from _drawn(rows)


def _overall(scorer: str, rows: pd.DataFrame) -> Iterator[str]:
    """What the judge says of all texts, and how good it is."""
    of = {row["measure"]: row for _, row in rows[rows["by"] == "all"].iterrows()}
    if NEGATIVE not in of or not np.isfinite(of[NEGATIVE]["value"]):
        return
    positive = of.get(POSITIVE)
    both = f" and {positive['value']:.1%} positive" if positive is not None and np.isfinite(positive["value"]) else ""
    note = next((part for part in str(of[NEGATIVE]["note"]).split("; ") if part.startswith(JUDGE)), "")
    said = CLUSTERED.search(str(of[NEGATIVE]["note"]))
    after = f" after {said['all']}" if said else ""
    texts = f"{of[NEGATIVE]['n']:,} texts{after}"
    yield f"By {scorer}, {of[NEGATIVE]['value']:.1%} of {texts} are negative{both} ({note})."


def _domains(rows: pd.DataFrame) -> Iterator[str]:
    """Where the groups of a domain differ, the groups that stand out."""
    variances = rows[(rows["measure"] == VARIANCE) & rows["p"].notna()]
    for _, domain in variances.iterrows():
        if not certain(domain):
            continue
        ours = rows["group"].str.endswith(f"{SIGN}{OF_ALL}{domain['group']}")
        gaps = rows[(rows["measure"] == GAP) & (rows["by"] == MEAN) & ours]
        out = sorted((row for _, row in gaps.iterrows() if certain(row)), key=lambda row: -abs(row["value"]))
        named = [f"{row['group'].partition(SIGN)[0]} ({row['value']:+.3f})" for row in out[:MOST_NAMED]]
        stand = f"; apart from its mean score: {', '.join(named)}{_more(out)}" if named else ""
        variance = f"variance of mean scores {domain['value']:.2g}, p {_p(domain)}"
        yield f"The groups of {domain['group']} differ ({variance}){stand}."
    alike = [str(row["group"]) for _, row in variances.iterrows() if not certain(row)]
    if alike:
        yield f"No difference beyond chance between the groups of {', '.join(alike)}."


def _more(out: list[Any]) -> str:
    return f" and {len(out) - MOST_NAMED} more" if len(out) > MOST_NAMED else ""


def _p(row: Any) -> str:
    from tiltmeter.stats.significance import p_text

    return p_text(row["p"] if np.isnan(row["p_holm"]) else row["p_holm"])


def _drawn(rows: pd.DataFrame) -> Iterator[str]:
    """What was drawn, where prompts are no independent evidence."""
    notes = rows.loc[(rows["by"] == "all") & (rows["measure"] == NEGATIVE), "note"].astype(str)
    said = next((found for note in notes if (found := CLUSTERED.search(note))), None)
    if said:
        one = said["what"].removesuffix("s")
        why = f"because prompts of one {one} are not independent"
        yield f"The {said['all']} were drawn and dealt by whole {said['what']}, {why}."


def _unjudged(rows: pd.DataFrame) -> Iterator[str]:
    """Texts that nobody could judge; they are in no number."""
    first = rows[(rows["by"] == "all") & (rows["measure"] == NEGATIVE)].head(1)
    for _, row in first.iterrows():
        reasons = Counter(json.loads(row["missing"])) if row["missing"] else Counter()
        if reasons:
            listed = ", ".join(f"{what} ({n:,})" for what, n in reasons.most_common())
            yield f"{sum(reasons.values()):,} of {row['n'] + row['n_missing']:,} texts were not judged: {listed}."
