"""Intervals, counts and p-values: nothing silent, nothing that depends on what was computed before."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, kstest

import tiltmeter
from conftest import golden_scores, scores_of
from support.raising import raises
from tiltmeter import Answers, TiltmeterError, catalog
from tiltmeter.families.kit import questions
from tiltmeter.families.pairs.estimate import NOTHING_COMPLETE, questions_of
from tiltmeter.families.pairs.paired import pair_up
from tiltmeter.reporting.comparison_text import summaries, too_close
from tiltmeter.reporting.terminal import comparisons
from tiltmeter.runs.compare import _with_rest_corrected
from tiltmeter.stats.estimates import Difference, corrected, details_of, differences_table
from tiltmeter.stats.intervals import bootstrap_p, bounded_interval, percentile_interval
from tiltmeter.stats.measured import interval_of
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import binomial_p, holm, permutation_p


def make_scores(
    stereo: Any, anti: Any, *, model: str = "m", types: Any = None, directions: Any = None, scorer: str = "s"
) -> Answers:
    """A scores table of one made-up scorer."""
    n = len(stereo)
    types = ["a"] * n if types is None else list(types)
    directions = [None] * n if directions is None else list(directions)
    rows = [
        {
            "model": model, "benchmark": "b", "item": f"i{k}", "role": role, "scorer": scorer, "score": value,
            "n_tokens": 1, "reason": None if np.isfinite(value) else "made up", "bias_type": types[k],
            "direction": directions[k], "target": None,
        }
        for k in range(n)
        for role, value in (("stereo", float(stereo[k])), ("anti", float(anti[k])))
    ]  # fmt: skip
    items = pd.DataFrame({"benchmark": "b", "item": [f"i{k}" for k in range(n)], "extra": "{}"})
    return scores_of(pd.DataFrame(rows), items)


def test_missing_pairs_leave_the_denominator_and_are_counted() -> None:
    stereo = [3.0, 1.0, np.nan, 2.0, np.nan]
    anti = [1.0, 2.0, 1.0, 2.0, np.nan]
    row = tiltmeter.estimate(make_scores(stereo, anti), ["bias_score"], by="all").iloc[0]
    assert (row["n"], row["n_missing"], row["n_ties"]) == (3, 2, 1)
    assert row["value"] == pytest.approx(100 / 3)
    assert json.loads(row["missing"]) == {"made up": 2}
    assert row["p"] == 1.0  # one win, one loss: the tie is left out of the test


def test_nothing_complete_is_missing_not_neutral() -> None:
    row = tiltmeter.estimate(make_scores([np.nan] * 4, [1.0] * 4), ["bias_score"], by="all").iloc[0]
    assert row["n"] == 0
    assert np.isnan(row["value"])
    assert row["note"] == NOTHING_COMPLETE


def test_rows_for_groups_and_for_directions() -> None:
    rng = np.random.default_rng(0)
    n = 60
    directions = ["disadvantaged"] * 40 + ["advantaged"] * 20
    scores = make_scores(rng.normal(0.5, 1, n), rng.normal(0, 1, n), types=list("abc") * 20, directions=directions)
    table = tiltmeter.estimate(scores, ["bias_score"], resamples=200).set_index(["by", "group"])
    assert [group for by, group in table.index if by == "bias_type"] == ["a", "b", "c"]
    gap = table.loc[("direction", "|difference|")]
    both = table.loc["direction"]["value"]
    assert gap["value"] == pytest.approx(abs(both["advantaged"] - both["disadvantaged"]))
    assert gap["neutral"] == 0
    assert table.loc["bias_type"]["p_holm"].tolist() == holm(table.loc["bias_type"]["p"].tolist())
    assert table.loc["bias_type"]["n"].sum() == n


def test_binomial_p_is_exact() -> None:
    rng = np.random.default_rng(3)
    stereo, anti = rng.normal(0.4, 1, 50), rng.normal(0, 1, 50)
    row = tiltmeter.estimate(make_scores(stereo, anti), ["bias_score"], by="all").iloc[0]
    assert row["p"] == pytest.approx(binomtest(int((stereo > anti).sum()), 50).pvalue)


def test_all_pairs_agreeing_is_not_certainty() -> None:
    row = tiltmeter.estimate(make_scores(np.arange(5.0) + 1, np.arange(5.0)), ["bias_score"], by="all").iloc[0]
    assert row["value"] == 100
    assert (row["low"], row["high"]) == pytest.approx((100 * 0.025 ** (1 / 5), 100))
    assert "exact" in row["note"]


def test_the_same_seed_gives_the_same_table_and_company_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    one = make_scores(rng.normal(size=40), rng.normal(size=40), types=list("ab") * 20)
    other = make_scores(rng.normal(size=40), rng.normal(size=40), types=list("ab") * 20, model="other")
    alone = tiltmeter.estimate(one, seed=7, resamples=200)
    assert alone.equals(tiltmeter.estimate(one, seed=7, resamples=200))
    together = tiltmeter.estimate(Answers.concat([other, one]), seed=7, resamples=200)
    together = together[together["model"] == "m"].reset_index(drop=True)
    assert alone.equals(together)
    assert not alone["low"].equals(tiltmeter.estimate(one, seed=8, resamples=200)["low"])


def test_threads_do_not_change_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    models = [make_scores(rng.normal(0.3, 1, 60), rng.normal(0, 1, 60), model=name) for name in "abcde"]
    frame = pd.concat([one.table for one in models], ignore_index=True)
    together = scores_of(frame, models[0].items)
    several = tiltmeter.estimate(together, resamples=100)
    monkeypatch.setattr(questions, "MOST_THREADS", 1)
    pd.testing.assert_frame_equal(tiltmeter.estimate(together, resamples=100), several, check_exact=True)
    assert several["model"].drop_duplicates().tolist() == list("abcde")


def test_an_interruption_ends_all_threads_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them is interrupted; the others do not compute what nobody will see."""
    scores = make_scores(np.arange(60.0), np.ones(60))
    begun: list[str] = []

    def slow(asked: Any, _: Any) -> Any:
        begun.append(f"{asked[0].measure.name} {asked[0].by} {asked[0].group}")
        first = len(begun) == 1
        time.sleep(0.02)
        if first:
            raise KeyboardInterrupt
        return {}

    monkeypatch.setattr(questions, "_finished", slow)
    monkeypatch.setattr(questions, "MOST_THREADS", 2)
    with pytest.raises(KeyboardInterrupt):
        tiltmeter.estimate(scores, resamples=100)
    (paired,) = pair_up(scores)
    assert 1 <= len(begun) < 5 < len(list(questions_of(paired, catalog.entries("measures"), ("bias_type",))))


