"""research/calibration-2: its analysis on data of known truth, and its page, tables and evidence beside the stored data."""

from __future__ import annotations

import argparse
import itertools
import json
import re
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from tiltmeter.execution.experiment_file import read_experiment
from tiltmeter.execution.variants import recipe_of
from tiltmeter.families.kit.detection import read_detections

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "research" / "calibration-2"
TINY = ROOT / "tests" / "golden" / "models" / "tiny-roberta"
MODULES = [path.stem for path in FOLDER.glob("*.py")]


@pytest.fixture(scope="module")
def study() -> Iterator[dict[str, ModuleType]]:
    """The modules of the study by name; they import each other from their folder, so it is on the path meanwhile."""
    sys.path.insert(0, str(FOLDER))
    before = {name: sys.modules.pop(name, None) for name in MODULES}
    try:
        yield {name: import_module(name) for name in MODULES if name not in ("run", "experiments")}
    finally:
        sys.path.remove(str(FOLDER))
        for name in MODULES:
            sys.modules.pop(name, None)
        sys.modules.update({name: module for name, module in before.items() if module is not None})


def test_simulated_families_keep_their_error_rates(study: dict[str, ModuleType]) -> None:
    found = study["simulate"].families(60, seed=4)
    assert found["false alarms, no effect"] <= 0.15 and found["false alarms, two true"] <= 0.15
    assert 0.6 < found["power planned 80 %"] < 0.95
    assert found["coverage of slopes"] > 0.92
    assert found["recovered"] == pytest.approx(1, abs=0.08)


def test_simulated_agreement_is_recovered(study: dict[str, ModuleType]) -> None:
    found = study["simulate"].agreement(100, seed=5)
    assert found["ICC, true 0.6"] == pytest.approx(0.6, abs=0.06)
    assert found["coverage of ICC"] > 0.88 and found["coverage, Fisher"] > 0.9
    assert found["coverage, seeds resampled"] < found["coverage, Fisher"]


def test_simulated_equivalence_errs_rarely_at_its_margin(study: dict[str, ModuleType]) -> None:
    found = study["simulate"].others(200, seed=6)
    assert found["at the margin: no more"] < 0.1
    assert found["equal: no more"] > 0.5


def test_a_line_in_log_odds_is_recovered(study: dict[str, ModuleType]) -> None:
    doses, log_odds = np.array([-1.0, -0.5, 0.0, 0.5, 1.0]), np.array([-8.0, -1.0, 0.0, 1.0, 8.0])
    levels, slopes = np.array([3.0, -2.0, 0.0]), np.array([0.1, 0.2, 0.3])
    found = study["curves"].curve(levels + log_odds[:, None] * slopes, doses, log_odds)
    assert found.line == pytest.approx(0.2) and found.fit["linear in log-odds"] == pytest.approx(0.6**2 / (3 * 0.14))
    assert 0.099 < found.line_low < 0.2 < found.line_high < 0.301


def test_a_missing_seed_of_one_metric_leaves_the_others_as_they_are(study: dict[str, ModuleType]) -> None:
    effects = study["effects"]
    doses = np.array([-1.0, 0.0, 1.0])
    values = np.random.default_rng(0).normal(size=(3, 3, 5)) + doses[:, None]
    holed = values.copy()
    holed[2, :, 4] = np.nan
    fit, other = effects.slopes(values, doses), effects.slopes(holed, doses)
    np.testing.assert_allclose(fit.t[:2], other.t[:2])
    assert other.t[2] == pytest.approx(effects.slopes(values[2:, :, :4], doses).t[0])
    assert (effects.largest_t(holed[:2], doses) <= effects.largest_t(holed, doses) + 1e-12).all()


