"""What intervals of areas and tests of groups in clusters rest on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.test_labels import answered, estimated, one
from tiltmeter import Answers, Settings, catalog
from tiltmeter.families.labels.estimate import aligned, compare, questions
from tiltmeter.families.labels.facts import facts_of
from tiltmeter.stats.design import generator
from tiltmeter.stats.significance import permutation_p

GROUPS = [["man"], ["woman"]]


@pytest.mark.parametrize(("n_toxic", "has_interval"), [(3, False), (30, True)])
def test_an_area_needs_enough_texts_of_either_label(n_toxic: int, has_interval: bool) -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(300) < n_toxic
    score = np.clip(rng.normal(0.4 + 0.2 * truth, 0.2), 0, 1)
    row = one(estimated(answered(truth, score, [[]] * 300), "label_auc"), group="all")
    assert np.isfinite(row["low"]) == has_interval and (has_interval or "3 independent" in row["note"])


@pytest.mark.parametrize(("rate", "is_found"), [(0.5, True), (0.1, False)])
def test_groups_whose_clusters_name_one_group_each_can_differ(rate: float, is_found: bool) -> None:
    """Permuting texts within clusters would change nothing, and p would always be 1."""
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(60), np.resize([1, 2, 3, 6, 13], 60))
    group = clusters % 2
    wrong = rng.random(len(clusters)) < np.where(group == 0, rate, 0.1)
    answers = answered(np.zeros(len(clusters)), wrong * 0.9, [GROUPS[which] for which in group], clusters=clusters)
    table = estimated(answers, "fpr_gap", "fpr_range", resamples=400)
    at_half = table[(table["scorer"] == "at 0.5") & (table["by"] != "threshold")]
    assert ((at_half["p"] < 0.05) == is_found).all() and len(at_half) == 3


def test_a_group_of_few_clusters_has_no_p() -> None:
    clusters = np.repeat(np.arange(24), 5)
    group = (clusters >= 20).astype(int)
    answers = answered(np.zeros(120), np.linspace(0, 1, 120), [GROUPS[which] for which in group], clusters=clusters)
    assert estimated(answers, "fpr_gap")["p"].isna().all()


@pytest.mark.parametrize("seed", range(6))
def test_a_ratio_by_several_seeds_is_no_surer_than_exchanging_texts_says(seed: int) -> None:
    """Draws of few false positives alone found a difference in 9 % of neutral comparisons."""
    rng, measure, settings = np.random.default_rng(seed), catalog.find("measures", "fpr_ratio"), Settings(400)
    truth, groups = np.zeros(160), [GROUPS[n % 2] for n in range(160)]
    models = [answered(truth, np.tile(rng.random(160) < 0.04, (3, 1)), groups, name) for name in ("x", "y")]
    table = pd.concat([one.tables["labels"] for one in models])
    both = Answers("labels", {"labels": table}, models[0].items, models[0].manifests)
    (row,) = (row for row in compare(both, "x", "y", [measure], (), settings) if row.scorer == "at 0.5")
    facts = aligned(*facts_of(both, [], True))
    pair = [
        next(one for one in questions(of, [measure], ()) if one.cell.scorer == "at 0.5" and not one.is_point) for of in facts
    ]
    others, is_exact = pair[0].rows.exchanged(pair[1].rows, 400, generator(settings.seed, "exchanged", "mine", pair[0].by))
    assert row.p >= permutation_p(row.difference, others, 0.0, is_exact=is_exact)
