"""Pronouns that show a gender become they, them, their, with the verbs that agree (Doughman et al., 2023, section 4.4).

All of them are changed, whoever they refer to: any may reveal the gender to a model. Names are left alone.
"""

from __future__ import annotations

import re
from functools import partial

from tiltmeter.builders._her import is_object, stands_alone
from tiltmeter.builders._neutral_words import words as listed_words
from tiltmeter.builders._verbs import AUXILIARIES, is_adverb, plural_form
from tiltmeter.builders._words import Words

# Both genders at once: one pronoun is enough, and is then made neutral like any other.
BOTH = (
    (re.compile(r"\b(?:he|she)\s*(?:/|\bor\b|\band/or\b)\s*(?:he|she)\b|\bs/he\b|\(s\)he\b", re.I), "he"),
    (re.compile(r"\b(?:him\s*(?:/|\bor\b)\s*her|her\s*(?:/|\bor\b)\s*him)\b", re.I), "him"),
    (re.compile(r"\b(?:his|her|hers)\s*(?:/|\bor\b)\s*(?:his|hers?)\b", re.I), "his"),
    (re.compile(r"\b(?:himself|herself)\s*(?:/|\bor\b)\s*(?:himself|herself)\b", re.I), "himself"),
)
PLAIN = {"him": "them", "himself": "themselves", "herself": "themselves", "hisself": "themselves", "hers": "theirs"}
CONTRACTED = {"'s": "'re", "'d": "'d", "'ll": "'ll", "'ve": "'ve", "'re": "'re"}
LAX = {"hes": "they're", "shes": "they're", "hed": "they'd"}
"""As they are typed in haste. "shed", "shell" and "hell" are words."""
REACH = 8
"""How many words behind a verb another of the same subject is looked for."""


def neutralise(text: str) -> str:
    """The text without gendered pronouns.

    >>> neutralise("If she has time, her boss lets him do it himself.")
    'If they have time, their boss lets them do it themselves.'
    """
    for pattern, pronoun in BOTH:
        text = pattern.sub(partial(_one_of_both, pronoun), text)
    words = Words.of(text)
    for at in range(len(words.words)):
        _change(words, at)
    return words.text()


def _one_of_both(pronoun: str, both: re.Match[str]) -> str:
    return pronoun.capitalize() if both.group()[0].isupper() else pronoun


def _change(words: Words, at: int) -> None:
    word = words.low(at)
    stem, mark, rest = word.partition("'")
    if word in ("he", "she"):
        _subject(words, at)
    elif stem in ("he", "she") and mark + rest in CONTRACTED:
        _contraction(words, at, mark + rest)
    elif word in LAX:
        words.put(at, "they've" if _perfect(words, at) and word.endswith("s") else LAX[word])
    elif word in PLAIN:
        words.put(at, PLAIN[word])
    elif word == "her":
        words.put(at, "them" if is_object(words, at) else "their")
    elif word == "his":
        words.put(at, "theirs" if stands_alone(words, at) else "their")


def _subject(words: Words, at: int) -> None:
    inverted = _turn_question(words, at)
    words.put(at, "they")
    if not inverted:
        _agree(words, at)


def _contraction(words: Words, at: int, end: str) -> None:
    perfect = end == "'s" and _perfect(words, at)
    words.put(at, "they" + ("'ve" if perfect else CONTRACTED[end]))
    if end == "'s":
        _agree_further(words, at)


def _perfect(words: Words, at: int) -> bool:
    """Return True if 's stands for has: she's been, he's never seen."""
    ahead = at + 1
    while words.joined(ahead - 1) and is_adverb(words.low(ahead)):
        ahead += 1
    verb = words.low(ahead)
    if words.low(at + 1) in ("ever", "never") and verb.endswith("ed"):
        return True
    may_be_adjective = verb in listed_words("participles_or_adjectives")
    return verb in listed_words("participles") and (not may_be_adjective or words.joined(ahead))


def _turn_question(words: Words, at: int) -> bool:
    """is she → are they; what's he → what are they. Not in "the problem is she lies"."""
    if not at or not words.joined(at - 1):
        return False
    verb = words.low(at - 1)
    stem, mark, rest = verb.partition("'")
    if stem in listed_words("question_words") and mark + rest == "'s":
        words.words[at - 1] = words.words[at - 1][: len(stem)] + " are"
        return True
    if verb not in AUXILIARIES:
        return False
    opens = at == 1 or not words.joined(at - 2) or _asks(words.low(at - 2))
    if not opens and not verb.startswith(("does", "has")):
        return False
    if plural_form(words.low(at + 1)) and not verb.startswith("does") and words.joined(at):
        return False  # "the reason was she wants": she has a verb of her own
    words.put(at - 1, AUXILIARIES[verb])
    return True


def _asks(word: str) -> bool:
    return word in listed_words("question_words") or word in listed_words("before_questions")


def _agree(words: Words, at: int) -> None:
    """The verb of the subject at this place, and those joined to it by and, or, but."""
    ahead = at + 1
    while words.joined(ahead - 1) and is_adverb(words.low(ahead)):
        ahead += 1
    if not words.joined(ahead - 1):
        return
    if words.low(ahead) == "who":
        ahead += 1
    form = plural_form(words.low(ahead))
    if form:
        words.put(ahead, form)
        _agree_further(words, ahead)


def _agree_further(words: Words, verb: int) -> None:
    """she cooks and cleans; he takes the money and runs: a second verb of the same subject."""
    for at in range(verb + 1, min(verb + REACH, len(words.words))):
        gap = words.gaps[at]
        if any(mark in gap for mark in ".!?;:") or words.low(at) in listed_words("other_subjects"):
            return
        listed = "," in gap and (words.low(at) in listed_words("clear_verbs") or at == verb + 1)
        if words.low(at) not in ("and", "or", "but", "then", "&") and not listed:
            continue
        ahead = at if listed else at + 1
        while words.joined(ahead) and is_adverb(words.low(ahead)):
            ahead += 1
        word = words.low(ahead)
        close = at == verb + 1 or (at == verb + 2 and is_adverb(words.low(at - 1)))
        if word in listed_words("clear_verbs") or word in AUXILIARIES or (close and not listed):
            form = plural_form(word)
            if form:
                words.put(ahead, form)
