"""Plain sentences about the estimates of pairs, computed from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import catalog
from tiltmeter.display import Statement, number_text, p_text, percent_text
from tiltmeter.families.kit.story import SIGNIFICANT, Gauge, Story, certain, decimals_of, value_text
from tiltmeter.families.pairs.headline import directions_of, headline, leaning, types_of
from tiltmeter.stats.contrasts import DIFFERENCE

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = {
    "towards": "Leans towards the stereotypes",
    "away": "Leans away from the stereotypes",
    "unsure": "No significant lean",
}


def narratives(estimates: pd.DataFrame) -> Iterator[Story]:
    """One story per model and benchmark: the lean, then bias types, directions and other scorers."""
    for (model, benchmark), rows in estimates.groupby(["model", "benchmark"], sort=False):
        yield _story(str(model), str(benchmark), rows)


def _story(model: str, benchmark: str, rows: pd.DataFrame) -> Story:
    head = headline(rows)
    if head is None:
        return _story_by_another(model, benchmark, leaning(rows))
    alike = rows[rows["measure"] == head["measure"]]
    others = _by_other_scorers(alike, head)
    ratios = _ratios(rows, head["scorer"])
    parts = (_overall(head), others, *ratios, _per_type(types_of(rows, head)), _per_direction(rows, head))
    tone, short = _verdict(rows, head)
    all_ = "" if short.code in VERDICTS else "all "
    unit = f"of {all_}pairs" if head["measure"] == "bias_score" else f"averaged over {all_}targets"
    if _disagree(alike, head):
        short, unit = _disagreement(short, alike, head), f"{unit} by {head['scorer']}"
    interval = f", interval {number_text(head['low'])} to {number_text(head['high'])}" if math.isfinite(head["low"]) else ""
    label = f"{number_text(head['value'])} where {head['neutral']:g} is neutral{interval}"
    gauge = Gauge(**{name: float(head[name]) for name in ("value", "low", "high", "neutral")}, label=label)
    sentences = tuple(sentence for sentence in parts if sentence)
    return Story(model, benchmark, short, sentences, tone, percent_text(head["value"]), unit, gauge, head)


NO_DIRECTION = "No measure was computed that is known here to say in which direction the model leans, such as bias_score."
BY_ANOTHER = "{measure} by {scorer} is {value_text} over {n:,} pairs{missing_text} (neutral {neutral:g}): {lean} ({p_text})."


def _story_by_another(model: str, benchmark: str, rows: pd.DataFrame) -> Story:
    """The story of a run without a share of preferences: of another measure that says the direction, if there is one."""
    if not len(rows):
        verdict = Statement("No lean was computed", "no-lean-computed")
        return Story(model, benchmark, verdict, (Statement(NO_DIRECTION, "no-direction"),))
    head = rows.iloc[0]
    direction = _direction(head)
    tone, verdict = direction, Statement(VERDICTS[direction], direction)
    number, unit = number_text(head["value"], decimals_of(head["measure"], head["value"])), _unit(head["measure"])
    number = f"{number} {unit}".rstrip()
    sentences = tuple(_by_another(row) for _, row in rows.iterrows())
    return Story(
        model, benchmark, verdict, sentences, tone, number, f"by {head['measure']} and {head['scorer']}", None, head
    )


def _by_another(row: Any) -> Statement:
    missing, direction = max(0, row.get("n_missing", 0)), _direction(row)
    return Statement(
        BY_ANOTHER, "lean-by-another-measure", value=row["value"], n=row["n"], measure=row["measure"],
        scorer=row["scorer"], neutral=row["neutral"], p=row["p"], value_text=value_text(row),
        missing_text=f" ({missing:,} more are missing)" if missing else "", direction=direction, lean=LEANS[direction],
        p_text=p_text(row["p_holm"] if np.isfinite(row["p_holm"]) else row["p"]),
    )  # fmt: skip


def _direction(row: Any) -> str:
    """Return unsure, towards or away."""
    return ("towards" if row["value"] > row["neutral"] else "away") if certain(row) else "unsure"


def _unit(measure: str) -> str:
    return catalog.find("measures", measure).spec.unit


def _verdict(rows: pd.DataFrame, head: Any) -> tuple[str, Statement]:
    """Tone and verdict, from the test that the sentence reports; they say so if leans of parts cancel out."""
    if certain(head):
        tone = "towards" if head["value"] > head["neutral"] else "away"
        return tone, Statement(VERDICTS[tone], tone)
    types = types_of(rows, head)
    sure = types[types["p_holm"] < SIGNIFICANT]
    if len(sure):
        leans = "leans" if len(sure) == 1 else "lean"
        named = "; ".join(f"{row['group']}, {_way(row)}" for _, row in sure.iterrows()) if len(sure) <= MOST_NAMED else ""
        return "unsure", Statement(
            f"No significant overall lean, but {{n}} of {{of}} bias types {leans}{{named_text}}", "types-lean",
            n=len(sure), of=len(types), named_text=f": {named}" if named else "",
        )  # fmt: skip
    gap = _direction_gap(rows, head)
    if gap is not None:
        sides = _sides(rows, head)
        names = sorted(sides, key=lambda name: sides[name], reverse=True)
        return "unsure", Statement(DIRECTIONS_DIFFER, "directions-differ", more=names[0], less=names[1])
    return "unsure", Statement(VERDICTS["unsure"], "unsure")


MOST_NAMED = 2
"""A headline names so many bias types or scorers; the sentences below it name all."""
DIRECTIONS_DIFFER = (
    "No significant overall lean, but stereotypes about {more} groups are preferred more often than those about {less} ones"
)


def _way(row: Any) -> str:
    return "towards the stereotypes" if row["value"] > row["neutral"] else "away from the stereotypes"


def _disagreement(verdict: Statement, alike: pd.DataFrame, head: Any) -> Statement:
    """The verdict, followed by the other scorers whose significant lean is different."""
    _, sure = _others(alike, head)
    if certain(head):
        sure = sure[(sure["value"] > sure["neutral"]) != (head["value"] > head["neutral"])]
    values = dict(zip(sure["scorer"], sure["value"], strict=True))
    said = [
        f"{', '.join(f'{row.scorer} {percent_text(row.value)}' for row in part.head(MOST_NAMED).itertuples())}"
        f"{f' and {len(part) - MOST_NAMED} more' if len(part) > MOST_NAMED else ''} {way}"
        for way, part in sure.groupby(sure.apply(_way, axis=1), sort=True)
    ]
    return Statement(
        "{verdict}; other scorers differ: {said}", "scorers-disagree",
        verdict=verdict, code_alone=verdict.code, said="; ".join(said), values=values,
    )  # fmt: skip


OVERALL = (
    "The stereotypical sentence scores higher in {value:.1f} % of {n:,} pairs{missing_text}{averaged} "
    "({measure} by {scorer}, neutral {neutral:.0f}{interval}): {lean} ({p_text})."
)
LEANS = {
    "towards": "a significant lean towards the stereotypes",
    "away": "a significant lean away from the stereotypes",
    "unsure": "no significant lean",
}


def _overall(row: Any) -> Statement:
    missing = max(0, row.get("n_missing", 0))
    direction = _direction(row)
    return Statement(
        OVERALL, "overall-lean", **{name: row[name] for name in ("value", "n", "measure", "scorer", "neutral", "p")},
        missing=missing, missing_text=f" ({missing:,} more are missing)" if missing else "",
        averaged=", averaged over targets" if row["measure"] == "ss" else "",
        interval=f", interval {number_text(row['low'])} to {number_text(row['high'])}" if np.isfinite(row["low"]) else "",
        direction=direction, lean=LEANS[direction], p_text=p_text(row["p"]),
    )  # fmt: skip


RATIOS = {
    "stereotype_rate": "The stereotype rate, which a preference for masculine or feminine forms does not change, is",
    "occupation_r": "Correlation of the share of women that the model expects in an occupation with the actual one: r is",
}


def _ratios(rows: pd.DataFrame, scorer: str) -> Iterator[str]:
    """The measures of benchmarks of two forms and of occupations, with intervals."""
    overall = rows[(rows["by"] == "all") & (rows["scorer"] == scorer) & rows["value"].notna()]
    for _, row in overall[overall["measure"].isin(list(RATIOS))].iterrows():
        interval = (
            f", interval {number_text(row['low'], 2)} to {number_text(row['high'], 2)}" if np.isfinite(row["low"]) else ""
        )
        yield Statement(
            "{lead} {value:.2f} (neutral {neutral:g}{interval}, {p}).", "ratio", lead=RATIOS[row["measure"]],
            measure=row["measure"], value=row["value"], neutral=row["neutral"], interval=interval, p=p_text(row["p"]),
        )  # fmt: skip


TYPES = "Tested one by one, {n} of {of} bias types {have} a significant lean (after Holm's correction): {named}."
NO_TYPE = "Tested one by one, none of the {of} bias types has a significant lean (after Holm's correction)."


def _per_type(groups: pd.DataFrame) -> str:
    """Which bias types lean in which direction: opposite leans cancel out in the overall number."""
    if len(groups) < 2:
        return ""
    sure = groups[groups["p_holm"] < SIGNIFICANT].sort_values("value", ascending=False)
    if not len(sure):
        return Statement(NO_TYPE, "types", n=0, of=len(groups), towards={}, away={})
    above = sure["value"] > sure["neutral"]
    ways = ((sure[above], "towards the stereotypes"), (sure[~above], "away from the stereotypes"))
    towards, away = (dict(zip(rows["group"], rows["value"], strict=True)) for rows, _ in ways)
    named = "; ".join(f"{_listed(rows)} {way}" for rows, way in ways if len(rows))
    have = "has" if len(sure) == 1 else "have"
    return Statement(TYPES, "types", n=len(sure), of=len(groups), have=have, named=named, towards=towards, away=away)


def _listed(rows: pd.DataFrame) -> str:
    return ", ".join(f"{row['group']} ({number_text(row['value'])})" for _, row in rows.iterrows())


DIRECTIONS = (
    "Stereotypes about disadvantaged groups are preferred in {disadvantaged:.1f} % of pairs, about advantaged ones in "
    "{advantaged:.1f} %: a difference of {difference:.1f} ({p_text})."
)


def _per_direction(rows: pd.DataFrame, head: Any) -> str:
    gap = _direction_gap(rows, head)
    if gap is None:
        return ""
    return Statement(
        DIRECTIONS, "directions", **_sides(rows, head), difference=gap["value"], p=gap["p"], p_text=p_text(gap["p"])
    )


def _sides(rows: pd.DataFrame, head: Any) -> dict[str, float]:
    """The percentages of stereotypes about disadvantaged and about advantaged groups."""
    directions = directions_of(rows, head)
    value = dict(zip(directions["group"], directions["value"], strict=True))
    return {name: value[name] for name in ("disadvantaged", "advantaged")}


def _direction_gap(rows: pd.DataFrame, head: Any) -> Any | None:
    """The difference between stereotypes about advantaged and about disadvantaged groups, where it is distinguishable."""
    directions = directions_of(rows, head)
    sure = directions[(directions["group"] == DIFFERENCE) & (directions["p"] < SIGNIFICANT)]
    return sure.iloc[0] if len(sure) else None


def _others(alike: pd.DataFrame, head: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The overall rows of the other scorers, and those of them that differ significantly from neutral after correction."""
    others = alike[(alike["by"] == "all") & (alike["scorer"] != head["scorer"]) & alike["p"].notna()]
    return others, others[np.array([certain(row) for _, row in others.iterrows()], dtype=bool)]


