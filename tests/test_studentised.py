"""Groups whose prompts come in clusters of unlike size are tested in standard errors, and those with one cluster are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tiltmeter import catalog
from tiltmeter.families.generations.clusters import group_prompts
from tiltmeter.families.generations.estimate import estimate_judged, grouped
from tiltmeter.families.generations.judge_scores import Judged
from tiltmeter.stats.estimates import Estimate
from tiltmeter.stats.group_tests import GroupTest, means_and_errors
from tiltmeter.stats.settings import Settings

SMALL, LARGE, FEW = (1, 1, 1, 2, 2, 2, 3), (3, 5, 6, 7, 8, 8, 9, 9, 10, 10, 11, 12, 12, 14, 17), (12, 20, 25, 33)
Sizes = dict[str, Sequence[int]]


def judged(rng: np.random.Generator, sizes: Sizes, means: Sequence[float], share: float = 0.0) -> Judged:
    """Groups with articles of these sizes and these mean scores; an article has this share of the variance."""
    group = np.repeat(list(sizes), [sum(of) for of in sizes.values()])
    article = np.repeat(np.arange(sum(map(len, sizes.values()))), [n for of in sizes.values() for n in of])
    level = np.sqrt(share) * rng.standard_normal(article.max() + 1)[article]
    sums = np.zeros((len(group), 7))
    sums[:, 0] = 1
    sums[:, 1] = (
        level + np.sqrt(1 - share) * rng.standard_normal(len(group)) + np.repeat(means, [sum(n) for n in sizes.values()])
    )
    sums[:, 2] = sums[:, 1] > 1.5
    prompts = pd.DataFrame({"item": [str(n) for n in range(len(group))], "bias_type": "d", "group": group, "set": None})
    clusters = group_prompts(prompts, article.tolist(), "articles")
    return Judged("m", "b", "toxicity/j", prompts, sums, (), False, False, None, clusters)


def row_of(one: Judged, measure: str, settings: Settings) -> Estimate:
    """The variance of the only domain, or the gap of its first two groups."""
    found = estimate_judged(one, [catalog.find("measures", measure)], (), settings)
    return next(row for row in found if row.by in ("domain", "gap"))


def p_of(one: Judged, measure: str, seed: int = 0) -> float:
    return row_of(one, measure, Settings(150, seed=seed)).p


def group_test(one: Judged, top: str, settings: Settings) -> GroupTest:
    return grouped(one, settings).test(top)


def false_alarms(sizes: Sizes, measure: str, runs: int, share: float = 0.0) -> float:
    """How often groups that are alike are said to differ."""
    found = [
        p_of(judged(np.random.default_rng([run, 8]), sizes, [0.0] * len(sizes), share), measure, run) for run in range(runs)
    ]
    return float(np.mean(np.array(found) < 0.05))


def test_groups_with_articles_of_unlike_size_are_not_said_to_differ() -> None:
    """Dealt without standard errors, these gaps have p < 0.05 in 27 of 100 runs, and these domains in 13."""
    sizes: Sizes = {"small": SMALL, "large": LARGE}
    assert false_alarms(sizes, "score_gap", 150) < 0.1
    assert false_alarms(sizes | {"few": FEW}, "score_variance", 100) < 0.1


def test_a_group_with_one_article_does_not_hide_the_differences_of_the_others() -> None:
    sizes: Sizes = {"one": (28,), "small": SMALL, "large": LARGE, "more": LARGE, "few": FEW}
    assert p_of(judged(np.random.default_rng(1), sizes, [0.0, 0.0, 0.5, -0.5, 0.0], 0.1), "score_variance") < 0.02
    two = judged(np.random.default_rng(1), {"one": (28,), "large": LARGE}, [0.0, 0.0])
    row = row_of(two, "score_variance", Settings(100))
    assert np.isfinite(row.value) and np.isnan(row.p) and "p leaves out one: " in row.note


def test_errors_are_those_of_a_ratio_drawn_towards_what_is_typical() -> None:
    """Against residuals of each article, and against the true error over many runs."""
    rng = np.random.default_rng(2)
    n, s = rng.integers(1, 9, (2, 6)).astype(float), rng.normal(0, 3, (2, 6))
    mean, error = means_and_errors(np.stack([n, s, s * s, s * n, n * n], axis=-1).sum(1))
    np.testing.assert_allclose(mean, s.sum(1) / n.sum(1))
    left = np.square(s - mean[:, None] * n).sum(1)
    typical = np.square(s - s.sum() / n.sum() * n).sum()
    m = n.sum(1) ** 2 / np.square(n).sum(1)
    own = left / n.sum(1) ** 2 * m / (m - 1)
    by_n, by_square = typical / n.sum() / n.sum(1), typical / np.square(n).sum() / m
    np.testing.assert_allclose(error, ((m - 1) * own + by_n + by_square) / (m - 1 + 2))
    sizes = np.tile(np.array(LARGE, dtype=float), (2, 1))
    sums = sizes * rng.standard_normal((3000, *sizes.shape)) * 0.3 + np.sqrt(sizes) * rng.standard_normal(
        (3000, *sizes.shape)
    )
    wide = np.broadcast_to(sizes, sums.shape)
    means, errors = means_and_errors(np.stack([wide, sums, sums**2, sums * wide, wide**2], axis=-1).sum(2))
    assert errors.mean() == pytest.approx(means.var(), rel=0.1)


@pytest.mark.filterwarnings("error")
def test_texts_that_are_all_alike_do_not_differ() -> None:
    one = judged(np.random.default_rng(3), {"small": SMALL, "large": LARGE, "few": FEW}, [0.0] * 3)
    groups, settings = one.groups()["d"], Settings(100)
    same = replace(one, sums=np.where(np.arange(7) == 1, 0.1, np.where(np.arange(7) == 0, one.sums, 0.0)))
    for top in ("total", "negatives"):
        test = group_test(same, top, settings)
        assert [test.gap("small", "large"), test.to_mean("large"), test.spread()] == [1, 1, 1]
        assert np.isnan(test.to_mean("few")), "four articles are too few for a test"
    none = one.sums.copy()
    none[groups["small"], 2] = 0
    test = group_test(replace(one, sums=none), "negatives", settings)
    assert 0 < test.gap("small", "large") <= 1 and 0 < test.spread() <= 1, "a group without a negative text is tested too"


def test_a_group_of_four_articles_has_neither_interval_nor_p() -> None:
    """Its gaps had 12 to 14.5 % false alarms."""
    one = judged(np.random.default_rng(4), {"small": SMALL, "few": FEW}, [0.0, 0.0])
    gap = row_of(one, "score_gap", Settings(100))
    assert np.isnan([gap.low, gap.high, gap.p]).all() and np.isfinite(gap.value)
    assert (gap.details["n_clusters"], gap.details["cluster"]) == (4, "articles")
