"""Measures of choices on responders whose truth is known, and how often a fair coin is called biased."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from bbq_material import answered, coin, opposite

import tiltmeter
from tiltmeter import catalog
from tiltmeter.families.choices.outcomes import EXCHANGED, counts_of, design_of
from tiltmeter.reporting.terminal import long_tables
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.totals import Totals

BENCHMARK = tiltmeter.load_benchmark("plumb-choices")


def overall(answers: tiltmeter.Answers, *measures: str) -> dict[str, float]:
    table = tiltmeter.estimate(answers, list(measures), by="all", resamples=200)
    return dict(zip(table["measure"], table["value"], strict=True))


def test_always_stereotyped_is_exactly_100() -> None:
    found = overall(
        answered(BENCHMARK, lambda item: item.extra["stereotyped"]), "s_amb", "s_dis", "diff_bias_amb", "bias_cost"
    )
    assert found == {"s_amb": 100.0, "s_dis": 100.0, "diff_bias_amb": 100.0, "bias_cost": -100.0}


def test_always_opposite_is_exactly_minus_100() -> None:
    found = overall(answered(BENCHMARK, opposite), "s_amb", "s_dis", "diff_bias_amb", "bias_cost")
    assert found == {"s_amb": -100.0, "s_dis": -100.0, "diff_bias_amb": -100.0, "bias_cost": 100.0}


def test_always_right_has_no_bias() -> None:
    found = overall(
        answered(BENCHMARK, lambda item: item.extra["right"]), "s_dis", "accuracy_amb", "accuracy_dis", "bias_cost"
    )
    assert found == {"s_dis": 0.0, "accuracy_amb": 100.0, "accuracy_dis": 100.0, "bias_cost": 0.0}


def test_always_unknown_has_no_bias_score() -> None:
    table = tiltmeter.estimate(answered(BENCHMARK, lambda item: item.extra["unknown"]), ["s_amb", "s_dis"], by="all")
    assert table["value"].isna().all() and table["note"].str.len().min() > 0


def test_unparsed_answers_are_missing_not_unknown() -> None:
    answers = answered(BENCHMARK, lambda item: None if item.id.endswith("-1") else item.extra["right"])
    table = tiltmeter.estimate(answers, ["unparsed_share", "unknown_share", "accuracy_amb"], by="all")
    rows = table.set_index("measure")
    assert rows.loc["unparsed_share", "value"] == pytest.approx(100 * 27 / 216)
    assert rows.loc["accuracy_amb", "value"] == 100.0 and rows.loc["accuracy_amb", "n_missing"] == 27
    assert rows.loc["unknown_share", "value"] == pytest.approx(100 * (108 - 27) / (216 - 27))


def test_a_bias_in_one_category_is_found_there() -> None:
    rng = np.random.default_rng(1)
    fair = coin(rng)
    answers = answered(BENCHMARK, lambda item: item.extra["stereotyped"] if item.bias_type == "race" else fair(item))
    table = tiltmeter.estimate(answers, "s_amb", by="bias_type", resamples=200).set_index("group")
    assert table.loc["race", "value"] == 100.0
    assert abs(table.drop(index=["race", "all"])["value"]).max() < 80


def test_few_templates_give_no_interval() -> None:
    table = tiltmeter.estimate(answered(BENCHMARK, opposite), "s_amb", by="bias_type", resamples=200)
    groups = table[table["by"] == "bias_type"]
    assert groups["low"].isna().all() and groups["p"].isna().all()
    assert max(json.loads(text)["n_templates"] for text in groups["details"]) == 4


def test_a_fair_coin_is_called_biased_in_at_most_7_percent() -> None:
    frame = answered(BENCHMARK, opposite).table.copy()
    design, alarms, settings = design_of(frame), {"s_amb": 0, "s_dis": 0}, Settings(resamples=300)
    people = np.array([[n for n in range(3) if n != unknown] for unknown in frame["unknown"]])
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        frame["chosen"] = people[np.arange(len(frame)), rng.integers(0, 2, len(frame))].astype(float)
        counts = counts_of(frame)
        for name in alarms:
            measure = catalog.find("measures", name)
            alarms[name] += Totals.of(measure, counts, design).p(EXCHANGED, rng, settings) < 0.05
    assert max(alarms.values()) <= 70


@pytest.mark.realdata
def test_a_fair_coin_in_every_category_of_bbq(
    realdata: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    """1,000 coins for each category and measure."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    coins, alarms = import_module("choices_coin"), {}
    items = list(tiltmeter.load_benchmark("bbq", data_dir=realdata).items)
    for category in dict.fromkeys(item.bias_type for item in items):
        ours = [item for item in items if item.bias_type == category]
        for measure, (condition, _) in coins.CONDITIONS.items():
            n, rng = coins.questions(ours, condition), np.random.default_rng(len(alarms))
            design, thrown = coins.design_of(n), (coins.answers(measure, n, "question", rng) for _ in range(1000))
            alarms[category, measure] = sum(coins.is_called_biased(measure, one, design, rng) for one in thrown)
    record_property("alarms", str(alarms))
    assert len(alarms) == 22 and max(alarms.values()) <= 70


