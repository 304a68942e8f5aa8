"""Plain sentences about the estimates of pairs, computed from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.families.kit.story import SIGNIFICANT, Gauge, Story, capital, certain
from tiltmeter.families.pairs.contrasts import DIFFERENCE
from tiltmeter.families.pairs.headline import directions_of, headline, types_of
from tiltmeter.stats.significance import p_text

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = {
    "towards": "leans towards the stereotypes",
    "away": "leans away from the stereotypes",
    "unsure": "no distinguishable lean",
}


def narratives(estimates: pd.DataFrame) -> Iterator[Story]:
    """One story per model and benchmark: the lean, then bias types, directions and other scorers."""
    for (model, benchmark), rows in estimates.groupby(["model", "benchmark"], sort=False):
        yield _story(str(model), str(benchmark), rows)


def _story(model: str, benchmark: str, rows: pd.DataFrame) -> Story:
    head = headline(rows)
    if head is None:
        only = "Neither bias_score nor ss was computed. The other measures do not say in which direction the model leans."
        return Story(model, benchmark, "No overall lean was computed", (only,))
    alike = rows[rows["measure"] == head["measure"]]
    others = _by_other_scorers(alike, head)
    ratios = _ratios(rows, head["scorer"])
    parts = (_overall(head), others, *ratios, _per_type(types_of(rows, head)), _per_direction(rows, head))
    tone, short = _verdict(rows, head)
    short += "; scorers disagree" if _disagree(alike, head) else ""
    interval = f", interval {head['low']:.1f} to {head['high']:.1f}" if math.isfinite(head["low"]) else ""
    label = f"{head['value']:.1f} where {head['neutral']:g} is neutral{interval}"
    gauge = Gauge(**{name: float(head[name]) for name in ("value", "low", "high", "neutral")}, label=label)
    unit = "of pairs" if head["measure"] == "bias_score" else "averaged over targets"
    sentences = tuple(capital(sentence) for sentence in parts if sentence)
    return Story(model, benchmark, short, sentences, tone, f"{head['value']:.1f} %", unit, gauge, head)


def _verdict(rows: pd.DataFrame, head: Any) -> tuple[str, str]:
    """Tone and verdict, from the test that the sentence reports; they say so if leans of parts cancel out."""
    if certain(head):
        tone = "towards" if head["value"] > head["neutral"] else "away"
        return tone, capital(VERDICTS[tone])
    types = types_of(rows, head)
    sure = int((types["p_holm"] < SIGNIFICANT).sum())
    parts = f"{sure} of {len(types)} bias types lean{'s' * (sure == 1)}" if sure else ""
    parts = parts or ("the directions differ" if _direction_gap(rows, head) is not None else "")
    return "unsure", f"No overall lean is distinguishable, but {parts}" if parts else capital(VERDICTS["unsure"])


def _overall(row: Any) -> str:
    share = f"the stereotypical sentence scores higher in {row['value']:.1f} % of {row['n']:,} pairs"
    share += f" ({row['n_missing']:,} more are missing)" if row.get("n_missing", 0) > 0 else ""
    share += ", averaged over targets" if row["measure"] == "ss" else ""
    how = f"{row['measure']} by {row['scorer']}, neutral {row['neutral']:.0f}"
    interval = f", interval {row['low']:.1f} to {row['high']:.1f}" if np.isfinite(row["low"]) else ""
    if certain(row):
        side = "towards" if row["value"] > row["neutral"] else "away from"
        verdict = f"a lean {side} the stereotypes that is distinguishable from neutral (p {p_text(row['p'])})"
    else:
        verdict = f"not distinguishable from neutral (p {p_text(row['p'])})"
    return f"{share} ({how}{interval}): {verdict}."


RATIOS = {
    "stereotype_rate": "the stereotype rate, which a liking for men's or women's forms leaves alone, is",
    "occupation_r": "the percentage of women that the model expects in an occupation goes with that in fact: r is",
}


def _ratios(rows: pd.DataFrame, scorer: str) -> Iterator[str]:
    """The measures of benchmarks of two forms and of occupations, with intervals."""
    overall = rows[(rows["by"] == "all") & (rows["scorer"] == scorer) & rows["value"].notna()]
    for _, row in overall[overall["measure"].isin(list(RATIOS))].iterrows():
        interval = f", interval {row['low']:.2f} to {row['high']:.2f}" if np.isfinite(row["low"]) else ""
        yield f"{RATIOS[row['measure']]} {row['value']:.2f} (neutral {row['neutral']:g}{interval}, p {p_text(row['p'])})."


def _per_type(groups: pd.DataFrame) -> str:
    """Which bias types lean in which direction: opposite leans cancel out in the overall number."""
    if len(groups) < 2:
        return ""
    sure = groups[groups["p_holm"] < SIGNIFICANT].sort_values("value", ascending=False)
    after = "after Holm's correction"
    if not len(sure):
        return f"Tested one by one, none of the {len(groups)} bias types is distinguishable from neutral ({after})."
    above = sure["value"] > sure["neutral"]
    ways = ((sure[above], "towards the stereotypes"), (sure[~above], "away from the stereotypes"))
    named = [f"{_listed(rows)} {way}" for rows, way in ways if len(rows)]
    are = "is" if len(sure) == 1 else "are"
    return (
        f"Tested one by one, {len(sure)} of {len(groups)} bias types {are} distinguishable from neutral ({after}): "
        f"{'; '.join(named)}."
    )


def _listed(rows: pd.DataFrame) -> str:
    return ", ".join(f"{row['group']} ({row['value']:.1f})" for _, row in rows.iterrows())


def _per_direction(rows: pd.DataFrame, head: Any) -> str:
    gap = _direction_gap(rows, head)
    if gap is None:
        return ""
    directions = directions_of(rows, head)
    value = dict(zip(directions["group"], directions["value"], strict=True))
    return (
        f"Stereotypes about disadvantaged groups are preferred in {value['disadvantaged']:.1f} % of pairs, about advantaged "
        f"ones in {value['advantaged']:.1f} %: a difference of {gap['value']:.1f} (p {p_text(gap['p'])})."
    )


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
    counts += [f"{unsure} {'is' if unsure == 1 else 'are'} not distinguishable from neutral"] if unsure else []
    many = f"Of {len(others)} other scorer{'s' * (len(others) > 1)}, "
    return f"{many}{', '.join(counts)} (secondary tests, Holm-corrected)." if len(others) else ""
