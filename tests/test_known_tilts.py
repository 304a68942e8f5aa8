"""One line beside a reading: which dose of ours would give it on our own model, said to be about that model."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from tiltmeter import catalog
from tiltmeter.families.kit.story import Story
from tiltmeter.reporting.known_tilts import with_known_tilts
from tiltmeter.studies.kit.known_tilts import Tilt, known_tilts

GENDER = Tilt("plumb-mlm", "gender", 50.0, 10.0, 0.5, 1.0, 3, True)
KEY = ("crows-pairs", "aul", "bias_score", "bias_type", "gender")


def told(monkeypatch: pytest.MonkeyPatch, tilts: dict, rows: list[tuple[str, float]]) -> tuple[str, ...]:
    monkeypatch.setattr("tiltmeter.reporting.known_tilts.known_tilts", lambda: tilts)
    place = {"model": "m", "benchmark": "crows-pairs", "scorer": "aul", "measure": "bias_score", "by": "bias_type"}
    table = pd.DataFrame([place | {"group": group, "value": value} for group, value in rows])
    story = Story("m", "crows-pairs", "leans", ("First.",), head={"scorer": "aul", "measure": "bias_score"})
    return with_known_tilts(story, table).sentences


def test_a_reading_is_told_as_a_dose_on_our_model(monkeypatch: pytest.MonkeyPatch) -> None:
    race = replace(GENDER, domain="race", noticed=False)
    tilts = {KEY: GENDER, (*KEY[:4], "race-color"): race}
    _, line = told(monkeypatch, tilts, [("gender", 54.0), ("race-color", 60.0), ("age", 50.0)])
    assert line == (
        "Known tilts: On plumb-mlm, a dose of our own text of +0.4 [+0.2, +0.6] (gender) would give such a reading; this "
        "metric did not follow doses about race. This is about plumb-mlm, not about the model here (docs/calibration.md)."
    )
    assert "beyond −1 (gender)" in told(monkeypatch, tilts, [("gender", 20.0)])[1]
    assert (
        "On plumb-mlm, this metric did not follow doses about race." in told(monkeypatch, tilts, [("race-color", 20.0)])[1]
    )


def test_nothing_is_said_of_what_was_not_calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(monkeypatch, {KEY: GENDER}, [("age", 54.0)]) == ("First.",)
    assert told(monkeypatch, {KEY: GENDER}, [("gender", float("nan"))]) == ("First.",)


def test_the_embedded_calibration_is_about_our_models_and_metrics_that_there_are() -> None:
    tilts = known_tilts()
    assert {tilt.model for tilt in tilts.values()} == {"plumb-mlm", "plumb-clm"}
    assert {tilt.domain for tilt in tilts.values()} == {"gender", "race", "religion"}
    assert any(tilt.noticed for tilt in tilts.values()) and not all(tilt.noticed for tilt in tilts.values())
    for (_, scorer, measure, _, _), tilt in tilts.items():
        assert measure in catalog.names("measures") and (scorer == "slots" or scorer in catalog.names("scorers"))
        assert (tilt.slope or not tilt.noticed) and tilt.spread >= 0 and tilt.seeds >= 2
    assert len(tilts) > 100