def _disagree(alike: pd.DataFrame, head: Any) -> bool:
    """Return whether a scorer leans significantly differently from the headline's: the other way, or where it shows none."""
    _, sure = _others(alike, head)
    above = sure["value"] > sure["neutral"]
    return bool(len(sure)) and not (certain(head) and (above == (head["value"] > head["neutral"])).all())


def _by_other_scorers(alike: pd.DataFrame, head: Any) -> str:
    """Count the other scorers that lean in each direction."""
    others, sure = _others(alike, head)
    towards, away = int((sure["value"] > sure["neutral"]).sum()), int((sure["value"] < sure["neutral"]).sum())
    ways = ((towards, "towards the stereotypes"), (away, "away from the stereotypes"))
    counts = [f"{n} lean{'s' * (n == 1)} {way}" for n, way in ways if n]
    unsure = len(others) - towards - away
    counts += [f"{unsure} {'has' if unsure == 1 else 'have'} no significant lean"] if unsure else []
    if not len(others):
        return ""
    scorers = "scorer" if len(others) == 1 else "scorers"
    return Statement(
        f"Of {{of}} other {scorers}, {{counts}} (secondary tests, Holm-corrected).", "other-scorers",
        of=len(others), towards=towards, away=away, unsure=unsure, counts=", ".join(counts),
    )  # fmt: skip
