"""The study of debiasing beyond words in a mask: every measure before and after, its price, and several seeds."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pandas as pd
import pytest

import tiltmeter
from conftest import GOLDEN
from test_debiasing import changed
from test_studies import check_figure
from tiltmeter import Finding, TiltmeterError, figures
from tiltmeter.debias.kit.pretraining import text_of
from tiltmeter.runs import Options
from tiltmeter.runs.run import run
from tiltmeter.stats.settings import Settings
from tiltmeter.studies.kit.before_after import judged, said
from tiltmeter.studies.kit.dumbbells import draw_dumbbells, prices

OPTIONS = Options(settings=Settings(200), limit=40, cache=False)


@cache
def priced() -> Path:
    """plumb-mlm and two flattened copies: their ranks are as before, their probabilities are not."""
    folder = Path(mkdtemp(prefix="tiltmeter-before-after-"))
    text = folder / "heldout.txt"
    text.write_text("\n".join(text_of(None).lines[:20]), encoding="utf-8")
    models = [changed(folder / f"flat-seed{n}", scale, 0.0) for n, scale in enumerate((0.35, 0.5))]
    run(["plumb-mlm", *models], ["plumb-slots", "plumb-pairs", text], ["aul"], output=folder / "run", options=OPTIONS)
    return folder / "run"


@cache
def finding() -> Finding:
    return tiltmeter.study("debiasing", priced(), resamples=500)


def test_every_measure_is_there_with_its_paired_difference() -> None:
    table = finding().tables["before_and_after"]
    compared = tiltmeter.compare(tiltmeter.load_run(priced()).answers, "plumb-mlm", resamples=500)
    assert len(table) == len(compared) and set(table["model"]) == {"flat-seed0", "flat-seed1"}
    for ours, theirs in (("after", "value"), ("before", "baseline_value"), ("low", "low"), ("p", "p")):
        np.testing.assert_array_equal(table[ours], compared[theirs])
    known = table[table["difference"].notna()]
    np.testing.assert_allclose(known["difference"], known["after"] - known["before"])
    assert {"bias_score", "kls", "jss", "mps_gap", "mnt_gap", "perplexity", "token_accuracy"} <= set(
        table[table["kind"] != "other"]["measure"]
    )


def test_a_flattened_model_is_less_sure_of_biased_words_and_of_all_others() -> None:
    table = finding().tables["before_and_after"].query("model == 'flat-seed0'").set_index("measure")
    assert (
        table.loc["perplexity", "verdict"] == "further"
        and table.loc["perplexity", "after"] > 2 * table.loc["perplexity", "before"]
    )
    assert table.loc["token_accuracy", "difference"] == 0 and table.loc["token_accuracy", "verdict"] == "not distinguishable"
    assert table.loc["mps_gap", "verdict"] == "closer" and table.loc["mnt_gap", "verdict"] == "not distinguishable"
    sentence = finding().sentences[-1]
    assert sentence.startswith("flat (2 seeds) compared with plumb-mlm: closer to neutral, and distinguishable from noise: ")
    assert "mps_gap on plumb-slots" in sentence and "2 of 2 seeds" in sentence
    assert "The improvements were bought with language ability: perplexity on heldout" in sentence


def test_seeds_have_a_mean_and_a_spread() -> None:
    seeds = finding().tables["seeds"].set_index("measure")
    values = finding().tables["before_and_after"].query("measure == 'perplexity'")["difference"]
    assert seeds.loc["perplexity", "difference"] == pytest.approx(values.mean())
    assert seeds.loc["perplexity", "sd"] == pytest.approx(values.std(ddof=1)) and seeds.loc["perplexity", "seeds"] == 2
    percent = finding().table.query("model != 'plumb-mlm' and group == 'male'")["mps_change"]
    row = finding().tables["seeds"].query("measure == 'mps in percent' and group == 'male'").iloc[0]
    assert (row["difference"], row["least"], row["most"]) == pytest.approx((percent.mean(), percent.min(), percent.max()))


def test_figures_show_every_measure_and_the_price() -> None:
    for name in ("before_and_after", "gain_and_cost"):
        check_figure(finding().draw(name))
    figure = finding().draw("before_and_after")
    titles = [axis.get_title(loc="left").replace("\n", " ") for axis in figure.axes]
    assert any(title.startswith("cost: perplexity") for title in titles) and any("mps_gap" in title for title in titles)
    table = finding().tables["before_and_after"]
    paid = prices(table[(table["kind"] != "other") & table["difference"].notna()]).set_index("model")
    assert paid.loc["flat-seed0", "difference"] > paid.loc["flat-seed1", "difference"] > 0


def test_many_models_fit_into_a_figure() -> None:
    table = finding().tables["before_and_after"]
    many = pd.concat([table.assign(model=f"a-method-of-some-length-seed{n}") for n in range(20)])
    check_figure(draw_dumbbells(many[(many["kind"] != "other") & many["difference"].notna()]))


def test_long_titles_leave_room_for_few_models() -> None:
    """Titles of four lines over two rows: nothing is drawn over anything, and the panels do not vanish."""
    table = finding().tables["before_and_after"]
    known = table[(table["kind"] != "other") & table["difference"].notna()]
    row = known[known["kind"] == "bias"].iloc[0].to_dict()
    measures = [f"measure_of_{what}" for what in ("gaps", "ranks", "scores", "words", "groups", "tests", "pairs", "texts")]
    rows = [row | {"measure": name, "benchmark": "some-pairs", "model": model} for name in measures for model in ("a", "b")]
    figure = draw_dumbbells(pd.DataFrame(rows))
    check_figure(figure)
    boxes = [axis.get_tightbbox() for axis in figures.leftmost([axis for axis in figure.axes if axis.get_visible()])]
    assert all(upper.y0 > lower.y1 - 2 for upper, lower in pairwise(boxes)) and len(boxes) == 4


def test_what_is_near_enough_to_the_mirror_image_is_not_called_closer() -> None:
    row = {"before": 60.0, "target": 50.0, "p_holm": 0.01, "low": -20.5, "high": -15.0, "kind": "bias"}
    assert judged(row) == "other side" and judged(row | {"low": -19.0}) == "closer"
    assert judged(row | {"p_holm": 0.2}) == "not distinguishable" and judged(row | {"kind": "other"}) == ""
    assert judged(row | {"low": float("nan")}) == "not distinguishable"
    assert judged(row | {"target": 1.0, "before": 9.0, "low": 1.0, "high": 2.0, "kind": "cost"}) == "further"


def test_without_a_price_the_sentence_says_so_and_causal_models_need_no_slots(tmp_path: Path) -> None:
    base = GOLDEN / "models" / "tiny-gpt2"
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(base)
    model.transformer.ln_f.weight.data.mul_(0.5)
    model.save_pretrained(tmp_path / "half")
    AutoTokenizer.from_pretrained(base).save_pretrained(tmp_path / "half")
    run([base, tmp_path / "half"], ["starter-pairs"], output=tmp_path / "run", options=OPTIONS)
    found = tiltmeter.study("debiasing", tmp_path / "run", resamples=100)
    assert list(found.tables) == ["before_and_after"] and len(found.sentences) == 1
    assert "What it cost is not known: these runs have neither held-out text" in found.sentences[0]
    with pytest.raises(TiltmeterError, match="There is no model 'nobody'"):
        tiltmeter.study("debiasing", tmp_path / "run", base="nobody")
    assert said(None, "base") == []
