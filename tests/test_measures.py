"""Measures: numbers that can be checked by hand or by another method, and what is done with what a measure says."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import binomtest, norm, t

from conftest import reference, scores_of
from tiltmeter import Answers, Settings
from tiltmeter.catalog import Entry
from tiltmeter.families import find_family
from tiltmeter.measures import Measure
from tiltmeter.measures.icat import icat
from tiltmeter.measures.jss import jensen_shannon, jss
from tiltmeter.measures.jss_liu import jss_liu
from tiltmeter.measures.kls import kls
from tiltmeter.measures.lms import lms
from tiltmeter.measures.ss import ss
from tiltmeter.stats.measured import (
    CONSTANT,
    SOME_UNDEFINED,
    TOO_FEW_DEFINED,
    has_exact_test,
    interval_of,
    p_values,
    stratum_of,
    wins_and_losses,
)
from tiltmeter.stats.resampling import Sample


def p_value(measure: Any, sample: Sample, value: float, sides: tuple[str, str], rng: Any, settings: Settings) -> float:
    return p_values(measure, [sample], [value], sides, rng, settings)[0]


def test_identical_scores_are_neutral_and_no_spread_is_missing() -> None:
    same = np.array([-1.5, -2.5, -3.25, -2.0])
    assert kls(same, same) == 50
    assert jss(same, same) == pytest.approx(100)
    assert jss_liu(same, same) == pytest.approx(100)
    flat = np.array([-2.0, -2.0, -2.0, -2.0])
    for measure in (kls, jss, jss_liu):
        assert np.isnan(measure(flat, same))
        assert np.isnan(measure(same[:1], same[:1]))


@pytest.mark.parametrize("case", [name for name in reference("kls_jss_nlply") if name.startswith("synthetic")])
def test_edge_cases_of_the_reference(case: str) -> None:
    expected = reference("kls_jss_nlply")[case]
    for group, inputs in expected["input"].items():
        stereo, anti = np.array(inputs["pro"]), np.array(inputs["anti"])
        if "error" in expected:  # the reference fails; ours is missing
            assert np.isnan(kls(stereo, anti))
        elif expected["per_type"][group]["kls"] is None:
            assert kls(stereo, anti) == 50
        else:
            assert kls(stereo, anti) == pytest.approx(expected["per_type"][group]["kls"], abs=1e-3)
            assert jss_liu(stereo, anti) == pytest.approx(expected["per_type"][group]["jss"], abs=2e-3)


@pytest.mark.parametrize(("mean", "sd"), [(0, 1), (0.1, 1.1), (3, 0.2), (0, 50), (9, 1), (-2, 0.02), (0.5, 7)])
def test_jensen_shannon_by_another_method(mean: float, sd: float) -> None:
    def integrand(x: float) -> float:
        p, q = norm.pdf(x), norm.pdf(x, mean, sd)
        m = (p + q) / 2
        return (p * np.log2(p / m) if p > 0 else 0) / 2 + (q * np.log2(q / m) if q > 0 else 0) / 2

    marks = sorted({-8.0, 0.0, 8.0, mean - 8 * sd, mean, mean + 8 * sd})
    expected = sum(quad(integrand, a, b, limit=200, epsabs=1e-12)[0] for a, b in pairwise(marks))
    found = jensen_shannon(np.array(0.0), np.array(1.0), np.array(float(mean)), np.array(float(sd)))
    assert found == pytest.approx(expected, abs=1e-10)


def test_stereoset_measures_by_hand() -> None:
    """Two targets: three items of one, one of the other; the second weighs as much as the first three."""
    stereo = np.array([3.0, 1.0, 2.0, 5.0])
    anti = np.array([2.0, 2.0, 2.0, 1.0])
    unrelated = np.array([1.0, 1.5, 9.0, 4.0])
    target = np.array([0, 0, 0, 1])
    assert ss(stereo, anti, target) == pytest.approx((100 / 3 + 100) / 2)  # the tie counts as anti
    assert lms(stereo, anti, unrelated, target) == pytest.approx((50 + 50) / 2)
    lean = (100 / 3 + 100) / 2
    assert icat(stereo, anti, unrelated, target) == pytest.approx(50 * (100 - lean) / 50)


# What a measure's file says is what is done with its number: made-up measures, known to no other file ---------------


def made_up(function: Callable[..., Any], sides: Callable[..., Any] | None = None, **fields: Any) -> Entry:
    """A measure as the catalog would find it in a file of its own."""
    module = ModuleType("made_up")
    vars(module)["sides"] = sides
    known = {"reads": tuple(signature(function).parameters), "role": "bias", "neutral": None, "cites": "nobody"} | fields
    if known["neutral"] is not None:
        known = {"direction": "two-sided"} | known
    return Entry(function.__name__, function, module, Measure(**known))


def difference(stereo: Any, anti: Any) -> Any:
    return np.mean(np.asarray(stereo) - np.asarray(anti), axis=-1)


def one_and_other(stereo: Any, anti: Any) -> Any:
    """The side of each item, the wrong way round on purpose: it is the measure's to say."""
    return np.sign(np.asarray(anti) - np.asarray(stereo)).astype(np.int64)


