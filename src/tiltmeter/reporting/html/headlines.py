"""The headline of each model: what leans, how sure that is, and how it compares. Computed, never written by hand."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from tiltmeter.reporting.html.drawing import Scale, axis, bar, tone
from tiltmeter.reporting.html.gathering import Material
from tiltmeter.reporting.html.tabulating import SLOTS, pair_rows
from tiltmeter.reporting.slots import certain, slot_sentences
from tiltmeter.reporting.words import SIGNIFICANT, direction_gap, headline, sentences, types_of, verdict
from tiltmeter.significance import p_text

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = {
    "towards": "leans towards the stereotypes",
    "away": "leans away from the stereotypes",
    "unsure": "no distinguishable lean",
}
LEAST_WIDTH = 10.0
SENTENCE = re.compile(r"(?:^|(?<=\. ))[a-z]")


@dataclass(frozen=True)
class Story:
    """One model on one benchmark."""

    benchmark: str
    verdict: str
    tone: str
    number: str
    unit: str
    text: tuple[str, ...]
    compared: str
    gauge: Markup
    gauge_text: str


@dataclass(frozen=True)
class Card:
    """One model."""

    model: str
    facts: str
    stories: tuple[Story, ...]


def cards(material: Material, comparison: pd.DataFrame | None) -> list[Card]:
    """One per model, in the order in which they were run."""
    scale = _shared_scale(material)
    return [
        Card(model, _facts(material, model), tuple(_stories(material, model, comparison, scale)))
        for model in material.models
    ]


def _shared_scale(material: Material) -> Scale:
    """One for all gauges, in percent, with 50 in the middle, as narrow as the intervals allow."""
    rows = material.estimates
    shares = rows[(rows["measure"] == "lean") & (rows["by"] == "gap")][["value", "low", "high"]].to_numpy(np.float64) * 100
    scored = pair_rows(material)
    heads = [headline(ours) for _, ours in scored.groupby(["model", "benchmark"], sort=False)]
    edges = [head[name] for head in heads if head is not None for name in ("value", "low", "high")]
    far = [abs(edge - 50) for edge in (*edges, *shares.ravel()) if math.isfinite(edge)]
    half = min(50.0, 10.0 * math.ceil(max([LEAST_WIDTH, *far]) / 10))
    return Scale(50 - half, 50 + half, 50.0)


def _stories(material: Material, model: str, comparison: pd.DataFrame | None, scale: Scale) -> Iterator[Story]:
    ours = material.estimates[material.estimates["model"] == model]
    scored = pair_rows(material)
    for benchmark in dict.fromkeys(ours["benchmark"]):
        pairs = scored[(scored["model"] == model) & (scored["benchmark"] == benchmark)]
        if len(pairs):
            yield _of_pairs(pairs, str(benchmark), comparison, scale)
        slots = ours[(ours["scorer"] == SLOTS) & (ours["benchmark"] == benchmark)]
        for said in slot_sentences(slots, _top_k(material)):
            yield _of_slots(slots, str(benchmark), said.removeprefix(f"{model} on {benchmark}: "), scale)
        if not len(pairs) and not len(slots):
            yield _of_associations(ours[ours["benchmark"] == benchmark], str(benchmark))


def _of_associations(rows: pd.DataFrame, benchmark: str) -> Story:
    """How many tests, or groups, differ from 0, and what the sentences say of them."""
    (said,) = sentences(rows)
    text = said.removeprefix(f"{rows['model'].iloc[0]} on {benchmark}: ")
    tested = rows[rows["p_holm"].notna()]
    sure = int((tested["p_holm"] < SIGNIFICANT).sum())
    short = "Associations beyond chance" if sure else "No association beyond chance was found"
    number = f"{sure} of {len(tested)}" if len(tested) else ""
    return Story(benchmark, short, "plain", number, "tests" if number else "", (text,), "", Markup(""), "")


def _of_slots(rows: pd.DataFrame, benchmark: str, text: str, scale: Scale) -> Story:
    """Which of two groups ranks higher in more sentences; of more groups only what the sentences say."""
    text = SENTENCE.sub(lambda found: found[0].upper(), text)
    gaps, leans = (rows[(rows["by"] == "gap") & (rows["measure"] == name)] for name in ("mnt_gap", "lean"))
    if len(gaps) != 1 or not len(leans) or not np.isfinite(leans["value"].iloc[0]):
        return Story(benchmark, "What fills the slots", "plain", "", "", (text,), "", Markup(""), "")
    gap, lean = gaps.iloc[0], leans.iloc[0]
    first, second = str(gap["group"]).split(" − ", 1)
    if certain(lean):
        ahead = leans.loc[leans["value"].idxmax(), "group"].split(" > ", 1)[0]  # equal ranks are on neither side
        short = f"{ahead} terms rank higher in more sentences"
    elif certain(gap):
        short = f"{first if gap['value'] > 0 else second} terms rank higher on average"
    else:
        short = "neither group ranks higher for sure"
    said = f"{first} terms rank higher in {lean['value']:.1%} of the sentences that match both, neutral 50%"
    number, unit = f"{100 * lean['value']:.1f} %", f"{first} ranks higher"
    colour = "sure" if certain(lean) else "unsure"  # neither group is the stereotyped one
    drawn = bar({name: 100 * lean[name] for name in ("value", "low", "high")}, scale, colour) + axis(scale, 4)
    return Story(benchmark, capital(short), colour, number, unit, (text,), "", drawn, said)


def _of_pairs(rows: pd.DataFrame, benchmark: str, comparison: pd.DataFrame | None, scale: Scale) -> Story:
    head, text = headline(rows), tuple(map(capital, verdict(rows)))
    if head is None:
        return Story(benchmark, "No overall lean was computed", "plain", "", "", text, "", Markup(""), "")
    colour, short = _verdict(rows, head)
    interval = f", interval {head['low']:.1f} to {head['high']:.1f}" if math.isfinite(head["low"]) else ""
    said = f"{head['value']:.1f} where {head['neutral']:g} is neutral{interval}"
    unit = "of pairs" if head["measure"] == "bias_score" else "averaged over targets"
    drawn = bar(head, scale, tone(head, leaning=True)) + axis(scale, 4)
    number = f"{head['value']:.1f} %"
    return Story(benchmark, short, colour, number, unit, text, _compared(head, comparison), drawn, said)


def _verdict(rows: pd.DataFrame, head: Any) -> tuple[str, str]:
    """Colour and words. They follow the test that the sentence reports; where leans of parts cancel, they say so."""
    if head["p"] < SIGNIFICANT:
        colour = "towards" if head["value"] > head["neutral"] else "away"
        return colour, capital(VERDICTS[colour])
    types = types_of(rows, head)
    sure = int((types["p_holm"] < SIGNIFICANT).sum())
    parts = f"{sure} of {len(types)} bias types lean{'s' * (sure == 1)}" if sure else ""
    parts = parts or ("the directions differ" if direction_gap(rows, head) is not None else "")
    return "unsure", f"No overall lean can be told, but {parts}" if parts else capital(VERDICTS["unsure"])


def capital(text: str) -> str:
    """A sentence starts with a capital; a name in it keeps its own.

    >>> capital("white and Black terms")
    'White and Black terms'
    """
    return text[:1].upper() + text[1:]


def _compared(head: Any, comparison: pd.DataFrame | None) -> str:
    """The paired difference to the baseline, by the same score and measure."""
    if comparison is None:
        return ""
    keys = ("model", "benchmark", "scorer", "measure")
    rows = comparison[(comparison["by"] == "all") & np.all([comparison[key] == head[key] for key in keys], axis=0)]
    if not len(rows) or not np.isfinite(rows["difference"].iloc[0]):
        return ""
    row = rows.iloc[0]
    points = f"{abs(row['difference']):.1f} points"
    than = f"{points} {'more' if row['difference'] > 0 else 'less'} than" if row["difference"] else "As much as"
    interval = f"interval {row['low']:+.1f} to {row['high']:+.1f}, ".replace("-", "−") if np.isfinite(row["low"]) else ""
    sure = "" if row["p"] < SIGNIFICANT else "not "
    return (
        f"{than} {row['baseline']} on the same {row['n']:,} pairs ({interval}p {p_text(row['p'])}): {sure}distinguishable."
    )


def _facts(material: Material, model: str) -> str:
    """What kind of model it is, as the manifest says."""
    for source in material.sources:
        for one in source.evaluations():
            facts = one["model"]
            if source.models.get(facts.get("shown_as", "")) == model:
                size = facts.get("parameters")
                parts = (facts.get("kind"), facts.get("architecture"), f"{_size(size)} parameters" if size else None)
                return " · ".join(str(part) for part in parts if part)
    return "scores from elsewhere"


def _size(parameters: int) -> str:
    for unit, name in ((1e9, "billion"), (1e6, "million")):
        if parameters >= unit:
            return f"{parameters / unit:.3g} {name}"
    return f"{parameters:,}"


def _top_k(material: Material) -> int:
    frame = None if material.slots is None else material.slots.frame
    return int(frame["top_k"].iloc[0]) if frame is not None and len(frame) else 0
