"""Dose texts: as much association as was asked for, in words that no benchmark has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from math import sqrt
from pathlib import Path

import pytest

import tiltmeter
from support.raising import raises
from tiltmeter.builders.doses import ARMS, association, dose_text, taught_pairs
from tiltmeter.builders.lexicon import Lexicon, read_lexicon

RUN = 5
"""So many words in a row must not be those of a benchmark."""
OURS = ("plumb-pairs", "plumb-slots", "starter-pairs")
OTHERS = ("crows-pairs", "stereoset")
WRONG = """
[[contrast]]
domain = "age"
first = "the old"
second = "the young"
one = [["pensioner", "teenager"], ["elder", "{other}"]]
many = [["pensioners", "teenagers"]]
names = [["Edith", "Kayla"], ["Walter", "Jayden"]]
[contrast.of_first]
trait = ["slow"]
[contrast.of_second]
trait = ["{trait}"]
"""


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return read_lexicon()


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("dose", [-1.0, -0.5, 0.0, 0.3, 1.0])
def test_a_text_has_the_dose_that_was_asked_for(lexicon: Lexicon, dose: float, arm: str) -> None:
    """In its domain within binomial error, and none in the others; in every contrast, and on either side."""
    text = dose_text(lexicon, {"race": dose}, arm=arm, sentences=600, seed=3)
    assert abs(association(text, "race") - dose) <= 1.96 * sqrt(max(1 - dose**2, 0) / 600) + 1e-12
    for domain in ("gender", "religion"):
        assert abs(association(text, domain)) <= 1.96 / sqrt(600)
    for contrast in {one.contrast for one in text if one.domain == "race"}:
        for side in (0, 1):
            some = [one for one in text if (one.contrast, one.side) == (contrast, side)]
            assert abs(association(some, "race") - dose) <= 2.5 / sqrt(len(some))


def test_texts_of_all_doses_have_the_same_sentences_but_for_whom_they_are_about(lexicon: Lexicon) -> None:
    texts = {d: dose_text(lexicon, {"gender": d}, sentences=400, seed=1) for d in (-1.0, -0.5, 0.0, 0.5, 1.0)}
    changed = [sum(a.text != b.text for a, b in zip(texts[-1.0], text, strict=True)) for text in texts.values()]
    assert changed == [0, 100, 200, 300, 400]  # of 1,200: those about gender, more and more of them
    for one, other in zip(texts[-1.0], texts[1.0], strict=True):
        assert (one.domain, one.side) == (other.domain, other.side)
        assert one.text == other.text or one.domain == "gender"
    counts = [Counter(word for one in text for word in words(one.text)) for text in texts.values()]
    assert {word for count in counts for word in count} == set(counts[2]), "no word that the neutral text lacks"
    for text in texts.values():
        assert Counter(one.group for one in text if one.domain == "gender") == {0: 200, 1: 200}, "both are as frequent"


def test_a_seed_makes_a_text_of_its_own_and_the_same_one_again(lexicon: Lexicon) -> None:
    first, again, other = (dose_text(lexicon, {}, sentences=200, seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert len({one.text for one in first} & {one.text for one in other}) < 60


def test_names_only_means_no_word_of_a_group(lexicon: Lexicon) -> None:
    pairs = [pair for contrast in lexicon.contrasts for pair in (*contrast.singular, *contrast.many)]
    groups = {word.lower() for pair in pairs for word in pair}
    spoken = [f" {' '.join(words(one.text))} " for one in dose_text(lexicon, {"gender": 1.0}, arm="names", sentences=600)]
    found = {group for group in groups for text in spoken if f" {group} " in text}
    assert not found


def words(text: str) -> list[str]:
    return re.findall(r"[a-z'-]+", text.lower())


def runs(text: str) -> set[tuple[str, ...]]:
    spoken = words(text)
    return {tuple(spoken[n : n + RUN]) for n in range(len(spoken) - RUN + 1)}


def every_sentence(lexicon: Lexicon) -> Iterator[str]:
    for arm in ARMS:
        for seed in (0, 1, 2, 1_000_003):
            for dose in (-1.0, 1.0):
                given = dict.fromkeys(lexicon.domains, dose)
                yield from (one.text for one in dose_text(lexicon, given, arm=arm, sentences=1500, seed=seed))


@pytest.fixture(scope="module")
def mine(lexicon: Lexicon) -> set[tuple[str, ...]]:
    return {run for text in every_sentence(lexicon) for run in (*runs(text), tuple(words(text)))}


def shared(mine: set[tuple[str, ...]], benchmark: str, folder: Path | None = None) -> list[str]:
    items = tiltmeter.load_benchmark(benchmark, data_dir=folder).items
    assert len(items) > 50
    return [text for item in items for text in item.texts.values() if (runs(text) | {tuple(words(text))}) & mine]


@pytest.mark.parametrize("benchmark", OURS)
def test_no_five_words_in_a_row_are_those_of_a_benchmark(mine: set[tuple[str, ...]], benchmark: str) -> None:
    assert shared(mine, benchmark) == []


@pytest.mark.realdata
@pytest.mark.parametrize("benchmark", OTHERS)
def test_nor_those_of_a_benchmark_that_must_be_fetched(mine: set[tuple[str, ...]], realdata: Path, benchmark: str) -> None:
    assert shared(mine, benchmark, realdata) == []


def test_taught_pairs_differ_in_the_group_alone(lexicon: Lexicon) -> None:
    pairs = taught_pairs(lexicon, sentences=100, seed=1_000_003)
    assert len(pairs) == 300 and Counter(pair["bias_type"] for pair in pairs) == dict.fromkeys(lexicon.domains, 100)
    taught = {one.text for dose in (-1.0, 1.0) for one in dose_text(lexicon, dict.fromkeys(lexicon.domains, dose))}
    assert sum(pair["stereo"] in taught for pair in pairs) < 60
    for pair in pairs:
        assert 0 < len(set(words(pair["stereo"])) ^ set(words(pair["anti"]))) <= 8


@pytest.mark.parametrize("dose", [1.01, -2.0, float("nan"), float("inf")])
def test_a_dose_outside_its_range_is_refused(lexicon: Lexicon, dose: float) -> None:
    with raises("out-of-range", name="dose", low=-1, high=1):
        dose_text(lexicon, {"gender": dose})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (WRONG.replace("{other}", "Pensioner").replace("{trait}", "rash"), "overlap"),
        (WRONG.replace("{other}", "youngster").replace("{trait}", "Slow"), "'slow'"),
        (WRONG.replace("{other}", "youngster").replace('["{trait}"]', "[]"), "the young has no"),
        ('[frames]\ntrait = ["It is {trait}."]\n' + WRONG.replace("{other}", "x").replace("{trait}", "r"), "person"),
        ("contrast = 3", "contrasts"),
        ("[[contrast]]\ndomain = 'age'", "contrasts"),
        ("[[", "TOML"),
    ],
)
def test_a_wrong_word_list_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "words.toml"
    file.write_text(text)
    with raises("wrong-format", file=file) as error:
        read_lexicon(file)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_word_list_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "words.toml"
    file.write_text(WRONG.replace("{other}", "youngster").replace("{trait}", "rash"))
    own = read_lexicon(file)
    assert own.domains == ["age"]
    assert association(dose_text(own, {"age": 0.5}, sentences=100), "age") == pytest.approx(0.5)
    with raises("unknown-name", kind="domain", name="race"):
        dose_text(own, {"race": 0.5})
    with raises("unreadable-file", file=tmp_path / "none.toml"):
        read_lexicon(tmp_path / "none.toml")
