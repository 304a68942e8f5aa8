"""Pronouns made neutral, with the verbs that agree: cases read and written by hand."""

from __future__ import annotations

import pytest

from tiltmeter.builders._clean import clean
from tiltmeter.builders._pronouns import neutralise
from tiltmeter.builders._words import Words

CASES = [
    # subjects and their verbs
    ("he has a plan", "they have a plan"),
    ("she is late", "they are late"),
    ("he was there", "they were there"),
    ("she does it", "they do it"),
    ("he goes home", "they go home"),
    ("she tries hard", "they try hard"),
    ("he watches and waits", "they watch and wait"),
    ("she lies about it", "they lie about it"),
    ("he loses every time", "they lose every time"),
    ("she misses the bus", "they miss the bus"),
    ("he fixes cars", "they fix cars"),
    ("she focuses on work", "they focus on work"),
    ("he went away", "they went away"),
    ("she can drive", "they can drive"),
    ("he should know better", "they should know better"),
    ("she want to go", "they want to go"),
    # adverbs and negations between
    ("he always thinks of it", "they always think of it"),
    ("she really just doesn't care", "they really just don't care"),
    ("he isn't sure", "they aren't sure"),
    ("she wasn't asked", "they weren't asked"),
    ("he hasn't paid", "they haven't paid"),
    ("she doesnt know", "they dont know"),
    ("he never has time", "they never have time"),
    # further verbs of the same subject
    ("she cooks and cleans", "they cook and clean"),
    ("he takes the money and goes", "they take the money and go"),
    ("she is smart but gets ignored", "they are smart but get ignored"),
    ("she likes cats and dogs", "they like cats and dogs"),
    ("he says it is fine and is gone", "they say it is fine and is gone"),
    ("she gossips, complains and leaves", "they gossip, complain and leave"),
    # contractions
    ("he's tired", "they're tired"),
    ("she's been there", "they've been there"),
    ("the best he's ever tasted", "the best they've ever tasted"),
    ("he's never wrong", "they're never wrong"),
    ("she'd rather not", "they'd rather not"),
    ("he'll see", "they'll see"),
    ("he’s not big", "they’re not big"),
    ("even if shes wrong", "even if they're wrong"),
    ("she's gone", "they're gone"),
    ("he's lost his keys", "they've lost their keys"),
    # questions
    ("Is she ready?", "Are they ready?"),
    ("why does he care?", "why do they care?"),
    ("what is she doing", "what are they doing"),
    ("What's he doing?", "What are they doing?"),
    ("isn't she lovely", "aren't they lovely"),
    ("the problem is she lies", "the problem is they lie"),
    ("neither has he", "neither have they"),
    # her: possessive
    ("her book is new", "their book is new"),
    ("loved her voice", "loved their voice"),
    ("take care of her family.", "take care of their family."),
    ("with her own money", "with their own money"),
    ("her only child", "their only child"),
    ("her cooking is bad", "their cooking is bad"),
    ("she lost her very first job", "they lost their very first job"),
    ("her back hurts", "their back hurts"),
    ("put her first car in the garage", "put their first car in the garage"),
    ("her [MASK] left", "their [MASK] left"),
    ('her "friend" came', 'their "friend" came'),
    # her: object
    ("saw her", "saw them"),
    ("I saw her.", "I saw them."),
    ("tell her to stop", "tell them to stop"),
    ("not take her seriously", "not take them seriously"),
    ("judge the shit out of her cause they sound dumb", "judge the shit out of them cause they sound dumb"),
    ("I want her back", "I want them back"),
    ("let her cry", "let them cry"),
    ("it made her happy", "it made them happy"),
    ("gave her money", "gave them money"),
    ("saw her crying", "saw them crying"),
    ("love her very much", "love them very much"),
    ('he called "her" names', 'they called "them" names'),
    ("drive her home and stay", "drive them home and stay"),
    # the others
    ("him and me", "them and me"),
    ("his spouse", "their spouse"),
    ("the choice is his.", "the choice is theirs."),
    ("that car is hers", "that car is theirs"),
    ("defend himself", "defend themselves"),
    ("keep herself busy", "keep themselves busy"),
    # both at once
    ("he or she is right", "they are right"),
    ("if s/he wants", "if they want"),
    ("his or her job", "their job"),
    ("ask him or her", "ask them"),
    ("by himself or herself", "by themselves"),
    # starts, capitals, quotes
    ("She has won.", "They have won."),
    ("SHE IS MAD", "THEY ARE MAD"),
    ("HER car", "THEIR car"),
    ("“She’s great,” he said", "“They’re great,” they said"),
    ("'He knows,' she says", "'They know,' they say"),
    ("Her last name. Her, last name.", "Their last name. Them, last name."),
    # left alone
    ("Sheila told Hershey about the shed", "Sheila told Hershey about the shed"),
    ("Heath is here and there", "Heath is here and there"),
    ("this history is other", "this history is other"),
    ("they have their own", "they have their own"),
    ("what the hell is that shell", "what the hell is that shell"),
    ("Mary has a dog", "Mary has a dog"),
    ("A [MASK] who thinks they know", "A [MASK] who thinks they know"),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_neutralise(text: str, expected: str) -> None:
    assert neutralise(text) == expected
    assert neutralise(expected) == expected, "what is neutral stays as it is"


def test_there_are_enough_cases_and_none_twice() -> None:
    assert len({text for text, _ in CASES}) == len(CASES) >= 60


def test_the_papers_example() -> None:
    before = "A [MASK] has the right to insist that his spouse accept his view as to what can or cannot be afforded."
    after = "A [MASK] has the right to insist that their spouse accept their view as to what can or cannot be afforded."
    assert neutralise(before) == after


@pytest.mark.parametrize("text", ["", " ", "[MASK]", "a [b] c_d  e’f 12ab …!", "tab\tnew\nline", "[MASK]’s [x", "é_ü"])
def test_taking_apart_loses_nothing(text: str) -> None:
    assert Words.of(text).text() == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@joe: look at this https://t.co/ab", "look at this"),
        ("RT MENTION12: so MENTION3 it is", "so it is"),
        ("a &amp; b", "a & b"),
        ("I #hate this #fact #lol", "I hate this"),
        ("cut off in the mid… http://x.y", "cut off in the"),
        ("two\n lines", "two lines"),
        ("pic.twitter.com/abc - well", "well"),
    ],
)
def test_clean(text: str, expected: str) -> None:
    assert clean(text) == expected
