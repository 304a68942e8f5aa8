"""The words by which a benchmark names the two groups of a pair: what differs between its sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.families.pairs.words import change_of

ADVANTAGED, DISADVANTAGED = "advantaged", "disadvantaged"
# Words with an everyday meaning that has nothing to do with groups; the paper leaves such words out (black, white).
AMBIGUOUS = ("black", "white", "brown", "yellow", "red", "dark", "light", "straight")
# Function words change along with the group word but do not name a group. Pronouns do, so they stay.
FUNCTION_WORDS = frozenset(
    """a an the of in on at by for from with without to into onto over under about after before and or but nor so as than
    that this these those it its they them their theirs there here who whom whose which what when where why how is are was
    were be been being am has have had having do does did doing done will would can could should may might must shall not
    no never always often very too also just only even still i you we my your our me us all any some each every both few
    many much more most other another such own same if then because while until up down out off again go goes went gone
    going get gets got getting make makes made one two don't doesn't didn't isn't aren't wasn't weren't can't couldn't won't
    wouldn't shouldn't hasn't haven't hadn't""".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class GroupWords:
    """Bias type → group → word → number of pairs; and the words left out, with the reason."""

    kept: dict[str, dict[str, Counter[str]]]
    left_out: list[dict[str, Any]]


def group_words(items: Any, ambiguous: Sequence[str], least: int) -> GroupWords:
    """Words by group: in rows about a disadvantaged group the stereotypical sentence names it, in others the other one."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    for row in items[items["direction"].isin((ADVANTAGED, DISADVANTAGED))].to_dict("records"):
        change = change_of(row["stereo"], row["anti"])
        sides = (DISADVANTAGED, ADVANTAGED) if row["direction"] == DISADVANTAGED else (ADVANTAGED, DISADVANTAGED)
        of_type = counts.setdefault(row["bias_type"], {ADVANTAGED: Counter(), DISADVANTAGED: Counter()})
        for side, changed in zip(sides, (change.stereo, change.anti), strict=True):
            of_type[side].update({word.removesuffix("'s") for word in changed})
    left_out: list[dict[str, Any]] = []
    kept = {name: _sorted_out(name, of_type, ambiguous, least, left_out) for name, of_type in sorted(counts.items())}
    return GroupWords(kept, left_out)


def _sorted_out(
    name: str, of_type: dict[str, Counter[str]], ambiguous: Sequence[str], least: int, left_out: list[dict[str, Any]]
) -> dict[str, Counter[str]]:
    """Assigns a word of both groups to the one with more pairs. A tie goes to the advantaged group, as in the paper's
    Table 2: doctor, and for sexual orientation husband and wife, are in as many pairs of either.
    """
    kept: dict[str, Counter[str]] = {ADVANTAGED: Counter(), DISADVANTAGED: Counter()}
    for word in sorted(set(of_type[ADVANTAGED]) | set(of_type[DISADVANTAGED])):
        side = max((ADVANTAGED, DISADVANTAGED), key=lambda group: of_type[group][word])
        pairs = of_type[side][word]
        why = (
            "ambiguous" if word in ambiguous else "function word" if word in FUNCTION_WORDS
            else f"in fewer than {least} pairs" if pairs < least else None
        )  # fmt: skip
        if why:
            left_out.append({"bias_type": name, "word": word, "why": why, "pairs": pairs})
        else:
            kept[side][word] = pairs
    return kept