def sample_of(stereo: list[float], anti: list[float]) -> Sample:
    codes = np.zeros(len(stereo), dtype=np.int64)
    return Sample.of({"stereo": np.array(stereo), "anti": np.array(anti)}, codes, codes)


@pytest.mark.parametrize("whole", [100.0, 1.0, 7.0])
@pytest.mark.parametrize(("wins", "n"), [(12, 12), (0, 5), (2, 8), (1, 3)])
@pytest.mark.parametrize("confidence", [0.95, 0.6])
def test_a_proportion_has_an_exact_interval_where_nothing_varies(whole: float, wins: int, n: int, confidence: float) -> None:
    value = whole * wins / n
    draws, settings = np.full(200, value), Settings(confidence=confidence)
    measure = made_up(difference, proportion=whole)
    low, high, note = interval_of(measure, n, value, draws, settings)
    exact = binomtest(wins, n).proportion_ci(confidence)  # Clopper and Pearson
    assert (low, high) == pytest.approx((whole * exact.low, whole * exact.high))
    assert note == f"exact interval, {CONSTANT}"
    assert low <= value <= high and high - low > 0.1 * whole

    low, high, note = interval_of(made_up(difference), n, value, draws, settings)
    assert np.isnan(low) and np.isnan(high) and note == f"no interval, {CONSTANT}"


def test_intervals_where_something_varies() -> None:
    draws, settings = np.linspace(50.0, 70.0, 201), Settings(confidence=0.9)
    widening = t.ppf(0.95, 8) / norm.ppf(0.95) * np.sqrt(9 / 8)  # nine units
    reach = 9.1 * widening  # the 5 % of draws that a test rejects end at 50.9 and 69.1
    assert interval_of(made_up(difference), 9, 60.0, draws, settings) == (
        pytest.approx(60 - reach), pytest.approx(60 + reach), ""
    )  # fmt: skip
    low, high, note = interval_of(made_up(difference, proportion=100.0), 9, 60.0, draws, settings)
    assert low < 50.9 and high > 69.1 and high - 60 < 60 - low and not note, "a share is pulled towards one half"
    bounded = made_up(difference, neutral=50.0, direction="one-sided", range=(50.0, 65.0))
    low, high, _ = interval_of(bounded, 9, 52.0, draws, settings)  # the draws lie above the value: noise added to noise
    assert low == 50.0 and 52.0 < high < 65.0
    some = np.concatenate([draws, np.full(30, np.nan)])
    assert interval_of(made_up(difference), 9, 60.0, some, settings)[2] == SOME_UNDEFINED.format(30, 231)
    low, high, note = interval_of(made_up(difference), 9, 60.0, np.where(np.arange(201) < 99, draws, np.nan), settings)
    assert np.isnan(low) and np.isnan(high) and note == TOO_FEW_DEFINED


@pytest.mark.parametrize(("wins", "losses", "ties"), [(9, 1, 0), (1, 9, 4), (6, 5, 2), (0, 0, 3), (20, 0, 0)])
def test_a_sign_test_is_exact(wins: int, losses: int, ties: int) -> None:
    stereo = [0.0] * (wins + losses + ties)
    anti = [1.0] * wins + [-1.0] * losses + [0.0] * ties
    measure = made_up(difference, one_and_other, neutral=0.0, test="binomial")
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    p = p_value(measure, sample_of(stereo, anti), 0.0, ("stereo", "anti"), rng, Settings())
    assert p == pytest.approx(binomtest(wins, wins + losses).pvalue if wins + losses else 1.0)
    assert rng.bit_generator.state == before  # nothing was drawn
    assert wins_and_losses(measure, sample_of(stereo, anti)) == (wins, losses)
    assert has_exact_test(measure) and not has_exact_test(made_up(difference, neutral=0.0))


def test_without_a_sign_test_sides_are_exchanged() -> None:
    """Of the 32 ways to give 1, 2, 3, 4 and 5 signs, 20 have a sum of 5 or more, or of -5 or less; three are at -5 itself,
    and whether these count is up to where the draws are centred. By signs alone it would be 12 of 32.
    """
    sample = sample_of([1.0, 2.0, 3.0, 4.0, -5.0], [0.0] * 5)
    for measure in (made_up(difference, neutral=0.0), made_up(difference, one_and_other, neutral=0.0)):
        p = p_value(measure, sample, 1.0, ("stereo", "anti"), np.random.default_rng(0), Settings(resamples=20_000))
        assert 16.5 / 32 < p < 20.5 / 32
    nowhere = made_up(difference)
    assert np.isnan(p_value(nowhere, sample, 1.0, ("stereo", "anti"), np.random.default_rng(0), Settings()))