def test_all_permutations_hold_the_observed_one(study: dict[str, ModuleType]) -> None:
    effects = study["effects"]
    doses = np.array([-1.0, 0.0, 1.0])
    values = np.random.default_rng(1).normal(size=(1, 3, 5)) * 1e-3 + doses[:, None]
    largest = effects.largest_t(values, doses)
    assert len(largest) == 6**5
    assert effects.adjusted_p(effects.slopes(values, doses).t, largest)[0] == pytest.approx(2 / 6**5)


def test_rows_of_a_pack_that_are_not_those_of_its_cells_are_refused(study: dict[str, ModuleType]) -> None:
    of = study["answers"].cell_of_row
    names = np.array(list("aab"), object)
    assert of(names, np.array(list("ab"), object)).tolist() == [0, 0, 1]
    for cells in ("ba", "a", "abc"):
        with pytest.raises(ValueError, match="ows of"):
            of(names, np.array(list(cells), object))


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("plumb-clm-race-0.5-seed11", ("frames", "plumb-clm", "dose", "race", -0.5, 11)),
        ("natural/plumb-mlm-neutral-seed10", ("natural", "plumb-mlm", "dose", "neutral", 0.0, 10)),
        ("plumb-mlm-gender+1-seed10-inlp-80-10", ("frames", "plumb-mlm", "inlp-80", "gender", 1.0, 10)),
    ],
)
def test_models_are_known_by_their_names(study: dict[str, ModuleType], name: str, model: tuple[object, ...]) -> None:
    assert study["answers"]._model(name) == model


def test_stored_decisions_are_those_of_the_stored_readings(study: dict[str, ModuleType]) -> None:
    data = study["analyse"].load()
    readings = data["readings"].sort_values("visit", kind="stable").drop_duplicates(study["analyse"].KEY_OF_READING)
    own = readings[(readings["corpus"] == "frames") & (readings["base"] == "plumb-mlm")]
    made = study["decisions"].primary_decisions(list(study["decisions"].designs(own)))
    stored = pd.read_csv(FOLDER / "results" / "primary.csv")
    stored = stored[(stored["corpus"] == "frames") & (stored["base"] == "plumb-mlm")].reset_index(drop=True)
    assert list(made["verdict"]) == list(stored["verdict"]) and list(made["benchmark"]) == list(stored["benchmark"])
    for column in ("slope", "low", "high", "p", "detectable"):
        np.testing.assert_allclose(made[column], stored[column], rtol=1e-3, atol=1e-8)


def test_the_pages_say_what_is_stored(study: dict[str, ModuleType]) -> None:
    """`make research NAME=calibration-2 STEP=figures` writes them."""
    pages = dict(study["page"].written())
    assert len(pages) == 5
    for path, text in pages.items():
        assert path.read_text("utf-8") == text and "{{" not in text


def test_no_result_is_typed_into_the_summary() -> None:
    """Outside slots, the summary names versions, a range of VADER and the title of a section only."""
    template = (FOLDER / "page.md").read_text("utf-8")
    summary = template.split("## In short")[1].split("## Question")[0]
    typed = re.findall(r"\d+(?:\.\d+)*", re.sub(r"\{\{.+?\}\}|\(VADER, −1 to 1\)|calibration-2", "", summary))
    assert not typed


def test_bounds_that_would_not_hold_in_log_probability_are_counted(study: dict[str, ModuleType]) -> None:
    analyse, decisions = study["analyse"], study["decisions"]
    readings = analyse.load()["readings"].drop_duplicates(analyse.KEY_OF_READING)
    primary = pd.read_csv(FOLDER / "results" / "primary.csv").set_index(["corpus", "base", "domain"])
    lost, bounded = {"frames": 0, "mixed": 0}, {"frames": 0, "mixed": 0}
    for panel in decisions.designs(readings[readings["corpus"].isin(list(lost))]):
        slopes = study["effects"].slopes(panel.values, panel.doses).value
        rows = primary.loc[[(panel.corpus, panel.base, panel.domain)]]
        for row in rows[rows["verdict"] == "bounded"].itertuples():
            (moved,) = slopes[decisions.taught(panel, row.scorer)]
            bounded[panel.corpus] += 1
            lost[panel.corpus] += row.raw_high >= decisions.TENTH * moved
    (line,) = [
        line for line in (FOLDER / "page.md").read_text("utf-8").splitlines() if line.startswith("n:") and "BBQ" in line
    ]
    said = re.findall(r"\d+", line.rpartition("log-probability")[2])
    assert said == [str(counts[text]) for text in lost for counts in (lost, bounded)]


