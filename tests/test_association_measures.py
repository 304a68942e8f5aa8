"""Association measures: numbers of the original code, published vectors, and the laws they obey."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from conftest import reference
from tiltmeter import catalog
from tiltmeter.measures.ces import random_effects
from tiltmeter.measures.effect_size import effect_size
from tiltmeter.measures.group_variance import group_variance
from tiltmeter.measures.kit.vectors import association, cosines, unit
from tiltmeter.measures.single_effect import single_effect
from tiltmeter.stats.intervals import effect_interval
from tiltmeter.stats.sets import bootstrap_sets
from tiltmeter.stats.significance import sign_flip_p, split_p

Vectors = np.ndarray
entries = st.floats(-5, 5, width=32).filter(lambda value: value == 0 or abs(value) > 1e-3)
sets = st.tuples(*(arrays(np.float64, (size, 4), elements=entries) for size in (3, 4, 3, 2)))


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def weat(x: Vectors, y: Vectors, a: Vectors, b: Vectors) -> float:
    return float(effect_size(association(x, a, b), association(y, a, b)))


@pytest.mark.parametrize("case", reference("seat_bias_bench")["random_vectors"])
def test_weat_equals_bias_bench(case: str) -> None:
    """Effect size and exact p on stored vectors; ties by tolerance, as the reference's own note asks."""
    row = reference("seat_bias_bench")["random_vectors"][case]
    x, y, a, b = (np.array(row[name]) for name in ("targ1", "targ2", "attr1", "attr2"))
    assert weat(x, y, a, b) == pytest.approx(row["effect_size"], abs=1e-9)
    p, exact = split_p(association(x, a, b), association(y, a, b), rng())
    assert exact and p == pytest.approx(row["p_value_with_tolerance_1e_12"], abs=1e-9)


@pytest.mark.realdata
@pytest.mark.parametrize(("test", "d"), [("6", 0.47678), ("6b", 0.10800), ("7", 0.25251), ("8", 0.39882)])
def test_published_bert_vectors(realdata: Path, test: str, d: float) -> None:
    """BERT's own vectors for SEAT 6, 6b, 7 and 8, as their authors stored them."""
    with np.load(realdata / "published-scores" / "seat-bert-vectors" / f"sent-weat{test}_bert.npz") as found:
        x, y, a, b = (found[name] for name in ("targ1", "targ2", "attr1", "attr2"))
    assert weat(x, y, a, b) == pytest.approx(d, abs=1e-4)


@pytest.mark.parametrize("case", reference("ceat")["random_effects"])
def test_random_effects_equal_ceat(case: str) -> None:
    row = reference("ceat")["random_effects"][case]
    found = random_effects(np.array(row["effect_sizes"]), np.array(row["variances"]))
    assert found.ces == pytest.approx(row["combined_effect_size"], abs=1e-9)
    assert found.p == pytest.approx(row["p_value_as_coded"], abs=1e-9)
    assert (found.q, found.tau_squared) == pytest.approx((row["Q"], row["tau_squared"]), rel=1e-9, abs=1e-9)
    assert found.ces / found.standard_error == pytest.approx(row["z"], abs=1e-9)


@pytest.mark.parametrize("case", reference("ceat")["effect_size_from_vectors"])
def test_effect_and_variance_equal_ceat(case: str) -> None:
    row = reference("ceat")["effect_size_from_vectors"][case]
    x, y, a, b = (np.array(row[name]) for name in ("targ1", "targ2", "attr1", "attr2"))
    assert weat(x, y, a, b) == pytest.approx(row["effect_size"], abs=1e-9)
    both = np.concatenate([association(x, a, b), association(y, a, b)])
    assert both.var(ddof=1) == pytest.approx(row["variance_as_coded"], abs=1e-9)


@given(sets)
def test_swapping_sides_negates_d(found: tuple[Vectors, ...]) -> None:
    x, y, a, b = found
    assume(all(np.any(vectors != 0, axis=1).all() for vectors in found))
    d = weat(x, y, a, b)
    assert weat(y, x, a, b) == pytest.approx(-d, nan_ok=True, abs=1e-8)
    assert weat(x, y, b, a) == pytest.approx(-d, nan_ok=True, abs=1e-8)


@given(sets, arrays(np.float64, 4, elements=st.floats(0.01, 1e6)))
def test_lengths_of_vectors_do_not_matter(found: tuple[Vectors, ...], scale: Vectors) -> None:
    assume(all(np.any(vectors != 0, axis=1).all() for vectors in found))
    d = weat(*found)
    assume(np.isnan(d) or abs(d) < 1.99)  # rounding decides where all but nothing of the spread is left
    assert weat(*(vectors * factor for vectors, factor in zip(found, scale, strict=True))) == pytest.approx(
        d, nan_ok=True, rel=1e-6, abs=1e-8
    )


