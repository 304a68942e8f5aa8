"""The words by which a benchmark names the two groups of a pair: what differs between its sentences."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from tiltmeter.errors import InputError
from tiltmeter.families.pairs.words import change_of
from tiltmeter.storage.places import at_home
from tiltmeter.storage.tables import cell, read_table, require_columns

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


Listed = Mapping[str, Mapping[str, frozenset[str]]]
"""Bias type → group → words."""
OURS, RULE = "ours", "rule"


def listed_words(source: str) -> Listed:
    """Our own list for the nine bias types of CrowS-Pairs (`ours`), none (`rule`), or a table of the user's.

    A table has the columns bias_type, group (advantaged or disadvantaged) and word.
    """
    if source == RULE:
        return {}
    if source == OURS:
        text = (files("tiltmeter.families.pairs.studies") / "data" / "group_words.csv").read_text("utf-8")
        rows: Sequence[Mapping[str, Any]] = list(csv.DictReader(text.splitlines()))
    else:
        rows = read_table(at_home(source), None)
        require_columns(rows, ["bias_type", "group", "word"], Path(source))
    by_type: dict[str, dict[str, set[str]]] = {}
    for n, row in enumerate(rows, 1):
        name, group, word = (cell(row, column, f"{source}, row {n}").strip() for column in ("bias_type", "group", "word"))
        if group not in (ADVANTAGED, DISADVANTAGED):
            raise InputError(
                f"{source}, row {n}: the group must be {ADVANTAGED} or {DISADVANTAGED}, not '{group}'.",
                code="unknown-name", file=source, row=n, name=group, names=[ADVANTAGED, DISADVANTAGED],
            )  # fmt: skip
        by_type.setdefault(name, {ADVANTAGED: set(), DISADVANTAGED: set()})[group].add(word.lower())
    return {name: {group: frozenset(words) for group, words in of_type.items()} for name, of_type in by_type.items()}


@dataclass(frozen=True)
class GroupWords:
    """Bias type → group → word → number of pairs; and the words left out, with the reason."""

    kept: dict[str, dict[str, Counter[str]]]
    left_out: list[dict[str, Any]]


def group_words(
    items: Any, ambiguous: Sequence[str], least: int, listed: Listed | None = None, *, or_by_rule: bool = False
) -> GroupWords:
    """Words by group: in rows about a disadvantaged group the stereotypical sentence names it, in others the other one.

    A bias type that `listed` has keeps its listed words alone, each in its listed group, from one pair on; with
    `or_by_rule` only if its pairs have listed words of both groups.
    """
    counts: dict[str, dict[str, Counter[str]]] = {}
    for row in items[items["direction"].isin((ADVANTAGED, DISADVANTAGED))].to_dict("records"):
        change = change_of(row["stereo"], row["anti"])
        sides = (DISADVANTAGED, ADVANTAGED) if row["direction"] == DISADVANTAGED else (ADVANTAGED, DISADVANTAGED)
        of_type = counts.setdefault(row["bias_type"], {ADVANTAGED: Counter(), DISADVANTAGED: Counter()})
        for side, changed in zip(sides, (change.stereo, change.anti), strict=True):
            of_type[side].update({word.removesuffix("'s") for word in changed})
    left_out: list[dict[str, Any]] = []
    kept = {}
    for name, of_type in sorted(counts.items()):
        words = (listed or {}).get(name)
        if words is not None and or_by_rule and not _has_both(of_type, words, ambiguous):
            words = None
        kept[name] = _sorted_out(name, of_type, ambiguous, least, left_out, words)
    return GroupWords(kept, left_out)


def _has_both(of_type: dict[str, Counter[str]], listed: Mapping[str, frozenset[str]], ambiguous: Sequence[str]) -> bool:
    there = {word for counts in of_type.values() for word in counts} - set(ambiguous)
    return all(words & there for words in listed.values())


def _sorted_out(
    name: str,
    of_type: dict[str, Counter[str]],
    ambiguous: Sequence[str],
    least: int,
    left_out: list[dict[str, Any]],
    listed: Mapping[str, frozenset[str]] | None,
) -> dict[str, Counter[str]]:
    """Assigns a word of both groups to the one with more pairs.

    A tie goes to the advantaged group, as in the paper's Table 2: doctor, and for sexual orientation husband and wife,
    are in as many pairs of either.
    """
    kept: dict[str, Counter[str]] = {ADVANTAGED: Counter(), DISADVANTAGED: Counter()}
    for word in sorted(set(of_type[ADVANTAGED]) | set(of_type[DISADVANTAGED])):
        side = max((ADVANTAGED, DISADVANTAGED), key=lambda group: of_type[group][word])
        pairs = of_type[side][word]
        if listed is not None and word not in ambiguous:
            side = next((group for group, words in listed.items() if word in words), "")
            why = None if side else "not in the list of group words"
            pairs = sum(of_type[group][word] for group in of_type)
        else:
            why = _reason(word, pairs, ambiguous, least)
        if why:
            left_out.append({"bias_type": name, "word": word, "why": why, "pairs": pairs})
        else:
            kept[side][word] = pairs
    return kept


def _reason(word: str, pairs: int, ambiguous: Sequence[str], least: int) -> str | None:
    """Why a word that was found by rule is left out, if it is."""
    if word in ambiguous:
        return "ambiguous"
    if word in FUNCTION_WORDS:
        return "function word"
    return f"in fewer than {least} pairs" if pairs < least else None
