"""What fills the slots, in words: how often a group is found, how likely, how high, and which way the model leans."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.families.kit.story import Gauge, Story, capital, certain, value_text
from tiltmeter.families.slots.estimate import AHEAD, AMONG_CANDIDATES, GAP
from tiltmeter.stats.significance import p_text

if TYPE_CHECKING:
    import pandas as pd

Rows = dict[tuple[str, str], Any]
K = re.compile(r"among the first ([\d,]+) predictions")


def stories(estimates: pd.DataFrame) -> Iterator[Story]:
    """Per model and benchmark; of two groups the share of sentences in which each is ahead, of more only sentences."""
    rows = estimates[estimates["by"].isin(["group", "gap"])]
    for (model, benchmark), ours in rows.groupby(["model", "benchmark"], sort=False):
        of = {(row["measure"], row["group"]): row for _, row in ours.iterrows()}
        groups = list(dict.fromkeys(ours[ours["by"] == "group"]["group"]))
        said = [_group(group, of) for group in groups if ("coverage", group) in of]
        said += [_gap(row, of) for (measure, _), row in of.items() if measure == "mnt_gap"]
        if ours["note"].str.contains(AMONG_CANDIDATES, regex=False).any():
            said.append("As a causal model predicts no mask, terms are ranked among the listed terms only.")
        yield _story(str(model), str(benchmark), ours, tuple(map(capital, said)))


def _story(model: str, benchmark: str, rows: pd.DataFrame, said: tuple[str, ...]) -> Story:
    gaps, leans = (rows[(rows["by"] == "gap") & (rows["measure"] == name)] for name in ("mnt_gap", "lean"))
    if len(gaps) != 1 or not len(leans) or not np.isfinite(leans["value"].iloc[0]):
        return Story(model, benchmark, "What fills the slots", said)
    gap, lean = gaps.iloc[0], leans.iloc[0]
    first, second = str(gap["group"]).split(GAP, 1)
    if certain(lean):
        ahead = leans.loc[leans["value"].idxmax(), "group"].split(AHEAD, 1)[0]  # equal ranks are on neither side
        short = f"{ahead} terms rank higher in more sentences"
    elif certain(gap):
        short = f"{first if gap['value'] > 0 else second} terms rank higher on average"
    else:
        short = "neither group ranks distinguishably higher"
    label = f"{first} terms rank higher in {lean['value']:.1%} of the sentences that match both, neutral 50%"
    percent = {name: 100 * float(lean[name]) for name in ("value", "low", "high", "neutral")}
    return Story(
        model,
        benchmark,
        capital(short),
        said,
        tone="sure" if certain(lean) else "unsure",  # neither group is the stereotyped one
        number=f"{percent['value']:.1f} %",
        unit=f"{first} ranks higher",
        gauge=Gauge(**percent, label=label),
    )


def _group(group: str, of: Rows) -> str:
    share = of["coverage", group]
    k = K.search(str(share["note"]))
    place = f"the first {k[1]} predictions" if k else "the predictions looked at"
    among = f"{group} terms are among {place} in {share['value']:.0%} of {share['n']:,} sentences"
    if not np.isfinite(share["value"]):
        return f"{group} terms: no sentence could be asked."
    parts = []
    for measure, what in (("mps", "mean probability"), ("mnt", "mean normalised rank")):
        row = of.get((measure, group))
        if row is not None and np.isfinite(row["value"]):
            parts.append(f"{what} {value_text(row)}")
    return f"{among} ({', '.join(parts)})." if parts else f"{among}."


def _gap(row: Any, of: Rows) -> str:
    """The mean gap, and the shares of sentences: a few wide gaps can hide what most sentences show."""
    if not np.isfinite(row["value"]):
        return f"{row['group']}: no sentence has a match of both."
    first, second = row["group"].split(GAP, 1)
    if certain(row):
        verdict = f"{first if row['value'] > 0 else second} terms rank higher on average, distinguishable from no gap"
    else:
        verdict = "neither ranks distinguishably higher on average"
    said = f"Where both are found (n = {row['n']:,}), {verdict} (gap of normalised ranks {value_text(row)}, {_p(row)})"
    ours, theirs = (of.get(("lean", f"{one}{AHEAD}{other}")) for one, other in ((first, second), (second, first)))
    if ours is None or theirs is None or not np.isfinite(ours["value"]):
        return f"{said}."
    shares = f"{first} terms are ahead in {ours['value']:.0%} of these sentences, {second} terms in {theirs['value']:.0%}"
    return f"{said}; {shares}, {'' if certain(ours) else 'not '}distinguishable ({_p(ours)})."


def _p(row: Any) -> str:
    return f"p {p_text(row['p'] if np.isnan(row['p_holm']) else row['p_holm'])}"