def test_rounding_is_no_interval() -> None:
    """One sentence drawn once, twice or three times: (0.1 + 0.1 + 0.1) / 3 is not quite 0.1."""
    draws = np.array([np.mean([0.1] * times) for times in (1, 2, 3)] * 50)
    assert 0 < np.ptp(draws) < 1e-15
    low, high, note = interval_of(catalog.find("measures", "mps_gap"), 3, 0.1, draws, Settings())
    assert np.isnan(low) and np.isnan(high) and "all resamples" in note


def test_every_interval_holds_its_value() -> None:
    table = tiltmeter.estimate(golden_scores("tiny-bert-cased"), resamples=300)
    known = table[table["value"].notna() & table["low"].notna()]
    assert len(known) > 300
    assert (known["low"] <= known["value"] + 1e-9).all()
    assert (known["high"] >= known["value"] - 1e-9).all()
    for measure, low, high in (("kls", 50, 100), ("jss", 0, 100), ("bias_score", 0, 100)):
        rows = known[known["measure"] == measure]
        assert rows["low"].min() >= low and rows["high"].max() <= high


def test_percentile_interval_of_a_proportion_covers_it() -> None:
    """Nominally 95 %. 400 simulated benchmarks of 100 pairs: below 90 % something is wrong."""
    rng = np.random.default_rng(5)
    wins = rng.binomial(100, 0.6, 400)
    draws = rng.binomial(100, wins / 100, (500, 400)).astype(float)
    covered = [low <= 60 <= high for low, high in (percentile_interval(draws[:, k], 0.95) for k in range(400))]
    assert 0.90 <= np.mean(covered) <= 0.99


def test_bounded_intervals_cover_neutral_when_there_is_no_lean() -> None:
    """KLS of two equal distributions is 50. Plain percentiles never cover that; these do most of the time."""
    from tiltmeter.measures.kls import kls

    rng = np.random.default_rng(2)
    plain, ours = [], []
    for _ in range(100):
        shared = rng.normal(size=60)
        stereo, anti = (shared + 0.3 * rng.normal(size=60) for _ in range(2))
        index = rng.integers(0, 60, (300, 60))
        draws = kls(stereo[index], anti[index])
        plain.append(percentile_interval(draws, 0.95)[0] <= 50)
        ours.append(bounded_interval(float(kls(stereo, anti)), draws, 0.95, (50, 100))[0] <= 50)
    assert np.mean(plain) < 0.05
    assert np.mean(ours) > 0.80


