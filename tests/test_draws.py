"""What is drawn: the same for any order of rows, and the same numbers by matrix products as by picking items out."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, fisher_exact, norm

import tiltmeter
from conftest import scores_of
from support.raising import raises
from tiltmeter import Answers, Settings, catalog
from tiltmeter.families.pairs.estimate import estimate as estimate_pairs
from tiltmeter.families.pairs.paired import pair_up
from tiltmeter.measures import Measure
from tiltmeter.measures.kit.jensen_shannon import jensen_shannon
from tiltmeter.stats.measured import p_values
from tiltmeter.stats.moments import bootstrap_together, exchange_together, has_moments
from tiltmeter.stats.resampling import Sample, bootstrap_alike, exchanged, generator
from tiltmeter.stats.significance import binomial_p, fisher_p

MOMENTS = [measure for measure in catalog.entries("measures") if has_moments(measure)]
SIDES = ("stereo", "anti")


def made_up(n: int = 90, scorers: tuple[str, ...] = ("s", "t"), **more: Any) -> Answers:
    """Scores of all roles, with ties, gaps, types, directions and targets."""
    rng = np.random.default_rng(5)
    rows = []
    for scorer in scorers:
        for k in range(n):
            stereo = float(rng.normal(0.3))
            values = {
                "stereo": stereo,
                "anti": stereo if k % 7 == 0 else float(rng.normal()),
                "unrelated": float(rng.normal()),
            }
            labels = {
                "bias_type": "abc"[k % 3],
                "direction": ("advantaged", "disadvantaged")[k % 4 == 0],
                "target": f"t{k % 11}",
            }
            for role, value in values.items():
                gap = (k, role) == (13, "anti")
                rows.append(
                    {"model": "m", "benchmark": "b", "item": f"i{k}", "role": role, "scorer": scorer, "n_tokens": 1}
                    | {"score": np.nan if gap else value, "reason": "made up" if gap else None}
                    | labels
                )
    items = pd.DataFrame(
        {
            "benchmark": "b",
            "item": [f"i{k}" for k in range(n)],
            "extra": [json.dumps({"region": str(k % 2)}) for k in range(n)],
        }
    )
    return scores_of(pd.DataFrame(rows), items)


def a_sample(seed: int, n: int = 80) -> Sample:
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {role: rng.normal(size=n) for role in ("stereo", "anti", "unrelated")}
    columns["anti"][:5] = columns["stereo"][:5]
    target = np.random.default_rng(0).integers(0, 12, n)  # the same items in every sample
    return Sample.of({**columns, "target": target, "pole": target % 2}, target, target // 5)


def test_the_order_of_rows_changes_nothing() -> None:
    answers = made_up()
    shuffled = answers.mapped(lambda frame: frame.sample(frac=1.0, random_state=3).reset_index(drop=True))
    key = ["scorer", "measure", "by", "group"]
    tables = [tiltmeter.estimate(one, resamples=200).sort_values(key, ignore_index=True) for one in (answers, shuffled)]
    assert len(tables[0]) > 50 and tables[0]["low"].notna().any()
    pd.testing.assert_frame_equal(*tables, check_exact=True)


@pytest.mark.parametrize("measure", MOMENTS, ids=[measure.name for measure in MOMENTS])
def test_products_give_what_picking_items_out_gives(measure: catalog.Entry) -> None:
    samples = [a_sample(seed) for seed in (1, 2, 3)]
    together = bootstrap_together(measure, samples, generator(0, "x"), 150)
    alone = bootstrap_alike(measure, samples, generator(0, "x"), 150)
    np.testing.assert_allclose(together, alone, atol=1e-9)
    flipped = exchange_together(measure, samples, SIDES, generator(0, "y"), 150)
    for sample, values in zip(samples, flipped, strict=True):
        np.testing.assert_allclose(values, exchanged(measure, sample, SIDES, generator(0, "y"), 150), atol=1e-9)


def test_p_by_exchanging_is_centred_where_the_draws_are() -> None:
    """Ties count against the stereotype either way, so draws of ss scatter around less than 50: around the mean of the value
    and of the value with all pairs exchanged, whatever the seed. The test is then that of the signs."""
    measure = catalog.find("measures", "ss")
    rng = np.random.default_rng(0)
    stereo, anti = rng.normal(0.35, 1, 60), rng.normal(size=60)
    anti[:20] = stereo[:20]
    one_each = np.arange(60)
    sample = Sample.of({"stereo": stereo, "anti": anti, "target": one_each}, one_each, np.zeros(60, dtype=np.int64))
    value = float(measure.function(stereo, anti, one_each))
    wins = int((stereo > anti).sum())
    found = [p_values(measure, [sample], [value], SIDES, generator(seed, "p"), Settings(20_000))[0] for seed in (0, 1)]
    exact = binomtest(wins, 40).pvalue
    assert found == pytest.approx([exact, exact], abs=0.012)
    swapped = [exchange_together(measure, [one], SIDES, generator(0, "p"), 500)[0] for one in (sample, sample.turned(SIDES))]
    assert np.ptp(swapped[0] + swapped[1]) < 1e-9  # so every draw gives the same centre


def a_measure(**fields: Any) -> catalog.Entry:
    declared = Measure(reads=SIDES, role="bias", neutral=0.0, direction="two-sided", cites="nobody", **fields)

    def margin(stereo: Any, anti: Any) -> Any:
        return np.mean(stereo - anti, axis=-1)

    return catalog.Entry("margin", margin, ModuleType("margin"), declared)


def test_a_contrast_needs_no_sides_and_draws_within_the_measures_own_strata() -> None:
    contrasts = {"direction": ("advantaged", "disadvantaged")}
    rows = list(estimate_pairs(made_up(), [a_measure(contrasts=contrasts, stratum="target")], ["direction"], Settings(300)))
    gap = next(row for row in rows if row.group == "|difference|")
    of_groups = {row.group: row for row in rows if row.by == "direction" and row.scorer == gap.scorer}
    assert gap.value == pytest.approx(abs(of_groups["advantaged"].value - of_groups["disadvantaged"].value))
    assert 0 < gap.p <= 1 and gap.low <= gap.value <= gap.high and "bootstrap" in gap.note
    assert gap.n == of_groups["advantaged"].n + of_groups["disadvantaged"].n and gap.n_missing == 1
    by_type = list(estimate_pairs(made_up(), [a_measure(contrasts=contrasts)], ["direction"], Settings(300)))
    assert next(row for row in by_type if row.group == "|difference|").high != gap.high


def test_items_of_a_weighted_measure_stay_in_their_bias_type() -> None:
    """Whatever else they are drawn within: each type counts by its size, which must not change from draw to draw."""
    paired = pair_up(made_up())[0].complete_for(a_measure())[0]
    sample = paired.sample_for(a_measure(stratum="target", weighted=True))
    for index in sample.draws(generator(0, "x"), 50):
        assert (sample.parts[index] == sample.parts).all() and (
            sample.columns["target"][index] == sample.columns["target"]
        ).all()


def test_strata_may_be_any_column_of_the_items_and_must_be_one() -> None:
    rows = list(estimate_pairs(made_up(), [a_measure(stratum="region")], [], Settings(100)))
    assert all(np.isfinite(row.low) for row in rows)
    with raises("missing-column", column="colour"):
        list(estimate_pairs(made_up(), [a_measure(stratum="colour")], [], Settings(100)))


@pytest.mark.parametrize(
    ("wins", "losses"), [(0, 0), (1, 0), (5, 5), (9, 1), (20, 31), (700, 808), (40_000, 41_000), (0, 900)]
)
def test_the_sign_test_is_exact(wins: int, losses: int) -> None:
    expected = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert binomial_p(wins, losses) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "table",
    [(8, 2, 1, 5), (0, 3, 3, 0), (5, 5, 5, 5), (150, 68, 712, 578), (0, 0, 3, 4), (30, 0, 0, 41), (9000, 8000, 7100, 7000)],
)
def test_fishers_test_is_exact(table: tuple[int, int, int, int]) -> None:
    expected = fisher_exact([table[:2], table[2:]]).pvalue
    assert fisher_p(*table) == pytest.approx(expected, rel=1e-8)


def test_many_divergences_are_what_single_ones_are() -> None:
    """Those of many resamples are interpolated; one alone is integrated."""
    rng = np.random.default_rng(0)
    mean, sd = rng.normal(0, 0.4, 9_000), np.exp(rng.normal(0, 0.2, 9_000))
    mean[:20], sd[:20] = rng.normal(0, 9, 20), np.exp(rng.normal(0, 2, 20))
    sd[20], mean[21] = np.nan, 1e200
    many = jensen_shannon(np.zeros(9_000), np.ones(9_000), mean, sd)
    some = range(0, 400)
    single = [float(jensen_shannon(np.array(0.0), np.array(1.0), mean[k], sd[k])) for k in some]
    np.testing.assert_allclose(many[some], single, atol=1e-11)
    assert np.isnan(many[20]) and many[21] == pytest.approx(1)
    x = np.linspace(-12, 12, 40_001)
    for k in range(100, 110):
        p, q = norm.pdf(x), norm.pdf(x, mean[k], sd[k])
        m = (p + q) / 2
        direct = np.trapezoid(p * np.log2(p / m) + q * np.log2(q / m), x) / 2
        assert many[k] == pytest.approx(direct, abs=1e-10)
