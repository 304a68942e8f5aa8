"""Verbs that agree with "they": she has → they have, he goes → they go."""

from __future__ import annotations

from tiltmeter.builders._neutral_words import words

AUXILIARIES = {
    "is": "are", "was": "were", "has": "have", "does": "do", "isn't": "aren't", "wasn't": "weren't", "hasn't": "haven't",
    "doesn't": "don't", "isnt": "arent", "wasnt": "werent", "hasnt": "havent", "doesnt": "dont",
}  # fmt: skip
IRREGULAR = {
    "aches": "ache", "focuses": "focus", "biases": "bias", "gases": "gas", "undoes": "undo", "redoes": "redo",
    "shoes": "shoe", "quizzes": "quiz",
}  # fmt: skip


def plural_form(verb: str) -> str | None:
    """The form that goes with "they", if the word is a third person form; in lower case.

    >>> [plural_form(verb) for verb in ("has", "tries", "watches", "loses", "dies", "went", "miss")]
    ['have', 'try', 'watch', 'lose', 'die', None, None]
    """
    if verb in AUXILIARIES:
        return AUXILIARIES[verb]
    if verb in IRREGULAR:
        return IRREGULAR[verb]
    if (
        verb in words("not_verbs")
        or verb in words("adverbs")
        or not verb.endswith("s")
        or verb.endswith(("ss", "us", "'s"))
        or len(verb) < 3
    ):
        return None
    if verb.endswith("ies"):
        return verb[:-1] if len(verb) <= 4 else verb[:-3] + "y"
    if verb.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")):
        return verb[:-2]
    return verb[:-1]


def is_adverb(word: str) -> bool:
    """Return True if a word may stand between a subject and its verb."""
    return word in words("adverbs") or (word.endswith("ly") and len(word) > 4)