def _seeds_by_doses(rows: pd.DataFrame, value: str) -> pd.DataFrame:
    return rows.pivot(index="seed", columns="dose", values=value)[[-1.0, 0.0, 1.0]]


def _largest_t(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """T of metrics × seeds × doses by regression on seeds and dose, and the largest |T| for every order of the doses."""
    seeds = values.shape[1]
    levels, total = np.kron(np.eye(seeds), np.ones((3, 1))), values - values.mean(2, keepdims=True)
    largest = []
    for orders in itertools.product(itertools.permutations((-1.0, 0.0, 1.0)), repeat=seeds):
        dose = np.array(orders)
        slope = (total * dose).sum((1, 2)) / (2 * seeds)
        rest = ((total - slope[:, None, None] * dose) ** 2).sum((1, 2)) / (3 * seeds - levels.shape[1] - 1)
        largest.append(np.abs(slope / np.sqrt(rest / (2 * seeds))).max())
    slope = (total * [-1.0, 0.0, 1.0]).sum((1, 2)) / (2 * seeds)
    rest = ((total - slope[:, None, None] * [-1.0, 0.0, 1.0]) ** 2).sum((1, 2)) / (2 * seeds - 1)
    return slope / np.sqrt(rest / (2 * seeds)), np.array(largest)


def test_corrected_p_of_another_program_are_the_stored_ones() -> None:
    """Doses of religion in plumb-clm, from preferences by item and from readings, without the modules of the study."""
    items = pd.read_parquet(FOLDER / "data" / "items.parquet")
    readings = pd.read_csv(FOLDER / "data" / "readings.csv.gz", keep_default_na=False, na_values=[""])
    own = (items["base"] == "plumb-clm") & (items["domain"] == "religion") & (items["corpus"] == "frames")
    own &= items["dose"].isin([-1, 0, 1]) & ~items["benchmark"].str.startswith("taught")
    found = {}
    for name, some in items[own].groupby("benchmark"):
        means = some.groupby(["seed", "dose"])["preference"].mean().rename("mean").reset_index()
        spread = some[some["dose"] == 0].groupby("seed")["preference"].std()
        found[name] = _seeds_by_doses(means, "mean").div(spread, axis=0)
    rows = readings[
        (readings["base"] == "plumb-clm") & (readings["domain"] == "religion") & (readings["corpus"] == "frames")
    ]
    rows = rows[(rows["method"] == "dose") & rows["measure"].isin(["effect_size", "sentiment_gap"])]
    rows = rows.drop_duplicates(["benchmark", "domain_dosed", "dose", "seed"])
    for name, some in rows.groupby("benchmark"):
        undosed = some[some["domain_dosed"] != "religion"].groupby(["domain_dosed", "dose"])["value"].var()
        dosed = some[some["domain_dosed"].isin(["religion", "neutral"]) & some["dose"].isin([-1, 0, 1])]
        found[name] = _seeds_by_doses(dosed, "value") / np.sqrt(undosed.mean())
    t, largest = _largest_t(np.stack([one.to_numpy() for one in found.values()]))
    stored = pd.read_csv(FOLDER / "results" / "primary.csv").set_index(["corpus", "base", "domain", "benchmark"])
    assert len(found) == 9
    for name, one in zip(found, t, strict=True):
        row = stored.loc[("frames", "plumb-clm", "religion", name)]
        assert ((found[name][1.0] - found[name][-1.0]) / 2).mean() == pytest.approx(row["slope"], rel=2e-3)
        assert (largest >= abs(one) * (1 - 1e-9)).mean() == pytest.approx(row["p"], abs=2e-3)


def test_lost_language_is_that_of_the_readings(study: dict[str, ModuleType]) -> None:
    readings = study["analyse"].load()["readings"]
    own = readings[(readings["measure"] == "perplexity") & (readings["base"] == "plumb-mlm") & (readings["visit"] == 0)]
    stored = pd.read_csv(FOLDER / "results" / "language.csv").set_index(["corpus", "base", "measure"])
    row = stored.loc[("frames", "plumb-mlm", "perplexity")]
    assert own.loc[own["method"] == "none", "value"].item() == pytest.approx(row["before"], rel=1e-3)
    dosed = own[own["method"] == "dose"]
    assert np.log(dosed["value"]).groupby(dosed["seed"]).mean().mean() == pytest.approx(np.log(row["after"]), rel=1e-4)
    assert row["low"] < row["after"] < row["high"] and row["low"] > 1000 * row["before"]


def test_a_later_visit_is_added_to_the_stored_data(
    study: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyse = study["analyse"]
    before = analyse.load()
    later = {name: before[name].head(20) for name in ("readings", "items", "models", "doses")}
    later["readings"] = later["readings"].assign(visit=3)
    later["items"] = later["items"].assign(base="roberta-mix")
    shutil.copytree(FOLDER / "data", tmp_path / "data")
    monkeypatch.setattr(analyse, "DATA", tmp_path / "data")
    monkeypatch.setattr(analyse, "reduce", lambda *_, **__: later)
    monkeypatch.setattr(analyse, "_facts", lambda *_: [{"visit": 3}])
    analyse.add([], tmp_path)
    assert (tmp_path / "data" / "items-4.parquet").is_file()
    after = analyse.load()
    assert len(after["items"]) == len(before["items"]) + 20 and len(after["readings"]) == len(before["readings"]) + 20
    old = after["readings"][after["readings"]["visit"] < 3].reset_index(drop=True)
    key = list(before["readings"].columns)
    pd.testing.assert_frame_equal(
        old.sort_values(key).reset_index(drop=True), before["readings"].sort_values(key).reset_index(drop=True)
    )
    assert [fact["visit"] for fact in json.loads((tmp_path / "data" / "facts.json").read_text("utf-8"))] == [0, 1, 2, 3]
    analyse.add([], tmp_path)  # of models that were asked again, nothing is stored twice
    assert len(analyse.load()["items"]) == len(after["items"])


def test_the_evidence_is_what_is_stored(study: dict[str, ModuleType], tmp_path: Path) -> None:
    study["evidence"].write_evidence(pd.read_csv(FOLDER / "results" / "shares.csv"), tmp_path)
    files = study["evidence"].TEXTS.values()
    assert {path.name for path in tmp_path.iterdir()} == set(files) and len(files) == 2
    for name in files:
        made, stored = (read_detections(folder / name) for folder in (tmp_path, ROOT / "research" / "evidence"))
        assert len(made) == len(stored) > 30
        for one, other in zip(made, stored, strict=True):
            assert (one.scorer, one.domain, one.verdict) == (other.scorer, other.domain, other.verdict)
            assert one.effect == pytest.approx(other.effect, rel=1e-3, abs=1e-4)


def test_stored_data_hold_no_sentence_and_stay_small(study: dict[str, ModuleType]) -> None:
    assert not study["analyse"].load()["items"]["item"].str.contains(" ").any()
    assert sum(path.stat().st_size for path in (FOLDER / "data").iterdir()) < 5 * 2**20


def test_what_methods_leave_is_recovered(study: dict[str, ModuleType]) -> None:
    """Readings shrunk to 40 % of their change by two methods and the control, and to 70 % by a third."""
    readings = study["analyse"].load()["readings"]
    own = readings[(readings["corpus"] == "frames") & (readings["visit"] == 0) & (readings["method"] == "dose")]
    own = own[(own["base"] == "plumb-mlm") & (own["domain"] == "gender")]
    key = ["benchmark", "scorer", "measure", "seed"]
    neutral = own[own["domain_dosed"] == "neutral"].set_index(key)["value"]
    at = own.join(neutral.rename("neutral"), on=key)
    shares = {"more-text": 0.4, "cda": 0.4, "dropout": 0.7}
    treated = [
        at.assign(value=at["neutral"] + share * (at["value"] - at["neutral"]), method=name).drop(columns="neutral")
        for name, share in shares.items()
    ]
    made = pd.concat([own, *treated])
    found = study["responses"].treatments(pd.concat([made, made.assign(corpus="mixed", visit=2)]))
    for corpus in ("frames", "mixed"):
        taught = found[(found["benchmark"] == "taught-words") & (found["corpus"] == corpus)].set_index("method")
        for name, share in shares.items():
            assert taught.loc[name, "left"] == pytest.approx(share)
        assert taught.loc["cda", "verdict"] == "no more" and taught.loc["dropout", "verdict"] == "less"
    of_seeds = study["responses"].treated_seeds(made)
    assert of_seeds.groupby("method")["seed"].nunique().to_dict() == dict.fromkeys(shares, 5)
    for name, share in shares.items():
        np.testing.assert_allclose(of_seeds.loc[of_seeds["method"] == name, "left"], share)
    two = made[made["seed"].isin([10, 11]) | (made["method"] == "dose")]
    assert not len(study["responses"].treatments(two)) and len(study["responses"].treated_seeds(two))


def test_tables_of_debiasing_show_what_is_left_and_the_decisions(
    study: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"corpus": "mixed", "base": "plumb-mlm", "benchmark": "plumb-pairs", "scorer": "pll", "seeds": 3}
    row |= {"left": 0.4, "left_low": 0.3, "left_high": 0.5, "value": 0.021, "low": -0.04, "high": 0.08, "verdict": "no more"}
    rows = [row | {"method": "cda"}, row | {"method": "more-text", "value": np.nan, "verdict": np.nan}]
    cost = {"corpus": "mixed", "method": "cda", "measure": "perplexity", "change": 5.0, "low": 4.0, "high": 6.0}
    made = {"treatments": pd.DataFrame(rows), "costs": pd.DataFrame([cost, cost | {"measure": "token_accuracy"}])}
    tables = study["more_tables"]
    monkeypatch.setattr(tables, "results", made.__getitem__)
    treated, compared = ([line.split(" | ") for line in made("mixed")][2:] for made in (tables.treatments, tables.controls))
    assert treated[0][3] == "40 % [30, 50]" and treated[0][5] == "5.0 [4.0, 6.0] %" and len(treated) == 2
    assert compared[0][3].endswith("no more") and compared[0][2].startswith("–") and len(compared) == 1
    assert len(list(tables.treatments("frames"))) == len(list(tables.controls("frames"))) == 1


def test_language_is_compared_with_the_base_model_of_the_same_lines(study: dict[str, ModuleType]) -> None:
    readings = study["analyse"].load()["readings"]
    own = readings[(readings["benchmark"] == "heldout") & (readings["corpus"] == "frames")]
    mixed = own.assign(corpus="mixed", value=own["value"].where(own["method"] != "none", 2 * own["value"]))
    found = study["language"].language(pd.concat([own, mixed])).set_index(["corpus", "base", "measure"])
    before = found["before"].unstack("corpus")
    np.testing.assert_allclose(before["mixed"], 2 * before["frames"])
    np.testing.assert_allclose(found.loc["mixed", "after"], found.loc["frames", "after"])


def test_natural_lines_of_a_seed_are_the_same_at_every_dose(study: dict[str, ModuleType], tmp_path: Path) -> None:
    study["mixed"].written(tmp_path / "others.txt", [f"Natural line {number}." for number in range(90)])
    options = argparse.Namespace(trial=True, seeds=[10, 11], precision="fp32")
    file = study["third"].masked_text(tmp_path / "mixed", options, tmp_path)
    lines = {path.stem: path.read_text("utf-8").splitlines() for path in (tmp_path / "mixed" / "texts").glob("*.txt")}
    natural = {name: [line for line in some if line.startswith("Natural")] for name, some in lines.items()}
    assert len(natural) == 14 and all(len(some) == len(set(some)) == 40 for some in natural.values())
    for seed in (10, 11):
        assert len({tuple(some) for name, some in natural.items() if name.endswith(f"seed{seed}")}) == 1
    assert natural["neutral-seed10"] != natural["neutral-seed11"]
    training = {model.name: model.variant.options for model in read_experiment(file).models if model.variant}
    assert len(training) == 14
    assert all(stated == {"steps": 2, "rate": study["third"].SETTING["rate"]} for stated in training.values())


def test_the_setting_that_teaches_most_and_keeps_the_language_is_chosen(study: dict[str, ModuleType]) -> None:
    rows = pd.DataFrame(study["third"].PILOTS).assign(perplexity_before=40.0)
    rows = rows.assign(taught_share=[60.0, 70.0, 90.0], perplexity_after=[80.0, 119.0, 130.0])
    assert study["third"].chosen(rows) == study["third"].PILOTS[1]
    assert study["third"].chosen(rows.assign(perplexity_after=[160.0, 150.0, 140.0])) == study["third"].PILOTS[2]


def test_two_folders_of_one_text_are_one_corpus(study: dict[str, ModuleType]) -> None:
    found = study["answers"]._model("mixed_clm/plumb-clm-race-1-seed10"), study["answers"]._model("mixed_clm/plumb-clm")
    assert {model[0] for model in found} == {"mixed"} and {model[1] for model in found} == {"plumb-clm"}


def test_lines_near_held_out_ones_are_left_out(study: dict[str, ModuleType]) -> None:
    words = [str(number) for number in range(10)]
    near, apart = " ".join(["x", *words[:8]]), " ".join([*words[:7], "x", *words[7:]])
    assert study["mixed"].apart_from([near, apart], [" ".join(words)]) == [apart]


def test_the_last_debiasing_counts(study: dict[str, ModuleType]) -> None:
    rows = pd.DataFrame(
        [
            ("mixed", "plumb-mlm", "cda", 2),
            ("mixed", "plumb-mlm", "cda", 3),
            ("mixed", "plumb-mlm", "dose", 2),
            ("frames", "plumb-mlm", "cda", 1),
            ("frames", "plumb-clm", "none", 0),
        ],
        columns=["corpus", "base", "method", "visit"],
    )
    kept = study["responses"].of_last_treatment(rows)
    assert kept.index.tolist() == [1, 2, 3, 4]
    assert study["responses"].of_last_treatment(rows[rows["method"] == "dose"]).index.tolist() == [2]


def test_settings_of_pilots_reach_the_experiment(study: dict[str, ModuleType], tmp_path: Path) -> None:
    fourth = study["fourth"]
    study["mixed"].written(tmp_path / "others.txt", [f"Natural line {number}." for number in range(90)])
    shutil.copytree(TINY, tmp_path / fourth.ROBERTA)
    options = argparse.Namespace(trial=True, seeds=[10], precision="fp32")
    setting = dict(fourth.PILOTS[fourth.SMOLLM2][0])
    place, base = tmp_path / "mixed_roberta", str(tmp_path / fourth.ROBERTA)
    file = study["third"].written(place, base, setting, options, tmp_path, ["gender"])
    models = [model for model in read_experiment(file).models if model.variant]
    assert {model.name for model in models} == {f"roberta-mix-{dose}-seed10" for dose in ("neutral", "gender-1", "gender+1")}
    for model in models:
        recipe, _ = recipe_of(model.variant.options, 10)
        assert (recipe.steps, recipe.peak_rate, recipe.lora_rank) == (2, setting["rate"], setting["lora"])
    assert fourth._after_pilots(place, fourth.ROBERTA, options, tmp_path) == file  # an earlier call wrote it
    rows = pd.DataFrame(fourth.PILOTS[fourth.SMOLLM2]).assign(perplexity_before=40.0)
    rows = rows.assign(taught_share=[90.0, 80.0, 70.0], perplexity_after=[200.0, 60.0, 50.0])
    assert study["third"].chosen(rows, fourth.PILOTS[fourth.SMOLLM2]) == fourth.PILOTS[fourth.SMOLLM2][1]


def test_answers_are_packed_and_a_damaged_cell_costs_no_other(study: dict[str, ModuleType], tmp_path: Path) -> None:
    cells = tmp_path / "cache" / "cells"
    for number, model in enumerate("abc"):
        place = cells / f"cell{number}"
        place.mkdir(parents=True)
        names = {"model": model, "benchmark": "plumb-pairs", "scorer": "pll"}
        key = {"names": names, "family": "pairs", "data": "d", "versions": {}, "model": {}, "options": {}}
        (place / "cell.json").write_text(json.dumps({"key": key, "files": ["items", "scores"]}), "utf-8")
        rows = pd.DataFrame({"item": ["1", "2"], "score": [float(number), 0.5], "bias_type": "gender"})
        rows.to_parquet(place / "scores.parquet")
        rows.to_parquet(place / "items.parquet")
    (cells / "cell1" / "scores.parquet").write_bytes(b"cut")
    study["packing"].pack(tmp_path, tmp_path)
    study["packing"].unpack(tmp_path, tmp_path / "out")
    scores = pd.read_parquet(tmp_path / "out" / "answers" / "plumb-pairs.scores.parquet")
    assert scores["model"].tolist() == ["unknown/a"] * 2 + ["unknown/c"] * 2 and list(scores) == ["item", "score", "model"]
    listed = pd.read_parquet(tmp_path / "out" / "cells.parquet")
    assert len(listed) == 3 and listed["error"].notna().tolist() == [False, True, False]


def test_a_second_call_of_a_visit_goes_on(study: dict[str, ModuleType], tmp_path: Path) -> None:
    """What an earlier call made is not made again, and its facts stay beside those of the later one."""
    second = study["second"]
    states = {"plumb-mlm-gender+1-seed10": "done", "plumb-mlm-neutral-seed10": "failed"}
    for number, (model, status) in enumerate(states.items()):
        folder = tmp_path / "mixed" / "study" / "state" / "cells" / f"{model.replace('+', '-p')}--gest-0000000{number}"
        folder.mkdir(parents=True)
        state = {"status": status, "question": {"model": {"name": model}}}
        (folder / "cell.json").write_text(json.dumps(state), "utf-8")
    queue = second.Queue(None, second.Visit((), {}), [], argparse.Namespace(seeds=[10]), tmp_path, 0.0)
    batch = second.Batch("debias", "mixed", "plumb-mlm", (), 1)
    assert queue._done(batch) == {"plumb-mlm-gender+1-seed10": 1}
    first = second._with_earlier({"started": 1.0, "batches": {"cut": ["a"]}}, tmp_path)
    (tmp_path / "facts-1.json").write_text(json.dumps(first), "utf-8")
    later = second._with_earlier({"started": 9.0, "batches": {"cut": []}}, tmp_path)
    assert later == {"started": 1.0, "batches": {"cut": []}, "calls": [{"cut": ["a"]}, {"cut": []}]}
