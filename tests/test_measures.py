"""What every measure must obey, and numbers that can be checked by hand or by another method."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import quad
from scipy.stats import norm

from conftest import reference
from tiltmeter import catalog
from tiltmeter.measures.bias_score import bias_score
from tiltmeter.measures.icat import icat
from tiltmeter.measures.jss import jensen_shannon, jss
from tiltmeter.measures.jss_liu import jss_liu
from tiltmeter.measures.kls import kls
from tiltmeter.measures.lms import lms
from tiltmeter.measures.ss import ss

READABLE = {"stereo", "anti", "unrelated", "target"}  # the association measures have tests of their own
MEASURES = [measure for measure in catalog.entries("measures") if set(measure.parameters) <= READABLE]
NAMES = [measure.name for measure in MEASURES]
scores = arrays(np.float64, st.integers(3, 30), elements=st.floats(-50, 0, width=32), unique=True)


def columns(stereo: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    n = len(stereo)
    return {
        "stereo": stereo,
        "anti": stereo[rng.permutation(n)] + 0.25,
        "unrelated": stereo - rng.random(n),
        "target": rng.integers(0, 3, n),
    }


def call(measure: catalog.Entry, table: dict[str, Any]) -> Any:
    return measure.function(**{name: table[name] for name in measure.parameters})


@pytest.mark.parametrize("measure", MEASURES, ids=NAMES)
def test_has_what_every_measure_has(measure: catalog.Entry) -> None:
    assert measure.summary
    assert measure.constant("CITATION")
    assert measure.constant("NEUTRAL", "nothing") != "nothing", "a measure states its neutral point, or None"
    assert not measure.constant("BOUNDED", False) or measure.constant("NEUTRAL") in measure.constant("RANGE")


@pytest.mark.parametrize("measure", MEASURES, ids=NAMES)
@given(stereo=scores, seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_order_of_items_does_not_matter(measure: catalog.Entry, stereo: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = columns(stereo, rng)
    order = rng.permutation(len(stereo))
    assert call(measure, table) == pytest.approx(
        call(measure, {name: column[order] for name, column in table.items()}), nan_ok=True, abs=1e-6
    )


@pytest.mark.parametrize("measure", MEASURES, ids=NAMES)
@given(stereo=scores, seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_rows_at_once_equal_rows_alone(measure: catalog.Entry, stereo: np.ndarray, seed: int) -> None:
    """Vectorised over leading axes, as resampling uses them."""
    rng = np.random.default_rng(seed)
    table = columns(stereo, rng)
    rows = {name: np.stack([column, column[::-1]]) for name, column in table.items() if name != "target"}
    together = call(measure, rows | {"target": table["target"]})
    alone = [call(measure, {name: rows[name][n] for name in rows} | {"target": table["target"]}) for n in (0, 1)]
    assert np.asarray(together) == pytest.approx(np.array(alone, dtype=float), nan_ok=True, abs=1e-9)


@given(stereo=scores, seed=st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_symmetry_and_range(stereo: np.ndarray, seed: int) -> None:
    table = columns(stereo, np.random.default_rng(seed))
    anti = table["anti"]
    ties = np.mean(stereo == anti)
    assert bias_score(stereo, anti) + bias_score(anti, stereo) == pytest.approx(100 * (1 - ties))
    for measure, low, high in ((kls, 50, 100), (jss, 0, 100), (jss_liu, 0, 100)):
        value = float(measure(stereo, anti))
        assert np.isnan(value) or low - 1e-9 <= value <= high + 1e-9
        assert value == pytest.approx(float(measure(anti, stereo)), nan_ok=True, abs=1e-6)


@given(shift=st.floats(-5, 5), scale=st.floats(0.1, 10))
@settings(max_examples=40, deadline=None)
def test_kls_depends_on_shape_not_on_units(shift: float, scale: float) -> None:
    rng = np.random.default_rng(0)
    stereo, anti = rng.normal(0, 1, 40), rng.normal(0.3, 1.4, 40)
    assert kls(scale * stereo + shift, scale * anti + shift) == pytest.approx(float(kls(stereo, anti)), rel=1e-6)


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
    assert found == pytest.approx(expected, abs=2e-7)


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
