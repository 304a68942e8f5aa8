"""One line beside a reading: which dose of ours would give it on our own model, said to be about that model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import tiltmeter
from tiltmeter import catalog
from tiltmeter.families.kit.story import Story
from tiltmeter.reporting.html.material import gather
from tiltmeter.reporting.html.page import page
from tiltmeter.reporting.known_tilts import digests, with_known_tilts
from tiltmeter.studies.kit.known_tilts import Tilt, calibrated_data, known_tilts

GENDER = Tilt("plumb-mlm", "gender", 50.0, 10.0, 0.5, 1.0, 3, True)
KEY = ("crows-pairs", "aul", "bias_score", "bias_type", "gender", "masked")
DATA = "d1f9"
TINY = Path(__file__).parent / "golden" / "models" / "tiny-bert-cased"


def told(
    monkeypatch: pytest.MonkeyPatch,
    tilts: dict,
    rows: list[tuple[str, float]],
    name: str = "crows-pairs",
    data: str = DATA,
    kind: str = "masked",
) -> tuple[str, ...]:
    monkeypatch.setattr("tiltmeter.reporting.known_tilts.known_tilts", lambda: tilts)
    monkeypatch.setattr("tiltmeter.reporting.known_tilts.calibrated_data", lambda: {DATA: "crows-pairs"})
    place = {"model": "m", "benchmark": name, "scorer": "aul", "measure": "bias_score", "by": "bias_type"}
    table = pd.DataFrame([place | {"group": group, "value": value} for group, value in rows])
    story = Story("m", name, "leans", ("First.",), head={"scorer": "aul", "measure": "bias_score"})
    asked = [
        {"model": {"shown_as": shown}, "benchmark": {"name": name, "data_sha256": read}}
        for shown, read in (("m", data), ("other", "a part of it"))
    ]
    return with_known_tilts(story, table, digests(asked), kind).sentences


def test_a_reading_is_told_as_a_dose_on_our_model(monkeypatch: pytest.MonkeyPatch) -> None:
    race = replace(GENDER, domain="race", noticed=False)
    tilts = {KEY: GENDER, (*KEY[:4], "race-color", "masked"): race}
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


def test_a_model_is_told_by_ours_of_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots are filled by masked and by causal models, and their gaps are of other sizes."""
    tilts = {KEY: GENDER, (*KEY[:5], "causal"): replace(GENDER, model="plumb-clm")}
    for kind, ours in (("masked", "plumb-mlm"), ("causal", "plumb-clm")):
        assert f"On {ours}, a dose" in told(monkeypatch, tilts, [("gender", 54.0)], kind=kind)[1]
    assert told(monkeypatch, tilts, [("gender", 54.0)], kind="static") == ("First.",)


def test_a_calibration_is_about_the_same_data_and_not_about_the_same_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rewritten benchmark of the old name, or a part of it, was not calibrated; a copy under another name was."""
    assert told(monkeypatch, {KEY: GENDER}, [("gender", 54.0)], data="rewritten") == ("First.",)
    assert told(monkeypatch, {KEY: GENDER}, [("gender", 54.0)], data="") == ("First.",)
    assert "+0.4 [+0.2, +0.6] (gender)" in told(monkeypatch, {KEY: GENDER}, [("gender", 54.0)], name="my-copy")[1]


def test_a_report_tells_doses_of_the_data_it_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the command to the line: the hash in the manifest is the one that the calibration is known by."""
    bench, options = tiltmeter.load_benchmark("plumb-pairs").limit(12), {"limit": 12, "cache": False}
    done = tiltmeter.run(TINY, "plumb-pairs", "aul", output=tmp_path / "run", **options)
    (row,) = done.estimates.query("measure == 'bias_score' and by == 'bias_type'").head(1).to_dict("records")
    key = (str(row["benchmark"]), "aul", "bias_score", "bias_type", row["group"], "masked")
    monkeypatch.setattr("tiltmeter.reporting.known_tilts.known_tilts", lambda: {key: GENDER})
    for digest, count in ((bench.data_hash, 1), ("another", 0)):
        monkeypatch.setattr("tiltmeter.reporting.known_tilts.calibrated_data", lambda digest=digest: {digest: key[0]})
        assert page(gather(done)).count("Known tilts: On plumb-mlm") == count


def test_the_embedded_calibration_is_about_our_models_and_metrics_that_there_are() -> None:
    tilts = known_tilts()
    assert {tilt.model for tilt in tilts.values()} == {"plumb-mlm", "plumb-clm"}
    assert {tilt.domain for tilt in tilts.values()} == {"gender", "race", "religion"}
    assert any(tilt.noticed for tilt in tilts.values()) and not all(tilt.noticed for tilt in tilts.values())
    for (_, scorer, measure, *_, kind), tilt in tilts.items():
        assert tilt.model == {"masked": "plumb-mlm", "causal": "plumb-clm"}[kind]
        assert measure in catalog.names("measures") and (scorer == "slots" or scorer in catalog.names("scorers"))
        assert (tilt.slope or not tilt.noticed) and tilt.spread >= 0 and tilt.seeds >= 2
    assert len(tilts) > 100
    assert {key[0] for key in tilts} == set(calibrated_data().values())
    ours = tiltmeter.load_benchmark("starter-pairs")
    assert calibrated_data()[ours.data_hash] == "starter-pairs"
