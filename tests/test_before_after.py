"""The study of debiasing beyond words in a mask: every measure before and after, its price, and several seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tiltmeter
from conftest import GOLDEN
from study_material import made_up, noise
from support.raising import raises
from support.wording import stated
from test_debiasing import changed
from test_labels import answered
from test_studies import check_figure
from tiltmeter import Answers, Finding, TiltmeterError, catalog, figures
from tiltmeter.debias.kit.pretraining import text_of
from tiltmeter.measures import Measure
from tiltmeter.runs.run import run
from tiltmeter.studies.kit.before_after import judged, said
from tiltmeter.studies.kit.dumbbells import draw_dumbbells, prices

OPTIONS = {"resamples": 200, "limit": 40, "cache": False}


@cache
def priced() -> Path:
    """plumb-mlm and two flattened copies: their ranks are as before, their probabilities are not."""
    folder = Path(mkdtemp(prefix="tiltmeter-before-after-"))
    text = folder / "heldout.txt"
    text.write_text("\n".join(text_of(None).lines[:20]), encoding="utf-8")
    models = [changed(folder / f"flat-seed{n}", scale, 0.0) for n, scale in enumerate((0.35, 0.5))]
    run(["plumb-mlm", *models], ["plumb-slots", "plumb-pairs", text], ["aul"], output=folder / "run", **OPTIONS)
    return folder / "run"


@cache
def finding() -> Finding:
    return tiltmeter.study("debiasing", priced(), options={"resamples": 500})


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
    facts = stated(finding().sentences, "before-and-after")
    assert (facts["name"], facts["base"], facts["seeds"]) == ("flat", "plumb-mlm", 2)
    assert any("mps_gap on plumb-slots" in one and "2 of 2 seeds" in one for one in facts["closer"])
    assert facts["is_cost_known"] and any("perplexity on heldout" in one for one in facts["costs"]["further"])


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
    run([base, tmp_path / "half"], ["starter-pairs"], output=tmp_path / "run", **OPTIONS)
    found = tiltmeter.study("debiasing", tmp_path / "run", options={"resamples": 100})
    assert list(found.tables) == ["before_and_after"] and len(found.sentences) == 1
    assert stated(found.sentences, "before-and-after")["is_cost_known"] is False
    assert "-b heldout.txt" in found.sentences[0]
    with raises("unknown-name", kind="model", name="nobody"):
        tiltmeter.study("debiasing", tmp_path / "run", options={"base": "nobody"})
    assert said(None, "base") == []


# --- what the measures say of themselves ---


def classified(base: str = "base", other: str = "debiased") -> Answers:
    """Two classifiers of eight seeds: the first calls many harmless texts about women toxic, the second does not."""
    rng, n = np.random.default_rng(1), 400
    truth, women = np.arange(n) % 2 == 0, np.arange(n) % 4 >= 2
    named = [["woman"] if about else ["man"] for about in women]
    fair = np.where(rng.random((8, n)) < 0.9, truth, ~truth).astype(float)
    biased = np.where(women & ~truth & (rng.random(n) < 0.6), 1.0, fair)
    return Answers.concat([answered(truth, biased, named, base), answered(truth, fair, named, other)])


def test_measures_of_bias_and_of_quality_of_labels_are_judged() -> None:
    found = tiltmeter.study("debiasing", classified(), options={"resamples": 1000})
    rows = found.table[found.table["verdict"] == "closer"].groupby("kind")["measure"].agg(set)
    assert rows["bias"] == {"equalized_odds", "fpr_gap", "fpr_range", "fpr_ratio", "fpr_variance"}
    assert rows["quality"] == {"f1_binary", "f1_macro", "label_accuracy", "label_auc"}
    assert found.table.query("kind == 'bias'")["scorer"].unique().tolist() == ["at 0.5"]
    assert set(found.table.query("measure in ('fpr', 'fnr')")["kind"]) == {"other"}
    facts = stated(found.sentences, "before-and-after")
    assert any(one.startswith("fpr_gap on mine, woman (") for one in facts["closer"])
    assert facts["quality"]["closer"][0].startswith("f1_binary on mine (") and not facts["quality"]["further"]
    check_figure(found.draw("before_and_after"))
    back = tiltmeter.study("debiasing", classified(), options={"base": "debiased", "resamples": 1000})
    facts = stated(back.sentences, "before-and-after")
    assert facts["further"][0].startswith("equalized_odds") and facts["quality"]["further"]


def test_too_few_resamples_for_the_correction_are_said() -> None:
    found = tiltmeter.study("debiasing", classified(), options={"resamples": 100})
    assert not (found.table.query("kind == 'bias'")["verdict"] == "closer").any()
    assert "--resamples 1000 or more" in found.sentences[-1]


class Added:
    """An entry point that adds a measure of pairs."""

    name, value, dist = "clear_share", "clear_share", None
    module = "clear_share"

    def __init__(self, **fields: Any) -> None:
        self.home = ModuleType(self.module)
        self.home.clear_share = self.share  # type: ignore[attr-defined]
        self.fields = {"reads": ("stereo", "anti"), "neutral": 0.0, "direction": "two-sided", "cites": "nobody"} | fields

    @staticmethod
    def share(stereo: np.ndarray, anti: np.ndarray) -> np.ndarray:
        return np.asarray(np.mean(stereo > anti + 1, axis=-1))

    def load(self) -> ModuleType:
        self.home.MEASURE = Measure(**self.fields)  # type: ignore[attr-defined]
        return self.home


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    def add(**fields: Any) -> None:
        point = Added(**fields)
        monkeypatch.setattr(catalog, "entry_points", lambda group: [point] if group == "tiltmeter.measures" else [])
        catalog.forget()

    yield add
    monkeypatch.undo()
    catalog.forget()


@pytest.mark.parametrize(("role", "kind"), [("bias", "bias"), ("part", "other")])
def test_a_measure_of_another_package_is_judged_by_its_role(added: Callable[..., None], role: str, kind: str) -> None:
    added(role=role)
    scores = made_up({("m", "s"): (noise(30), noise(30, 1)), ("k", "s"): (noise(30, 2), noise(30, 3))})
    rows = tiltmeter.study("debiasing", scores, options={"resamples": 100}).table.query("measure == 'clear_share'")
    assert set(rows["kind"]) == {kind}


def test_a_misspelt_role_is_refused(added: Callable[..., None]) -> None:
    added(role="bais")
    with pytest.raises(TiltmeterError, match="role must be"):
        catalog.find("measures", "clear_share")
    assert "clear_share" not in [entry.name for entry in catalog.entries("measures")]
    assert any("bais" in complaint for complaint in catalog.complaints)