def test_comparison_is_paired() -> None:
    rng = np.random.default_rng(3)
    fair = {item.id: coin(rng)(item) for item in BENCHMARK.items}
    first = answered(BENCHMARK, lambda item: fair[item.id], "first")
    changed = answered(
        BENCHMARK,
        lambda item: item.extra["stereotyped"] if item.bias_type in ("race", "gender") else fair[item.id],
        "second",
    )
    same = answered(BENCHMARK, lambda item: fair[item.id], "same")
    both = tiltmeter.Answers.concat([first, changed, same])
    table = tiltmeter.compare(both, "first", "s_amb", "all", resamples=500).set_index("model")
    assert table.loc["same", "difference"] == 0
    assert table.loc["second", "difference"] > 0 and table.loc["second", "p"] < 0.05


def test_no_clusters_takes_every_question_by_itself() -> None:
    templates = sorted({item.extra["template"] for item in BENCHMARK.asked_items})
    leaning = set(templates[::2])
    answers = answered(
        BENCHMARK, lambda item: item.extra["stereotyped"] if item.extra["template"] in leaning else opposite(item)
    )
    together, apart = (
        tiltmeter.estimate(answers, "s_amb", by="all", resamples=200, clusters=clusters).iloc[0]
        for clusters in (True, False)
    )
    assert together["value"] == apart["value"]
    assert together["high"] - together["low"] > 1.5 * (apart["high"] - apart["low"])
    assert [json.loads(row["details"])["n_templates"] for row in (together, apart)] == [27, 216]


def test_n_counts_the_questions_that_a_value_is_made_of() -> None:
    answers = answered(BENCHMARK, lambda item: None if item.id.endswith("-1") else item.extra["right"])
    measures = ["s_amb", "accuracy_amb", "accuracy_dis", "unknown_share", "unparsed_share"]
    rows = tiltmeter.estimate(answers, measures, by="all", resamples=100).set_index("measure")
    counts = {name: (rows.loc[name, "n"], rows.loc[name, "n_missing"]) for name in measures}
    assert counts["s_amb"] == counts["accuracy_amb"] == (81, 27) and counts["accuracy_dis"] == (108, 0)
    assert counts["unknown_share"] == (189, 27) and counts["unparsed_share"] == (216, 0)


def test_answers_that_follow_the_order_of_options_show_no_bias() -> None:
    answers = answered(BENCHMARK, lambda item: item.extra["stereotyped"])
    verdicts = []
    for changed in (0.0, 1.0):
        reordered = answers.mapped(lambda frame, n=changed: frame.assign(changed=n) if "changed" in frame else frame)
        table = tiltmeter.estimate(reordered, by="all", resamples=100)
        (story,) = tiltmeter.families.find_family("choices").narratives(table)
        verdicts.append((story.verdict, story.tone))
    assert verdicts[0][1] == "towards"
    assert "order" in verdicts[1][0] and verdicts[1][1] == "plain"


def test_the_number_of_templates_is_beside_n() -> None:
    answers = answered(BENCHMARK, lambda item: item.extra["stereotyped"])
    (grid,) = long_tables(tiltmeter.estimate(answers, "s_amb", by="all", resamples=100))
    cells = {column.head: column.cells for column in grid.values}
    assert (cells["n"], cells["templates"]) == (["108"], ["27"])
