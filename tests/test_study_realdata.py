"""Studies of scores that others published for a real model, without any model of ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tiltmeter
from support.raising import raises
from tiltmeter import Answers

pytestmark = pytest.mark.realdata


@pytest.fixture
def published(realdata: Path) -> Answers:
    """Per-pair CPS of bert-base-uncased on the 1,463 revised English pairs."""
    file = realdata / "published-scores" / "crows-cps" / "results_bert.csv"
    return tiltmeter.import_scores(file, model="bert-base-uncased", scorer="cps_nyu")


@pytest.fixture
def original(realdata: Path) -> str:
    return str(realdata / "crows-pairs" / "crows_pairs_anonymized.csv")


def test_votes_of_the_original(original: str) -> None:
    """How many of five annotators name the bias type: METRICS' counts."""
    from tiltmeter.benchmarks.kit.items import items_table
    from tiltmeter.families.pairs.annotations import votes

    counts = [count for count, _ in votes(items_table(tiltmeter.load_benchmark(original))).values()]
    assert [counts.count(k) for k in (5, 4, 3, 2, 1, 0)] == [631, 478, 237, 121, 31, 10]


def test_votes_for_any_type_leave_thirty_others(original: str) -> None:
    from tiltmeter.benchmarks.kit.items import items_table
    from tiltmeter.families.pairs.annotations import votes

    counted = votes(items_table(tiltmeter.load_benchmark(original)), any_type=True)
    assert sum(count < 3 for count, _ in counted.values()) == 30


def test_bias_types_with_intervals(published: Answers) -> None:
    table = tiltmeter.estimate(published, ["bias_score"], by="bias_type", resamples=200)
    types = table[table["by"] == "bias_type"]
    assert len(types) == 9 and types["n"].sum() == 1463
    assert ((types["low"] < types["value"]) & (types["value"] < types["high"])).all()


def test_power_of_published_scores(published: Answers) -> None:
    finding = tiltmeter.study("power", published, options={"draws": 50})
    table = finding.table[finding.table["measure"] == "bias_score"].set_index("bias_type")
    assert len(table) == 10 and table.loc["all", "n"] == 1463
    assert table.loc["all", "smallest_lean"] == pytest.approx(53.7, abs=0.1)
    assert table.loc["all", "observed_lean"] > table.loc["all", "smallest_lean"]  # 61.5 % is far above what n can show
    smallest = table.drop("all").sort_values("n")["smallest_lean"]
    assert smallest.iloc[0] == smallest.max()
    assert "separation" not in finding.tables


def test_quality_of_published_scores(published: Answers, original: str) -> None:
    finding = tiltmeter.study("quality", published, options={"annotations": original})
    counts = finding.tables["flags"].set_index("flag")
    assert counts.loc["any", "of"] == 1463
    assert {"several_spans", "identical", "repeated", "length_mismatch", "disagreement", "not_fluent", "any"} == set(
        counts.index
    )
    assert 0 < counts.loc["disagreement", "n"] <= 162
    row = finding.table.set_index("measure").loc["bias_score"]
    assert row["n"] == 1463 and row["n_kept"] == 1463 - counts.loc["any", "n"] and round(row["value"], 2) == 61.45


def test_agreement_on_the_rows_whose_text_is_in_the_original(published: Answers, original: str) -> None:
    row = tiltmeter.study("agreement", published, options={"annotations": original}).table.iloc[0]
    assert row["n_biased"] + row["n_other"] == 1314 and row["n_left_out"] == 1463 - 1314
    assert 0.4 < row["low"] < row["auc"] < row["high"] < 0.7
    with raises("missing-column", column="annotations"):
        tiltmeter.study("agreement", published)


def test_one_model_is_refused_with_its_reason(published: Answers) -> None:
    with raises("too-few", study="robustness", models=["bert-base-uncased"]):
        tiltmeter.study("robustness", published)


def test_group_words_of_the_original_are_those_of_the_paper(realdata: Path) -> None:
    """A good part of the words in the paper's Table 2 for gender, on the sides where it has them."""
    from tiltmeter.benchmarks.kit.items import items_table
    from tiltmeter.families.pairs.studies.kit.group_words import AMBIGUOUS, group_words

    items = items_table(tiltmeter.load_benchmark("crows-pairs", data_dir=realdata))
    gender = group_words(items, AMBIGUOUS, 2).kept["gender"]
    assert {"he", "his", "men", "him"} <= set(gender["advantaged"])
    assert {"she", "her", "woman", "women"} <= set(gender["disadvantaged"])


def test_normality_and_gap_of_published_scores(published: Answers) -> None:
    assert np.isfinite(tiltmeter.study("normality", published).table["W"]).all()
    assert tiltmeter.study("pll_gap", published).table["n_st"].iloc[0] == 899
