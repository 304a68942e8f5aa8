"""The study formats: what protocol, prompt and order of the options decide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bbq_material import answered, coin

import tiltmeter
from conftest import golden_model
from tiltmeter.families.choices.formats import variance_components

BENCHMARK = tiltmeter.load_benchmark("plumb-choices")


def named(answers: tiltmeter.Answers, scorer: str) -> tiltmeter.Answers:
    return replace(answers, tables={name: table.assign(scorer=scorer) for name, table in answers.tables.items()})


def made_up() -> tiltmeter.Answers:
    """Two models in three formats: the first follows stereotypes by letters alone; of the control nothing is said."""
    rng = np.random.default_rng(5)
    fair = coin(rng)
    parts = [
        named(answered(BENCHMARK, lambda item: item.extra["stereotyped"], "first"), "letters"),
        named(answered(BENCHMARK, lambda item: item.extra["stereotyped"], "first"), "letters+question_only"),
        named(answered(BENCHMARK, fair, "first"), "answers"),
        named(answered(BENCHMARK, lambda item: None, "first"), "generated+chat"),
        named(answered(BENCHMARK, fair, "second"), "letters"),
        named(answered(BENCHMARK, fair, "second"), "answers"),
    ]
    return tiltmeter.Answers.concat(parts)


def test_range_variance_and_ranking() -> None:
    finding = tiltmeter.study("formats", made_up(), options={"resamples": 100})
    table = finding.tables["formats"].set_index(["model", "format"])
    assert set(table.loc["first"].index) == {"letters", "answers", "generated+chat"}
    assert table.loc[("first", "letters"), "s_amb"] == 100.0 and table.loc[("first", "generated+chat"), "note"] != ""
    ranges = finding.tables["range"].set_index("model")
    assert ranges.loc["first", "highest"] == 100.0 and ranges.loc["first", "highest_format"] == "letters"
    assert ranges.loc["first", "formats"] == 2 and np.isnan(table.loc[("first", "letters"), "low"])
    parts = finding.tables["variance"].set_index(["model", "part"])["percent"]
    assert parts["first", "formats"] > parts["second", "formats"] and parts["first"].sum() == pytest.approx(100)
    (pair,) = finding.tables["ranking"].to_dict("records")
    assert pair["formats"] == 2 and pair["first_higher"] + pair["second_higher"] <= 2
    assert finding.sentences and finding.draw().axes


def test_every_order_is_a_format() -> None:
    answers = tiltmeter.ask(golden_model("tiny-gpt2"), BENCHMARK.limit(24), cache=False)
    finding = tiltmeter.study("formats", answers, options={"resamples": 100})
    orders = set(finding.tables["formats"]["order"])
    assert orders == {"mean of all", "012", "021", "102", "120", "201", "210"}
    options = answers.tables["options"]
    item = answers.table["item"].iloc[0]
    first = options[(options["item"] == item) & (options["order"] == "021")].set_index("answer")["logprob"]
    from tiltmeter.families.choices.formats import formats_of

    chosen = {one.order: rows.set_index("item")["chosen"] for one, rows in formats_of(answers, "tiny-gpt2", "plumb-choices")}
    assert chosen["021"][item] == first.idxmax()


def test_components_of_known_variances() -> None:
    rng = np.random.default_rng(0)
    sizes = {"templates": 2.0, "questions": 1.0, "formats": 1.5, "questions x formats": 0.5}
    found = []
    for _ in range(40):
        draw = {name: np.sqrt(value) for name, value in sizes.items()}
        templates = np.repeat(np.arange(60), 4)
        leans = (
            draw["templates"] * rng.normal(size=60)[templates][:, None]
            + draw["questions"] * rng.normal(size=240)[:, None]
            + draw["formats"] * rng.normal(size=12)
            + draw["questions x formats"] * rng.normal(size=(240, 12))
        )
        found.append(list(variance_components(leans, templates.astype(object)).values()))
    assert np.mean(found, axis=0) == pytest.approx(list(sizes.values()), rel=0.15)


def test_runs_without_stereotypes_are_refused() -> None:
    decisions = answered(tiltmeter.load_benchmark("plumb-decisions"), lambda item: 0)
    with pytest.raises(tiltmeter.TiltmeterError) as caught:
        tiltmeter.study("formats", decisions)
    assert caught.value.code == "empty-selection"
