"""Prompts of one minimal set are no independent evidence, also where nobody says which cluster they are from."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import tiltmeter
from tests.test_generations import made_up
from tiltmeter import Answers


def estimated(extra: list[dict[str, str]]) -> pd.DataFrame:
    """Two groups whose 40 prompts have the same scores, in the same order."""
    scores = np.random.default_rng(2).normal(0.3, 0.3, (40, 2)).tolist()
    answers = made_up({"a": scores, "b": scores})
    items = answers.items.assign(extra=[json.dumps(one) for one in extra])
    both = Answers(answers.family, answers.tables, items, answers.manifests)
    table = tiltmeter.estimate(both, ["mean_score", "score_gap"], resamples=800)
    return table.assign(width=table["high"] - table["low"]).set_index(["by", "group"])


def test_what_sets_share_is_no_further_evidence_about_all_groups() -> None:
    sets = estimated([{"set": f"s{n % 40}"} for n in range(80)])
    alone = estimated([{}] * 80)
    one_group = sets.loc[("group", "a"), "width"]
    assert sets.loc[("all", "all"), "width"] == pytest.approx(one_group, rel=0.1)
    assert alone.loc[("all", "all"), "width"] < 0.8 * one_group
    assert json.loads(sets.loc[("all", "all"), "details"])["n_clusters"] == 40


def test_what_sets_share_cancels_in_a_gap_to_the_mean() -> None:
    """The groups score alike in every set, so that nothing is left to vary; prompts without sets say less."""
    gap = ("gap to the domain's mean", "a − mean of d")
    alone = estimated([{}] * 80).loc[gap]
    sets = estimated([{"set": f"s{n % 40}"} for n in range(80)]).loc[gap]
    assert sets["value"] == pytest.approx(0.0) and alone["width"] > 0.05 and np.isnan(sets["low"])