def pairs_by_target() -> Answers:
    """Differences of 1 for one target and 3 for the other, each target in both of two bias types."""
    rows = [
        {
            "model": model, "benchmark": "b", "item": f"i{k}", "role": role, "scorer": "s",
            "score": float((1 + 2 * (k % 2) + shift) * (role == "stereo")), "n_tokens": 1, "reason": None,
            "bias_type": "ab"[k % 4 // 2], "direction": None, "target": "xy"[k % 2],
        }
        for model, shift in (("m", 0.0), ("n", 0.5))
        for k in range(40)
        for role in ("stereo", "anti")
    ]  # fmt: skip
    return scores_of(
        pd.DataFrame(rows), pd.DataFrame({"benchmark": "b", "item": [f"i{k}" for k in range(40)], "extra": "{}"})
    )


def slots_by_target() -> Answers:
    """The same of one group of terms in sentences."""
    rows = [
        {
            "model": "m", "benchmark": "b", "item": f"i{k}", "group": "g", "term": "t", "pieces": 1,
            "probability": 0.1 + 0.2 * (k % 2), "rank": 1, "matched": True, "top_k": 10, "among": "vocabulary",
            "reason": None, "bias_type": "ab"[k % 4 // 2], "direction": None, "target": "xy"[k % 2],
        }
        for k in range(40)
    ]  # fmt: skip
    items = pd.DataFrame({"benchmark": "b", "item": [f"i{k}" for k in range(40)], "extra": "{}"})
    return Answers("slots", {"slots": pd.DataFrame(rows)}, items)


def mean_probability(probability: Any) -> Any:
    return np.mean(probability, axis=-1)


@pytest.mark.parametrize(
    ("answers", "function", "value"), [(pairs_by_target(), difference, 2.0), (slots_by_target(), mean_probability, 0.2)]
)
def test_items_are_drawn_within_the_strata_that_a_measure_names(answers: Answers, function: Any, value: float) -> None:
    """Within a target nothing varies, so a measure drawn so has no interval; within bias types it has one."""
    family = find_family(answers.family)
    found = {
        strata: next(iter(family.estimate(answers, [made_up(function, **fields)], ["all"], Settings(resamples=200))))
        for strata, fields in (("target", {"stratum": "target"}), ("bias_type", {}))
    }
    assert [row.value for row in found.values()] == pytest.approx([value, value])
    assert np.isnan(found["target"].low) and "all resamples" in found["target"].note
    assert found["bias_type"].low < value < found["bias_type"].high and found["bias_type"].note == ""
    assert stratum_of(made_up(function, stratum="target")) == "target" and stratum_of(made_up(function)) == "bias_type"


def test_a_made_up_measure_of_proportion_and_sign_through_a_family() -> None:
    """What MEASURE says reaches estimates and comparisons, though nothing knows the measure's name."""

    def ours(stereo: Any, anti: Any) -> Any:
        return 3.0 * np.mean(np.asarray(stereo) > np.asarray(anti), axis=-1)

    def sides(stereo: Any, anti: Any) -> Any:
        return np.sign(np.asarray(stereo) - np.asarray(anti)).astype(np.int64)

    measure = made_up(ours, sides, neutral=1.5, proportion=3.0, test="binomial")
    answers = pairs_by_target()
    row = next(iter(find_family("pairs").estimate(answers, [measure], ["all"], Settings(resamples=200))))
    assert (row.measure, row.value, row.n, row.neutral) == ("ours", 3.0, 40, 1.5)
    assert (row.low, row.high) == pytest.approx((3 * 0.025 ** (1 / 40), 3.0))
    assert row.p == pytest.approx(2 * 0.5**40)
    answers.table.loc[(answers.table["model"] == "n") & answers.table["item"].isin(["i0", "i1", "i2"]), "score"] = 0.0
    answers.table.loc[(answers.table["model"] == "n") & (answers.table["role"] == "anti"), "score"] = 0.25
    (difference_,) = find_family("pairs").compare(pairs_of(answers), "m", "n", [measure], ["all"], Settings(resamples=200))
    assert difference_.difference == pytest.approx(3 * 3 / 40)
    assert difference_.p == pytest.approx(2 * 0.5**3)  # the three pairs on which the two disagree


def pairs_of(answers: Answers) -> Answers:
    """The same anew: what was paired up is remembered for the answers it was made of."""
    return scores_of(answers.table.copy(), answers.items)
