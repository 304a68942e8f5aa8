"""Is "her" an object (saw her → saw them) or a possessive (her book → their book)? By the words around it; "his" too."""

from __future__ import annotations

from tiltmeter.builders._neutral_words import words
from tiltmeter.builders._words import Words

ENDS = ".,;:!?…)]}”»/-–—&+=|~"
"""Ends of a phrase. A quotation mark does when a space follows it, or nothing."""
MAY_BE_HIS = frozenset(("all", "much", "out", "down", "up", "off", "alone", "around", "ever", "enough"))
BOTH_WAYS = {"back": "bring_back", "home": "bring_home", "first": "put_first"}


def is_object(text: Words, at: int) -> bool:
    """Return True if the "her" at this place stands alone."""
    if phrase_ends(text, at):
        return True
    before = text.low(at - 1) if at and not text.gaps[at].strip() else ""
    following = text.low(at + 1)
    then = text.low(at + 2) if text.joined(at + 1) else ""
    return following in words("follow_object") or _by_both_sides(before, following, then)


def stands_alone(text: Words, at: int) -> bool:
    """Return True if the "his" at this place stands alone: the choice is his → theirs, hers."""
    return phrase_ends(text, at) or text.low(at + 1) in words("follow_object") - MAY_BE_HIS


def phrase_ends(text: Words, at: int) -> bool:
    """Return True if the phrase ends with the word at this place: punctuation follows, or nothing."""
    gap = text.gaps[at + 1]
    quoted = gap[:1] in ("'", '"', "’") and (len(gap) == 1 or gap[1].isspace())
    return at + 1 == len(text.words) or quoted or any(mark in gap for mark in ENDS)


def _by_both_sides(before: str, following: str, then: str) -> bool:
    ends = not then or then in words("follow_object")
    if following in BOTH_WAYS:
        return ends and before in words(BOTH_WAYS[following])
    if following == "very":
        return then in ("much", "well", "badly")
    if following in ("more", "less", "most", "better", "well"):
        return ends
    if following.endswith("ly"):
        return following not in words("owned_ly")
    if following.endswith("ing"):
        return following not in words("not_ing") and before in words("perceive")
    return _by_verb(before, following, ends)


def _by_verb(before: str, following: str, ends: bool) -> bool:
    if before in words("cause") and following in words("base_verbs"):
        return True
    if before in words("make") and following in words("predicates"):
        return ends
    plural = following.endswith("s") and not following.endswith("ss")
    return before in words("give") and (following in words("mass") or plural)