@pytest.mark.parametrize("measure", ["kls", "jss", "ss"])
def test_permutation_p_is_uniform_without_a_lean_and_small_with_one(measure: str) -> None:
    """Uniform over all of 0 to 1, not only in the mean: p = 0.5 for everything would be the mean too."""
    rng = np.random.default_rng(4)

    def found(lean: float, spread: float) -> Any:
        models = []
        for k in range(60):
            shared, noise = rng.normal(size=51), rng.normal(size=(2, 51))
            models.append(make_scores(shared + spread * noise[0] + lean, shared + noise[1], model=f"m{k}"))
            # Targets of different sizes: where all pairs weigh the same, p takes few values only, and 1 in every fifth try.
            models[-1].table["target"] = [f"t{int(item[1:]).bit_length()}" for item in models[-1].table["item"]]
        return tiltmeter.estimate(Answers.concat(models), [measure], by="all", resamples=200)["p"].to_numpy()

    without, with_one = found(0.0, 1.0), found(3.0, 3.0)
    assert kstest(without, "uniform").pvalue > 0.05
    assert np.mean(without < 0.05) <= 0.15 and np.ptp(without) > 0.8
    assert np.mean(with_one < 0.05) > 0.8


def test_a_real_lean_is_found() -> None:
    rng = np.random.default_rng(6)
    shared = rng.normal(size=80)
    scores = make_scores(shared + 3 + 0.2 * rng.normal(size=80), shared + 0.2 * rng.normal(size=80))
    table = tiltmeter.estimate(scores, ["bias_score", "jss"], by="all", resamples=300).set_index("measure")
    assert (table["p"] < 0.01).all()


def test_weighted_measures_leave_out_undefined_types_and_say_so() -> None:
    rng = np.random.default_rng(8)
    stereo = np.concatenate([rng.normal(size=20), [1.0]])
    anti = np.concatenate([rng.normal(size=20), [0.0]])
    scores = make_scores(stereo, anti, types=["big"] * 20 + ["lonely"])
    table = tiltmeter.estimate(scores, ["kls"], by="bias_type", resamples=200).set_index("group")
    assert np.isnan(table.loc["lonely", "value"])
    assert "fewer than 2 pairs" in table.loc["lonely", "note"]
    assert table.loc["all", "value"] == pytest.approx(table.loc["big", "value"])
    assert "lonely" in table.loc["all", "note"]


def test_compare_pairs_items_and_finds_a_difference() -> None:
    rng = np.random.default_rng(9)
    shared, noise = rng.normal(size=120), rng.normal(size=120)
    base = make_scores(shared + noise, shared, model="base")
    same = make_scores(shared + noise, shared, model="same")
    leaning = make_scores(shared + noise + 2, shared, model="leaning")
    table = tiltmeter.compare(Answers.concat([base, same, leaning]), measures=["bias_score", "kls"], by="all", resamples=300)
    rows = table.set_index(["model", "measure"])
    assert rows.loc[("same", "bias_score"), "difference"] == 0
    assert rows.loc[("same", "bias_score"), "p"] == 1
    assert details_of(rows.loc[("same", "kls")]) == {"constant": 1}  # the same items were drawn for both
    assert rows.loc[("same", "kls"), ["low", "high"]].isna().all()  # no width would claim certainty
    found = rows.loc[("leaning", "bias_score")]
    assert found["low"] > 0 and found["p"] < 0.001
    assert found["difference"] == pytest.approx(found["value"] - found["baseline_value"])


def test_compare_corrects_what_no_family_corrected() -> None:
    rows = [
        Difference("b", "f", "s", "m", "topic", str(k), model, "base", p=p, p_holm=known)
        for model in ("near", "far")
        for k, (p, known) in enumerate([(0.01, np.nan), (0.04, np.nan), (0.02, 0.02), (np.nan, np.nan)])
    ]
    found = _with_rest_corrected(rows)
    assert [row.p_holm for row in found if row.group in "01"] == 2 * holm([0.01, 0.04])
    assert [row.p_holm for row in found if row.group == "2"] == [0.02, 0.02]
    assert all(np.isnan(row.p_holm) for row in found if row.group == "3")


