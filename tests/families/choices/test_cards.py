"""Cards of the explorer and the figure of choices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bbq_material import answered
from typer.testing import CliRunner

import tiltmeter
from conftest import golden_model
from support.raising import raises
from tiltmeter.cli.app import app
from tiltmeter.families import find_family
from tiltmeter.families.kit.pack import Pack, unpack

BENCHMARK = tiltmeter.load_benchmark("plumb-choices").limit(48)


def test_cards_have_the_probabilities_of_every_order() -> None:
    protocols = tiltmeter.ChoicesOptions(protocols=("letters", "answers_mean"))
    answers = tiltmeter.ask(golden_model("tiny-gpt2"), BENCHMARK, options=protocols, cache=False)
    pack = Pack()
    (packed,) = find_family("choices").cards(answers, answers.models, pack)
    card, array = unpack(pack.text(packed))
    assert [asked["scorer"] for asked in card["asked"]] == ["letters", "answers_mean"]
    letters, means = card["asked"]
    assert letters["orders"] == 6 and means["orders"] == 1 and len(card["items"]["question"]) == 48
    for asked in card["asked"]:
        low, mean, high = (array(asked[name]).reshape(48, -1) for name in ("min", "mean", "max"))
        assert np.nansum(mean, axis=1) == pytest.approx(1.0, abs=1e-5)
        assert ((low <= mean + 1e-6) & (mean <= high + 1e-6) | np.isnan(mean)).all()
    found = answers.table.set_index(["scorer", "item"])["chosen"]
    assert array(letters["chosen"]).tolist() == [found["letters", item] for item in card["items"]["id"]]
    best = np.nanargmax(array(means["mean"]).reshape(48, -1), axis=1)
    assert best.tolist() == array(means["chosen"]).tolist()


def test_cards_of_imported_predictions_have_no_probabilities() -> None:
    answers = answered(BENCHMARK, lambda item: None if item.id.endswith("-1") else item.extra["right"])
    pack = Pack()
    (packed,) = find_family("choices").cards(answers, answers.models, pack)
    card, array = unpack(pack.text(packed))
    (asked,) = card["asked"]
    assert np.isnan(array(asked["mean"])).all()
    missing = [n for n, item in enumerate(card["items"]["id"]) if item.endswith("-1")]
    assert sorted(map(int, asked["reasons"])) == missing and (array(asked["chosen"])[missing] == -1).all()


def test_a_run_of_written_answers_alone_has_a_page(tmp_path: Path) -> None:
    words = ["run", "-m", "plumb-clm", "-b", "plumb-choices", "--limit", "4", "--protocol", "generated", "--no-cache"]
    result = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "run"), "-q"], catch_exceptions=False)
    assert result.exit_code == 0 and (tmp_path / "run" / "report.html").is_file()


def test_figure() -> None:
    table = tiltmeter.estimate(answered(BENCHMARK, lambda item: item.extra["stereotyped"]), by="bias_type", resamples=100)
    figure = find_family("choices").FIGURES["choices"](table)
    assert len([axis for axis in figure.axes if axis.get_visible()]) == 4
    with raises("empty-selection", family="choices"):
        find_family("choices").FIGURES["choices"](table[table["family"] == "pairs"])
