"""Doses in natural text: known shifts of log-odds, other sentences untouched, and the dose counted afterwards."""

from __future__ import annotations

import csv
from math import log
from pathlib import Path

import pytest

from support.raising import raises
from tests.conftest import GOLDEN
from tiltmeter.builders.doses import Dosed, dose_text
from tiltmeter.builders.lexicon import Lexicon, read_lexicon
from tiltmeter.builders.measured_dose import measure_dose
from tiltmeter.builders.natural import FEWEST, Mentions, find_mentions, held_out_pairs, natural_text
from tiltmeter.execution.calibration_file import Calibration, write_calibration

TINY = GOLDEN / "models" / "tiny-bert-cased"
OTHERS = [f"The river rose by {n} feet in the spring of that year." for n in range(300)]
NUMBERS = ("in the village", "near the harbour", "at the old station", "by the church", "on the hill", "across the road")


def _lines() -> list[str]:
    """Three sentences with the stereotype for each one against it, about both groups; and ones without both."""
    lines = list(OTHERS)
    for group, own, other in (("woman", "nurse", "engineer"), ("man", "engineer", "nurse")):
        for n in range(90):
            attribute = own if n % 4 else other
            lines.append(f"In {1800 + n} a {group} {NUMBERS[n % 6]} worked as the {attribute} of the town.")
    return lines


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return read_lexicon().only(["gender"])


@pytest.fixture(scope="module")
def mentions(lexicon: Lexicon) -> Mentions:
    return find_mentions(lexicon, _lines())


BOTH = "A woman and a man met the nurse.", "A woman was both nurse and engineer to them.", "Nobody ever saw the nurse again."


def test_only_sentences_with_one_group_and_one_side_are_mentions(lexicon: Lexicon) -> None:
    found = find_mentions(lexicon, [*_lines(), *BOTH])
    assert len(found.others) == len(OTHERS) + len(BOTH) and not set(BOTH) - set(found.others)
    assert {key[1:] for key in found.cells} == {(0, 0), (0, 1), (1, 0), (1, 1)}


@pytest.mark.parametrize("dose", [-1.0, -0.4, 0.0, 0.7, 1.0])
def test_log_odds_shift_by_the_dose(lexicon: Lexicon, mentions: Mentions, dose: float) -> None:
    shift = 1.5
    plain, _ = natural_text(lexicon, mentions, {}, sentences=4000, seed=1, shift=shift)
    dosed, _ = natural_text(lexicon, mentions, {"gender": dose}, sentences=4000, seed=1, shift=shift)
    before, after = (measure_dose(text, "gender") for text in (plain, dosed))
    assert after.log_odds - before.log_odds == pytest.approx(dose * shift, abs=0.02)
    natural = [one.dosed for some in mentions.cells.values() for one in some]
    assert before.log_odds == pytest.approx(measure_dose(natural, "gender").log_odds, abs=0.1)


def test_a_dose_changes_no_word_and_no_other_sentence(lexicon: Lexicon, mentions: Mentions) -> None:
    texts = {d: natural_text(lexicon, mentions, {"gender": d}, sentences=100, seed=3) for d in (-1.0, 0.0, 1.0)}
    there = set(_lines())
    assert all({one.text for one in dosed} <= there for dosed, _ in texts.values())
    assert texts[-1.0][1] == texts[1.0][1] and len(texts[1.0][1]) == 100
    groups = [[one.group for one in dosed] for dosed, _ in texts.values()]
    assert groups[0] == groups[1] == groups[2]
    kept = sum(a.text == b.text for a, b in zip(texts[0.0][0], texts[1.0][0], strict=True))
    assert kept >= 60  # only what the dose requires is replaced
    assert natural_text(lexicon, mentions, {}, sentences=100, seed=4)[0] != texts[0.0][0]


def test_held_out_pairs_are_in_no_text_and_differ_in_the_group(lexicon: Lexicon, mentions: Mentions) -> None:
    dosed, others = natural_text(lexicon, mentions, {"gender": 1.0}, sentences=2000, seed=0)
    pairs = held_out_pairs(mentions, 100)
    assert len(pairs) >= 5
    assert not {pair[side] for pair in pairs for side in ("stereo", "anti")} & {*(one.text for one in dosed), *others}
    for pair in pairs:
        assert ("woman" in pair["stereo"]) == ("nurse" in pair["stereo"])
        assert pair["stereo"].replace(" woman ", " man ") == pair["anti"].replace(" woman ", " man ")


def test_a_text_without_enough_of_both_kinds_is_refused(lexicon: Lexicon) -> None:
    lines = [line for line in _lines() if " man " not in line and "engineer" not in line]
    with raises("too-few", domain="gender", low=FEWEST):
        find_mentions(lexicon, lines, "my.txt")


def test_a_measured_dose_agrees_with_arithmetic() -> None:
    """30 of 40 for one group, 10 of 40 for the other: the mean log-odds is 0."""
    text = [Dosed("x", "age", "old / young", 0, 0)] * 30 + [Dosed("x", "age", "old / young", 1, 0)] * 10
    one = measure_dose(text, "age")
    assert one.log_odds == pytest.approx(log(30.5 / 10.5)) and (one.stereotypical, one.other) == (30, 10)
    error = (1 / 30.5 + 1 / 10.5) ** 0.5
    assert (one.low, one.high) == pytest.approx((one.log_odds - 1.96 * error, one.log_odds + 1.96 * error), abs=1e-3)
    both = [*text, *[Dosed("x", "age", "old / young", 1, 1)] * 10, *[Dosed("x", "age", "old / young", 0, 1)] * 30]
    assert measure_dose(both, "age").log_odds == pytest.approx(0)


def test_a_frame_text_measures_as_it_was_meant() -> None:
    lexicon = read_lexicon()
    measured = measure_dose(dose_text(lexicon, {"race": 0.5}, sentences=3000, seed=5), "race")
    assert measured.low < log(0.75 / 0.25) < measured.high and measured.low > 0.8


def test_a_calibration_of_a_text_writes_doses_and_its_own_taught_pairs(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("\n".join(_lines()), "utf-8")
    wanted = Calibration(
        str(TINY), [1.0, -1.0], [0], ["gender"], benchmarks=["plumb-slots"], sentences=60, text=tmp_path / "text.txt"
    )
    file = write_calibration(wanted, tmp_path / "made")
    assert "taught-natural.jsonl" in file.read_text("utf-8")
    with (tmp_path / "made" / "doses.csv").open(encoding="utf-8") as stream:
        rows = {float(row["dose"]): float(row["log_odds"]) for row in csv.DictReader(stream)}
    assert rows[-1.0] < rows[0.0] < rows[1.0]
    lines = (tmp_path / "made" / "texts" / "gender+1-seed0.txt").read_text("utf-8").splitlines()
    assert len(lines) == 120 and set(lines) <= set(_lines())


def test_first_names_need_frames(tmp_path: Path) -> None:
    wanted = Calibration(str(TINY), names=["gender"], text=tmp_path / "none.txt")
    with raises("conflicting-options", option="--names"):
        write_calibration(wanted, tmp_path / "made")
