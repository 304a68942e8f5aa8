"""Estimates of association tests: a measure that is asked for alone is the one among all, and nothing else is computed."""

from __future__ import annotations

import pandas as pd
import pytest

import tiltmeter
from association_material import text, words_file
from conftest import golden_model
from tiltmeter.families.associations import ilps, seat


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tiltmeter.Answers:
    """SEAT, CEAT with groups, ILPS and Kurita's question."""
    folder = tmp_path_factory.mktemp("associations")
    (folder / "text.txt").write_text(text())
    words = words_file(folder)
    model = golden_model("tiny-bert-cased")
    parts = [
        tiltmeter.ask(model, "seat", cache=False, options=tiltmeter.AssociationsOptions(tests=["gender"])),
        tiltmeter.ask(
            model,
            "ceat",
            cache=False,
            options=tiltmeter.AssociationsOptions(words=words, corpus=[folder / "text.txt"], contexts=5, draws=20),
        ),
        tiltmeter.ask(model, "ilps", cache=False, options=tiltmeter.AssociationsOptions(tests=["gender"])),
    ]
    return tiltmeter.Answers.concat(parts)


MEASURES = ("effect_size", "mean_abs_effect", "ces", "ilps", "ilps_kurita", "group_variance")


def rows(answers: tiltmeter.Answers, *measures: str) -> pd.DataFrame:
    return tiltmeter.estimate(answers, measures or None, resamples=200).reset_index(drop=True)


def test_a_measure_alone_is_the_one_among_all(answers: tiltmeter.Answers) -> None:
    whole = rows(answers)
    assert set(whole["measure"]) == set(MEASURES)
    for measure in MEASURES:
        expected = whole[whole["measure"] == measure].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows(answers, measure), expected, check_exact=True)


def test_what_is_not_asked_for_is_not_computed(answers: tiltmeter.Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("computed, and not asked for")

    monkeypatch.setattr(seat, "split_p", refuse)
    monkeypatch.setattr(ilps, "domain_estimate", refuse)
    rows(answers, "mean_abs_effect", "ces", "ilps", "ilps_kurita")
    with pytest.raises(AssertionError):
        rows(answers, "effect_size")


def test_a_column_that_no_family_has_is_refused(answers: tiltmeter.Answers) -> None:
    """Tests of associations have no items; shared code need not know that."""
    for column in ("stereo", "colour"):
        with pytest.raises(tiltmeter.TiltmeterError, match=f"no column '{column}'"):
            tiltmeter.estimate(answers, by=column, resamples=100)