def test_models_of_one_name_in_memory_are_two() -> None:
    """The second one gets a piece of its digest: no row of the first is lost or counted twice."""
    rng = np.random.default_rng(3)
    parts = []
    for n, digest in enumerate(("a" * 64, "b" * 64)):
        part = make_scores(rng.normal(size=40) + 3 * n, rng.normal(size=40), model="plumb-mlm")
        facts = {"shown_as": "plumb-mlm", "name": "plumb-mlm", "weights_sha256": digest}
        parts.append(replace(part, manifests=({"model": facts, "benchmark": {"name": "b"}},)))
    table = tiltmeter.estimate(parts, measures="bias_score")
    overall = table[table["by"] == "all"].set_index("model")["value"]
    assert overall.index.tolist() == ["plumb-mlm", "plumb-mlm-bbbbbbbb"] and overall.iloc[1] > overall.iloc[0] + 20


def test_compare_corrects_overall_tests_over_the_models_and_the_benchmark() -> None:
    rng = np.random.default_rng(9)
    stereo, anti = rng.normal(size=120), rng.normal(size=120)
    parts = [
        make_scores(stereo + moved * (model != "base"), anti, model=model, scorer=scorer)
        for model in ("base", "near")
        for scorer, moved in (("one", 0.17), ("two", 0.0), ("three", 0.1))
    ]
    table = tiltmeter.compare(Answers.concat(parts), measures=["bias_score", "kls"], by="bias_type", resamples=300)
    overall = table[table["by"] == "all"]
    primary = overall["details"].str.contains("primary")
    assert len(overall) == 6 and list(overall["n_tests"]) == [1 if first else 5 for first in primary] and primary.sum() == 1
    secondary = overall[~primary]
    assert secondary["p_holm"].tolist() == holm(secondary["p"].tolist()) and (overall["p_holm"] > overall["p"]).any()
    assert overall[primary]["p_holm"].tolist() == overall[primary]["p"].tolist()
    groups = table[table["by"] == "bias_type"]
    assert (groups["n_tests"] == groups.groupby(["scorer", "measure"])["p"].transform("count")).all()


def test_the_headline_of_a_comparison_counts_corrected_tests() -> None:
    place = {"benchmark": "b", "family": "pairs", "measure": "bias_score", "model": "two", "baseline": "one"}
    rows = [
        Difference(**place, scorer=scorer, by="all", group="all", p=p, difference=1.0, low=0.1, high=1.9, n=40)
        for scorer, p in (("s", 0.03), ("t", 0.04), ("u", 0.001))
    ]
    table = differences_table(corrected(rows))
    (said,) = summaries(table)
    assert "1 of 3" in said
    assert len(list(too_close(table))) == 2
    (grid,) = comparisons(table)
    columns = {column.head: list(column.cells) for column in grid.values}
    assert columns["p"] == ["0.030", "0.040", "0.001"] and columns["p (Holm)"] == ["0.060", "0.060", "0.003"]
    assert columns["tests"] == ["3"] * 3


def test_compare_uses_common_items_only() -> None:
    one = make_scores([1.0, 2.0, 3.0, np.nan], [0.0] * 4, model="one")
    two = make_scores([1.0, -2.0, 3.0], [0.0] * 3, model="two")
    row = tiltmeter.compare(Answers.concat([one, two]), measures=["bias_score"], by="all", resamples=100).iloc[0]
    assert (row["n"], row["n_missing"]) == (3, 1)
    assert row["difference"] == pytest.approx(-100 / 3)


def test_mistakes() -> None:
    scores = make_scores([1.0, 2.0], [0.0, 1.0])
    with raises("missing-column", column="colour"):
        tiltmeter.estimate(scores, by="colour")
    with raises("inapplicable-option", measure="lms"):
        tiltmeter.estimate(scores, ["lms"])
    with pytest.raises(TiltmeterError, match="resamples"):
        tiltmeter.estimate(scores, resamples=5)
    with raises("too-few"):
        tiltmeter.compare(scores)
    with raises("unknown-name", kind="model", name="x"):
        tiltmeter.compare(scores, baseline="x")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@settings(max_examples=100, deadline=None)
def test_holm_never_lowers_p_and_keeps_order(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(p <= c <= 1 for p, c in zip(p_values, corrected, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert np.all(np.diff(np.array(corrected)[order]) >= -1e-12)


def test_small_tests_by_hand() -> None:
    assert binomial_p(0, 0) == 1
    assert np.isnan(holm([float("nan"), 0.01])[0])
    assert holm([float("nan"), 0.01])[1] == 0.01
    assert permutation_p(52.0, np.array([50.0, 51.0, 53.0, 47.0]), 50.0) == pytest.approx(3 / 5)
    assert bootstrap_p(np.array([1.0] * 99)) == pytest.approx(2 / 100)