@given(arrays(np.float64, st.integers(2, 7), elements=entries), arrays(np.float64, st.integers(2, 7), elements=entries))
def test_p_is_a_probability_and_never_zero(x: Vectors, y: Vectors) -> None:
    p, exact = split_p(x, y, rng())
    assert exact and 0 < p <= 1
    above, below = p, split_p(y, x, rng())[0]
    assert above + below >= 1 - 1e-12  # the observed split and all that tie with it count on both sides


@given(arrays(np.float64, st.integers(2, 20), elements=entries), st.floats(0.01, 4))
def test_without_spread_between_draws_ces_is_the_fixed_mean(effects: Vectors, variance: float) -> None:
    """Equal variances as large as the effects' own leave τ² at 0."""
    variances = np.full(len(effects), max(variance, float(effects.var(ddof=1))))
    found = random_effects(effects, variances)
    assert found.tau_squared == pytest.approx(0, abs=1e-9)
    weights = 1 / variances
    assert found.ces == pytest.approx(float((weights * effects).sum() / weights.sum()), abs=1e-9)
    assert 0 <= found.p <= 1 and found.standard_error > 0


def test_all_splits_of_eight_and_eight_in_milliseconds() -> None:
    values = rng().normal(size=16)
    split_p(values[:8], values[8:], rng())
    started = time.perf_counter()
    p, exact = split_p(values[:8], values[8:], rng())
    assert exact and 0 < p <= 1 and time.perf_counter() - started < 0.5  # some 15 ms; a loop in Python takes longer


def test_sampled_p_is_close_to_the_exact_one_and_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    values = rng().normal(size=14)
    exact, _ = split_p(values[:6] + 0.6, values[6:], rng())  # unequal sizes: all C(14, 6) splits
    monkeypatch.setattr("tiltmeter.stats.significance.EXACT_SPLITS", 10)
    sampled, was_exact = split_p(values[:6] + 0.6, values[6:], rng())
    assert not was_exact and sampled == pytest.approx(exact, abs=0.01)
    assert sampled == split_p(values[:6] + 0.6, values[6:], rng())[0]


def test_what_has_no_spread_or_direction_is_missing() -> None:
    same = np.ones((3, 4))
    assert np.isnan(weat(same, same, same, same[:2]))
    assert np.isnan(unit(np.zeros((1, 3)))).all() and np.isnan(cosines(np.zeros((1, 3)), np.ones((2, 3)))).all()
    assert np.isnan(split_p(np.array([np.nan, 1]), np.array([0.0, 1]), rng())[0])
    assert np.isnan(group_variance(np.array([3.0]))) and np.isnan(single_effect(np.array([1.0]), np.array([1.0])))


def test_sign_flips() -> None:
    assert sign_flip_p(np.full(12, 0.4), rng()) < 0.01
    assert sign_flip_p(np.array([1.0, -1.0, 0.5, -0.5]), rng()) == 1
    assert np.isnan(sign_flip_p(np.array([]), rng()))


def test_association_measures_say_where_neutral_is() -> None:
    names = ("effect_size", "mean_abs_effect", "single_effect", "ces", "ilps", "ilps_causal", "ilps_kurita")
    for name in (*names, "group_variance"):
        entry = catalog.find("measures", name)
        assert entry.spec.neutral == 0


def test_intervals_of_effect_sizes_cover() -> None:
    """Eight words a set, far apart: percentiles hold the truth too seldom (benchmarks/effect_coverage.py)."""
    rng = np.random.default_rng(3)
    truth, plain, ours = 1.5 / np.sqrt(1 + 1.5**2 / 4), 0, 0
    for _ in range(300):
        x, y = rng.normal(1.5, 1, 8), rng.normal(0, 1, 8)
        draws = bootstrap_sets(effect_size, [(x, y)], 200, rng)[0]
        low, high = effect_interval(float(effect_size(x, y)), draws, (8, 8), 0.95)
        assert -np.sqrt(16 * 15 / 64) < low < high < np.sqrt(16 * 15 / 64)
        ours += low <= truth <= high
        plain += np.percentile(draws, 2.5) <= truth <= np.percentile(draws, 97.5)
    assert plain / 300 < 0.90 and 0.92 < ours / 300 < 0.98


def test_an_effect_at_its_end_has_no_interval() -> None:
    """All of X alike and all of Y alike: nothing varies inside the sets."""
    draws = bootstrap_sets(effect_size, [(np.ones(4), np.zeros(4))], 200, np.random.default_rng(0))[0]
    assert np.isnan(effect_interval(float(effect_size(np.ones(4), np.zeros(4))), draws, (4, 4), 0.95)).all()


def test_a_combined_effect_needs_every_variance() -> None:
    combined = random_effects(np.array([0.1, 0.2]), np.array([0.3, 0.0]))
    assert all(np.isnan(combined))
