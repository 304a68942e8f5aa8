"""Verdicts of audits: directions, what could have been detected, several benchmarks, and reasons."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import tiltmeter
from tiltmeter.audits.cells import cells_of, no_verdicts, untested_reasons, with_unmeasured
from tiltmeter.audits.deciding import key_of
from tiltmeter.audits.page import headlines, tone_of
from tiltmeter.audits.verdicts import (
    ALIKE,
    AWAY,
    BIAS,
    CANNOT,
    DIFFERS,
    LESS,
    MORE,
    NONE,
    NOT_MEASURED,
    Verdict,
    differences_of,
    overall_of,
    verdicts_of,
    worst_of_verdicts,
)
from tiltmeter.errors import RunError
from tiltmeter.families.kit.detection import VARIABLE, detections, write_detections
from tiltmeter.stats.estimates import Difference, Estimate, differences_table, estimates_table
from tiltmeter.storage.seals import read_seal

OTHER = "crows-pairs"
FACTS = {("m", "plumb-pairs"): ("a", "masked"), ("m", OTHER): ("b", "masked")}


@pytest.fixture(autouse=True)
def no_evidence(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    path = tmp_path_factory.mktemp("evidence") / "own.csv"
    write_detections([], path)
    monkeypatch.setenv(VARIABLE, str(path))
    detections.cache_clear()
    yield
    detections.cache_clear()


def pairs(benchmark: str, group: str, value: float, p: float, width: float = 8.0) -> Estimate:
    place = ("m", benchmark, "pairs", "pll", "bias_score", "bias_type", group)
    return Estimate(*place, n=90, value=value, low=value - width, high=value + width, neutral=50.0, p=p)


def increase(pole: str, group: str, value: float) -> Estimate:
    place = ("m", "ilps", "associations", f"plumb-valence:{pole}", "ilps", "group", group)
    return Estimate(*place, n=20, value=value, low=value - 0.1, high=value + 0.1, neutral=0.0, p=0.0001)


def seat(value: float, p: float, details: dict[str, float] | None = None) -> Estimate:
    place = ("m", "seat", "associations", "mean", "mean_abs_effect", "family", "religion")
    known = {"chance": 0.25, "chance_sd": 0.09, "n_permutations": 1000} if details is None else details
    return Estimate(*place, n=4, value=value, low=value - 0.13, high=value + 0.13, neutral=0.0, p=p, details=known)


def test_an_increase_of_unpleasant_words_alone_gives_no_verdict() -> None:
    """Words that fit the templates badly have low values for pleasant and unpleasant attributes alike."""
    table = estimates_table(
        [increase(pole, "Hispanic", value) for pole, value in (("unpleasant", -0.3), ("pleasant", -0.285))]
    )
    found = verdicts_of(table, "m", {})
    assert found == [] and worst_of_verdicts(found) == {}
    assert set(no_verdicts(table, "m")) == {"ilps"} and "ilps" in untested_reasons(table, "m")["race", "associations"]
    place = ("ilps", "associations", "plumb-valence:unpleasant", "ilps", "group", "Hispanic", "m", "old")
    difference = Difference(*place, n=20, value=-0.3, baseline_value=0.291, difference=-0.592, low=-0.8, high=-0.4, p=0.0001)
    assert differences_of(differences_table([difference]), "m", {}, table) == []


def test_a_measure_without_a_direction_gives_no_evidence_towards_the_stereotypes() -> None:
    (one,) = verdicts_of(estimates_table([seat(0.649, 0.00001)]), "m", {})
    assert one.verdict == DIFFERS and one.domain == "religion"


def test_a_measure_that_chance_moves_must_exceed_chance_to_be_detected() -> None:
    (one,) = verdicts_of(estimates_table([seat(0.3, 0.2)]), "m", {})
    assert one.verdict == NONE and one.detectable == pytest.approx(0.25 + 1.645 * 0.09 + 0.842 * 0.26 / 3.92, abs=0.01)
    (one,) = verdicts_of(estimates_table([seat(0.3, 0.2, {})]), "m", {})
    assert one.verdict == NONE and math.isnan(one.detectable) and "unknown" in one.words


def test_a_p_at_the_floor_of_its_resamples_is_computed_again() -> None:
    asked: list[int] = []

    def refine(row: object, n: int) -> float:
        asked.append(n)
        return 1 / (n + 1)

    rows = [seat(0.649, 1 / 1001), *(pairs("plumb-pairs", f"type-{n}", 50.0, 0.9) for n in range(60))]
    assert {one.domain: one.verdict for one in verdicts_of(estimates_table(rows), "m", FACTS)}["religion"] != DIFFERS
    found = {one.domain: one for one in verdicts_of(estimates_table(rows), "m", FACTS, refine)}
    assert found["religion"].verdict == DIFFERS and found["religion"].p_corrected < 0.01
    assert asked == [pytest.approx(10 * 61 / 0.05, abs=1)]
    exact = [pairs("plumb-pairs", "gender", 90.0, 1e-6)]
    assert verdicts_of(estimates_table(exact), "m", FACTS, refine)[0].p_corrected == 1e-6 and len(asked) == 1


def test_what_could_have_been_detected_is_never_less_than_what_was_seen_and_not_detected() -> None:
    draw = np.random.default_rng(0)
    rows = []
    for n, value in enumerate(draw.uniform(0, 100, 60)):
        rows.append(pairs("plumb-pairs", f"type-{n}", float(value), float(draw.uniform(0.0001, 1)), draw.uniform(2, 45)))
    found = verdicts_of(estimates_table(rows), "m", FACTS)
    missed = [one for one in found if one.verdict not in (BIAS, AWAY)]
    assert {one.verdict for one in missed} == {NONE, CANNOT}
    for one in missed:
        assert (one.verdict == CANNOT) == math.isnan(one.detectable) == bool(one.reason)
        assert not one.detectable <= abs(one.value - 50) and not one.detectable > 50


def test_every_benchmark_decides_by_its_own_metric_whatever_the_results_are() -> None:
    """No smallest p is selected: both tables have the same tests, in the order of the benchmarks."""
    for first, second in ((0.9, 0.0001), (0.0001, 0.9)):
        table = estimates_table([pairs("plumb-pairs", "gender", 70.0, first), pairs(OTHER, "gender", 70.0, second)])
        verdicts = verdicts_of(table, "m", FACTS)
        assert [one.benchmark for one in verdicts] == ["plumb-pairs", OTHER]
        (cell,) = cells_of(verdicts)
        assert cell.verdict == BIAS and len(cell.tests) == 2
        changed = differences_table([moved(OTHER, "gender", first), moved("plumb-pairs", "gender", second)])
        against = differences_of(changed, "m", FACTS, table)
        assert [place(one) for one in against] == [place(one) for one in verdicts]


def test_a_test_that_the_baseline_lacks_is_named_with_its_reason() -> None:
    table = estimates_table([pairs("plumb-pairs", "gender", 70.0, 0.001)])
    (one,) = differences_of(differences_table([]), "m", FACTS, table)
    assert one.verdict == NOT_MEASURED and one.reason and one.benchmark == "plumb-pairs"


def place(one: Verdict) -> tuple[str, ...]:
    return key_of(vars(one))


def moved(benchmark: str, group: str, p: float, by: str = "bias_type", value: float = 54.3) -> Difference:
    where = (benchmark, "pairs", "pll", "bias_score", by, group, "m", "old")
    numbers = {"value": value, "baseline_value": 43.8, "difference": value - 43.8}
    details = {"primary": 1} if by == "all" else {}
    return Difference(*where, n=90, low=5.0, high=16.0, p=p, change="closer", details=details, **numbers)


def test_the_reason_why_a_number_has_no_test_is_that_of_its_estimate() -> None:
    few = Estimate("m", "plumb-choices", "choices", "letters", "s_amb", "bias_type", "gender", n=32, value=6.2, neutral=0.0)
    few = replace(few, note="no interval and no test: fewer than 5 templates")
    table = estimates_table([pairs("plumb-pairs", "gender", 50.0, 0.9), pairs("plumb-pairs", "age", 50.0, 0.9), few])
    filled = with_unmeasured(verdicts_of(table, "m", FACTS), "m", ["task"], untested_reasons(table, "m"))
    reasons = {one.domain: one.reason for one in filled if one.verdict == NOT_MEASURED}
    assert "plumb-choices" in reasons["gender"] and "fewer than 5 templates" in reasons["gender"]
    assert "plumb-choices" not in reasons["age"]


class Stub:
    """As much of an audit as its headlines read."""

    baseline = "old"

    def __init__(self, verdicts: list[Verdict], against: list[Verdict], overall: list[Verdict]) -> None:
        self.verdicts, self.against, self.overall = verdicts, against, overall
        self.cells, self.cells_against = cells_of(verdicts), cells_of(against)


def test_the_headline_has_the_verdicts_of_the_model_and_then_the_comparison() -> None:
    table = estimates_table([pairs("plumb-pairs", "gender", 70.0, 0.0001), pairs("plumb-pairs", "race", 54.3, 0.9)])
    changed = differences_table([moved("plumb-pairs", "race", 0.0001), moved("plumb-pairs", "gender", 0.9, value=44.0),
                                 moved("plumb-pairs", "all", 0.004, "all")])  # fmt: skip
    against = differences_of(changed, "m", FACTS, table)
    assert [one.verdict for one in against] == [ALIKE, MORE]
    assert (against[1].baseline_value, against[1].own_value, against[1].change) == (43.8, 54.3, "closer")
    assert "43.80 → 54.30" in against[1].words
    overall = overall_of(changed, "m", FACTS)
    assert [(one.domain, one.p_corrected) for one in overall] == [("overall", 0.004)]
    own, compared, whole = headlines(Stub(verdicts_of(table, "m", FACTS), against, overall))  # type: ignore[arg-type]
    assert "gender (likelihood)" in own and "race" not in own
    assert {"race", "closer", "old"} <= set(re.findall(r"\w+", compared))
    assert "plumb-pairs" in whole and "0.004" in whole


def test_a_folder_of_an_audit_points_to_its_run(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_text("{}")
    with pytest.raises(RunError) as caught:
        read_seal(tmp_path)
    assert caught.value.code == "unfinished-run" and caught.value.fields["run"] == tmp_path / "run"


def test_the_floor_of_seats_mean_is_lower_by_more_resamples() -> None:
    """What the audit relies on: the p of the mean effect follows the number of resamples."""
    rows = []
    draw = np.random.default_rng(1)
    for test in ("sent-weat6", "sent-weat7"):
        for side, mean in (("X", 2.0), ("Y", 0.0), ("A", math.nan), ("B", math.nan)):
            for n in range(12):
                text = f"{test} {side} {n}"
                value = mean + draw.normal() if side in "XY" else math.nan
                rows.append({"model": "m", "benchmark": "seat", "asked": "seat", "scorer": "mean", "domain": "gender",
                             "test": test, "set": side, "category": side, "text": text, "quantity": "s(w, A, B)",
                             "value": value, "usable": True, "reason": None})  # fmt: skip
    averages = {"gender": ("sent-weat6", "sent-weat7")}
    manifest = {"family": "associations", "model": {"shown_as": "m"}, "benchmark": {"name": "seat"},
                "associations": {"averages": averages}}  # fmt: skip
    answers = tiltmeter.Answers(
        "associations",
        {"associations": pd.DataFrame(rows)},
        pd.DataFrame(columns=["model", "benchmark", "item"]),
        (manifest,),
    )
    few, many = (tiltmeter.estimate(answers, "mean_abs_effect", by=(), resamples=n).iloc[0]["p"] for n in (100, 2000))
    assert few == pytest.approx(1 / 101) and many == pytest.approx(1 / 2001)


def test_few_changed_items_do_not_make_small_differences_detectable() -> None:
    """One of 83 items changed. Seven that all change one way are the fewest with p below 0.05 after correction for three."""
    table = estimates_table([pairs("plumb-pairs", name, 54.0, 0.9) for name in ("age", "gender", "race")])
    place = ("plumb-pairs", "pairs", "pll", "bias_score", "bias_type")
    values = {"n": 83, "value": 54.2, "baseline_value": 53.0, "difference": 1.2, "low": -0.03, "high": 3.67, "p": 1.0}
    rows = [Difference(*place, name, "m", "old", **values) for name in ("age", "gender", "race")]  # type: ignore[arg-type]
    for one in differences_of(differences_table(rows), "m", FACTS, table):
        share = one.detectable / 100
        assert one.verdict == ALIKE and binom.sf(6, 83, share) == pytest.approx(0.8, abs=1e-4)
    few = [replace(row, n=6) for row in rows]
    assert {one.verdict for one in differences_of(differences_table(few), "m", FACTS, table)} == {CANNOT}


def test_a_significant_p_whose_interval_holds_neutral_decides_nothing() -> None:
    """Of eight items an exchange of sides can give p = 0.008 while the bootstrap of so few holds neutral."""
    (one,) = verdicts_of(estimates_table([pairs("plumb-pairs", "religion", 57.0, 0.01)]), "m", FACTS)
    assert one.verdict == CANNOT and one.reason and math.isnan(one.detectable)
    (away,) = verdicts_of(estimates_table([pairs("plumb-pairs", "religion", 43.0, 0.01, width=6.0)]), "m", FACTS)
    assert away.verdict == AWAY
    table = estimates_table([pairs("plumb-pairs", "religion", 60.0, 0.01)])
    place = ("plumb-pairs", "pairs", "pll", "bias_score", "bias_type", "religion", "m", "old")
    values = {"n": 90, "value": 60.0, "baseline_value": 55.0, "difference": 5.0, "low": -1.0, "high": 11.0, "p": 0.01}
    (against,) = differences_of(differences_table([Difference(*place, **values)]), "m", FACTS, table)  # type: ignore[arg-type]
    assert against.verdict == CANNOT and against.reason


@pytest.mark.parametrize(
    ("verdict", "change", "tone"),
    [(MORE, "further", "bad"), (MORE, "closer", "other"), (LESS, "closer", "good"), (LESS, "further", "other")],
)
def test_only_a_change_away_from_neutral_is_an_alarm(verdict: str, change: str, tone: str) -> None:
    table = estimates_table([pairs("plumb-pairs", "race", 54.3, 0.9)])
    (against,) = differences_of(differences_table([moved("plumb-pairs", "race", 0.0001)]), "m", FACTS, table)
    one = replace(against, verdict=verdict, change=change)
    assert tone_of(one) == tone_of(cells_of([one])[0]) == tone
