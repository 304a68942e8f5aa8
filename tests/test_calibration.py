"""Calibration: dosed models by an experiment file, and what the study says of metrics whose behaviour is known."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tiltmeter
from support.raising import raises
from support.wording import codes_of, stated
from test_cli import refused
from tests.conftest import GOLDEN
from tiltmeter.cli.app import app
from tiltmeter.execution import read_experiment, status
from tiltmeter.execution.calibration_file import Calibration, write_calibration
from tiltmeter.execution.variants import folder_of_variant
from tiltmeter.execution.worker import work
from tiltmeter.runs.experiment import run_experiment
from tiltmeter.stats.doses import (
    Found,
    differences,
    levels,
    monotonicity,
    noise,
    ranking,
    ratio,
    sensitivity,
    slopes,
    smallest_dose,
)
from tiltmeter.stats.estimates import ESTIMATE_COLUMNS
from tiltmeter.storage.object_store import Depot
from tiltmeter.storage.spreadsheet import csv_text
from tiltmeter.studies.kit.calibration_tables import ONE_SEED
from tiltmeter.studies.kit.treatment_tables import _left, treated_sentences

TINY = GOLDEN / "models" / "tiny-bert-cased"
ROOT = Path(__file__).parents[1]
DOSES = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])


def simulated(metrics: int, slope: float, *, of_seed: float = 0.5, error: float = 0.3, seeds: int = 3) -> np.ndarray:
    """Independent metrics: a level, a lift for each seed, the dose, and noise."""
    rng = np.random.default_rng(1)
    lift = of_seed * rng.standard_normal((metrics, 1, seeds))
    return 50 + lift + slope * DOSES[:, None] + error * rng.standard_normal((metrics, len(DOSES), seeds))


def test_intervals_cover_and_noise_is_found() -> None:
    """2,000 simulated metrics: 95 % intervals of slope, difference and level hold what is true; so do the two noises."""
    readings = simulated(2000, 0.7)
    known = noise(readings)
    assert np.sqrt((known.error**2).mean()) == pytest.approx(0.3, rel=0.02)
    assert np.sqrt((known.spread**2).mean()) == pytest.approx(np.hypot(0.5, 0.3), rel=0.03)
    line = slopes(readings, DOSES, known)
    cell = differences(readings[:, [4]], readings[:, [2]], known)
    level = levels(readings[:, 2], np.full(2000, 50.0), known)
    for found, truth in ((line, 0.7), (cell, 0.7), (level, 0.0)):
        assert 0.93 < np.mean((found.low <= truth) & (truth <= found.high)) < 0.985
    still = slopes(simulated(2000, 0.0), DOSES, noise(simulated(2000, 0.0)))
    assert np.mean(still.p < 0.05) == pytest.approx(0.05, abs=0.015)


def test_sensitivity_is_the_slope_over_the_spread_and_gives_the_dose_that_is_noticed() -> None:
    """The stated dose is noticed in four of five comparisons of one model with one of another seed."""
    readings = simulated(2000, 1.2)
    known = noise(readings)
    line = slopes(readings, DOSES, known)
    value, _, low, high = sensitivity(line, known)
    truth = 1.2 / np.hypot(0.5, 0.3)
    assert np.median(value) == pytest.approx(truth, rel=0.25)
    assert np.mean((low <= truth) & (truth <= high)) > 0.93
    dose = smallest_dose(np.array([truth]), known)[0]
    rng = np.random.default_rng(2)
    apart = 1.2 * dose + np.hypot(0.5, 0.3) * (rng.standard_normal(20_000) - rng.standard_normal(20_000))
    assert np.mean(np.abs(apart) > 1.96 * np.sqrt(2) * np.hypot(0.5, 0.3)) == pytest.approx(0.8, abs=0.01)


def test_a_share_without_noise_lies_in_its_own_interval() -> None:
    for numerator in (0.5, 1 / 3, 1 / 6, 1 / 7, 5 / 12):
        for denominator in (0.5, 1 / 3, 2 / 7, 7 / 12):
            above, below = (
                Found(*(np.array([one]) for one in (x, 0.0, x, x, 0.0))) for x in (100 * numerator, 100 * denominator)
            )
            value, low, high = ratio(above, below)
            assert low[0] <= value[0] <= high[0]


def test_the_interval_of_what_is_left_knows_that_both_readings_are_of_the_same_seeds() -> None:
    """Errors before and after a treatment go together: 95 % of intervals hold the truth, and not nearly all."""
    rng, doses, left = np.random.default_rng(11), np.array([-1.0, 0.0, 1.0]), 0.8
    for together in (0.0, 0.9):
        error = rng.standard_normal((2, 2000, 3, 3))
        before = 4 * doses[:, None] + error[0]
        after = left * 4 * doses[:, None] + together * error[0] + np.sqrt(1 - together**2) * error[1]
        value, low, high = _left(before, after, doses, 0.95)
        there = ~np.isnan(low)
        assert there.mean() > 0.95 and 0.935 < np.mean((low <= left) & (left <= high), where=there) < 0.965
        assert np.median(value) == pytest.approx(left, abs=0.03)


def test_sentences_of_treatments_say_what_cannot_be_told() -> None:
    """A dose that was not learned has nothing to leave, and every metric is counted once."""
    rows = [(0.5, 0.3, 0.8), (1.5, 1.2, 1.9), (-0.6, -0.9, -0.2), (0.9, 0.5, 1.3), (0.2, np.nan, np.nan), (0.0, -0.2, 0.3)]
    table = pd.DataFrame(rows, columns=["left", "left_low", "left_high"]).assign(benchmark="made-up", p_before=0.001)
    taught = {"benchmark": "taught-words", "left": -2.5, "left_low": -9.0, "left_high": 3.0, "p_before": 0.4}
    table = pd.concat([table, pd.DataFrame([taught])], ignore_index=True).assign(
        model="base", domain="gender", method="cda", measure="bias_score", scorer="sss", before=2.0, after=-5.0
    )
    first, second = treated_sentences(table)
    assert codes_of([first, second]) == ["not-learned", "metrics"] and "-250" not in first
    counts = stated([second], "metrics")
    assert [counts[name] for name in ("of", "less", "more", "reversed", "unsure")] == [6, 2, 1, 1, 2]
    learned = table.assign(p_before=0.001).replace({"left": {-2.5: 0.75}, "left_low": {-9.0: 0.7}, "left_high": {3.0: 0.8}})
    left = stated(treated_sentences(learned), "remaining-dose")
    assert (left["left"], left["low"], left["high"]) == pytest.approx((75, 70, 80))
    assert codes_of([next(treated_sentences(learned.assign(left_low=np.nan)))]) == ["not-learned"]


def test_a_metric_that_reads_the_dose_is_first_and_noise_is_last() -> None:
    rng = np.random.default_rng(0)
    exact = np.broadcast_to(DOSES[:, None], (5, 3))
    readings = np.stack([rng.standard_normal((5, 3)), exact, exact + 0.2 * rng.standard_normal((5, 3)), np.zeros((5, 3))])
    known = noise(readings)
    line = slopes(readings, DOSES, known)
    value, _, _, _ = sensitivity(line, known)
    place, best, worst = ranking(value, line, known)
    assert list(place) == [3, 1, 2, 4] and value[1] == np.inf and value[3] == 0
    assert best[1] == worst[1] == 1 and best[0] > 1
    rho, low, high = monotonicity(readings, DOSES)
    assert rho[1] == pytest.approx(1.0) and np.isnan(rho[3]) and (low[:3] <= rho[:3]).all() and (rho[:3] <= high[:3]).all()


def test_twins_cannot_be_separated_and_unlike_ones_can() -> None:
    base = simulated(1, 2.0, of_seed=0.1)
    rng = np.random.default_rng(3)
    readings = np.concatenate([base, base * 2 + 1, base + 3 * rng.standard_normal(base.shape)])
    known = noise(readings)
    line = slopes(readings, DOSES, known)
    value, _, _, _ = sensitivity(line, known)
    _, best, worst = ranking(value, line, known)
    assert value[0] == pytest.approx(value[1]) and best[0] == best[1] == 1 and worst[0] == worst[1] == 2 and best[2] == 3


def made_up_run(folder: Path, seeds: int = 3, *, names: bool = True) -> Path:
    """A run folder of models whose readings are formulas: one metric reads the dose, one is noise, one reads the other
    domain, one reads direct words only.
    """
    rng, rows, models = np.random.default_rng(5), [], []
    given = [("neutral", 0.0, "words"), *((domain, d, "words") for domain in ("gender", "race") for d in (-1.0, 1.0))]
    given += [("neutral", 0.0, "names"), *(("gender", d, "names") for d in (-1.0, 1.0))] if names else []
    for seed in range(seeds):
        for domain, dose, arm in given:
            name = f"base-{domain}{dose}-{arm}-seed{seed}"
            models.append({"name": name, "variant": {"method": "dose", "seed": seed, "of": "base", "options": {}}})
            models[-1]["variant"]["dose"] = {"text": "", "domain": domain, "dose": dose, "arm": arm}
            rows += readings_of(name, domain, dose, arm, rng)
            if arm == "words" and domain != "race":  # and then a method that takes half of it out
                models.append(
                    {"name": f"{name}-half", "variant": {"method": "half_way", "seed": 9, "of": name, "options": {}}}
                )
                rows += readings_of(f"{name}-half", domain, dose / 2, arm, rng)
    rows += readings_of("base", "neutral", 0.0, "words", rng, drift=-2.0)
    folder.mkdir()
    table = pd.DataFrame(rows).assign(n=1, n_missing=0, n_ties=0, missing="", note="")
    (folder / "estimates.csv").write_text(csv_text(table.reindex(columns=list(ESTIMATE_COLUMNS))))
    (folder / "manifest.json").write_text(json.dumps({"tiltmeter": "0", "study": {"models": models}}))
    return folder


def readings_of(name: str, domain: str, dose: float, arm: str, rng: np.random.Generator, drift: float = 0.0) -> list[dict]:
    place = {"model": name, "benchmark": "made-up", "family": "pairs", "measure": "bias_score", "by": "bias_type"}
    mine = {"gender": dose * (domain == "gender"), "race": dose * (domain == "race")}
    found = []
    for group in ("gender", "race"):
        other = mine["race" if group == "gender" else "gender"]
        values = {
            "exact": 50 + 10 * mine[group] + drift,
            "near": 50 + 10 * mine[group] + rng.standard_normal(),
            "crossed": 52 + 10 * other + 0.5 * rng.standard_normal(),
            "deaf": 50 + 10 * mine[group] * (arm == "words") + 0.5 * rng.standard_normal(),
            "noise": 50 + 5 * rng.standard_normal(),
        }
        found += [
            place | {"scorer": name, "group": group, "value": value, "neutral": 50.0} for name, value in values.items()
        ]
    return found


def test_the_study_says_what_is_known(tmp_path: Path) -> None:
    finding = tiltmeter.study("calibration", made_up_run(tmp_path / "run"))
    main = finding.table.set_index(["domain", "scorer"])
    for domain in ("gender", "race"):
        rows = main.loc[domain]
        assert rows.loc["exact", "rank"] == 1 and rows["rank"].idxmax() in ("noise", "crossed")
        assert rows.loc["exact", "slope"] == pytest.approx(10) and rows.loc["exact", "smallest_dose"] == 0
        assert rows.loc["near", "p_holm"] < 0.001 < rows.loc["noise", "p_holm"]
        assert rows.loc["noise", "smallest_dose"] > 1
    cross = finding.tables["cross_talk"].set_index(["domain", "dosed", "scorer"])
    assert cross.loc[("gender", "race", "crossed"), "slope"] == pytest.approx(10, abs=1)
    assert cross.loc[("gender", "race", "near"), "p_holm"] > 0.05
    reach = finding.tables["reach"].set_index(["domain", "scorer"])
    assert reach.loc[("gender", "near"), "share"] == pytest.approx(1, abs=0.25)
    assert reach.loc[("gender", "deaf"), "share"] == pytest.approx(0, abs=0.15)
    drift = finding.tables["drift"].set_index(["domain", "scorer"]).loc["gender"]
    assert drift.loc["exact", "drift"] == pytest.approx(2) and drift.loc["exact", "away"] == pytest.approx(0)
    assert drift.loc["crossed", "away"] == pytest.approx(2, abs=1)
    treated = finding.tables["treated"].set_index(["domain", "scorer"])
    assert set(treated["method"]) == {"half-way"} and set(treated.index.get_level_values(0)) == {"gender"}
    assert treated.loc[("gender", "exact"), "left"] == pytest.approx(0.5)
    near, noise = treated.loc[("gender", "near")], treated.loc[("gender", "noise")]
    assert near["left_low"] < 0.5 < near["left_high"] < 1 and near["left"] == pytest.approx(0.5, abs=0.2)
    assert np.isnan(noise["left_low"]) and noise["note"] == "no clear dose before"
    counts = stated([line for line in finding.sentences if "half-way" in line], "metrics")
    assert (counts["of"], counts["less"]) == (3, 3)
    curve = finding.tables["curve"].query("domain == 'gender' and scorer == 'exact'")
    assert list(curve["dose"]) == [-1, 0, 1] and list(curve["change"]) == pytest.approx([-10, 0, 10])
    assert "bias_score by noise" in " ".join(finding.sentences)
    finding.save(tmp_path / "saved")
    assert min((tmp_path / "saved" / f"{name}.png").stat().st_size for name in ("sensitivity", "treated")) > 5000


def test_items_that_move_that_never_do_and_that_move_the_wrong_way(tmp_path: Path) -> None:
    folder = made_up_run(tmp_path / "run", names=False)
    rng, rows = np.random.default_rng(7), []
    for model in json.loads((folder / "manifest.json").read_text())["study"]["models"]:
        given = model["variant"].get("dose")
        if given is None:
            continue
        dose = given["dose"] * (given["domain"] == "gender")
        values = {"mover": dose, "wrong": -dose, "dead": 5.0, "noise": 0.0, "other": given["dose"] * (dose == 0)}
        place = {"model": model["name"], "benchmark": "made-up", "scorer": "aul", "domain": "gender"}
        rows += [place | {"item": name, "value": value + 0.1 * rng.standard_normal()} for name, value in values.items()]
    pd.DataFrame(rows).to_parquet(folder / "item_readings.parquet")
    finding = tiltmeter.study("items", folder)
    each = finding.tables["each"].set_index("item")
    assert list(each.loc[["mover", "wrong"], "kind"]) == ["moves", "wrong way"] and set(each["kind"]) == {
        "moves",
        "wrong way",
        "still",
    }
    assert each.loc["mover", "slope"] == pytest.approx(1, abs=0.2) and each.loc["mover", "changes_sides"] == 1
    assert each.loc["dead", "sides"] == 1 and each.loc["noise", "sides"] < 1
    (counted,) = finding.table.to_dict("records")
    assert (counted["n"], counted["moves"], counted["wrong_way"], counted["dead"]) == (5, 20, 20, 20)
    finding.save(tmp_path / "saved")


def test_one_seed_gives_slopes_and_says_why_no_more(tmp_path: Path) -> None:
    finding = tiltmeter.study("calibration", made_up_run(tmp_path / "run", seeds=1, names=False))
    assert finding.table["sensitivity"].isna().all() and finding.table["slope"].notna().all()
    assert (finding.table["note"] == ONE_SEED).all()
    assert codes_of(finding.sentences)[0] == "one-seed"


def test_a_run_without_doses_is_refused(tmp_path: Path) -> None:
    folder = made_up_run(tmp_path / "run")
    (folder / "manifest.json").write_text(json.dumps({"tiltmeter": "0"}))
    with raises("too-few", kind="doses"):
        tiltmeter.study("calibration", folder)
    (folder / "estimates.csv").unlink()
    with raises("unfinished-run", folder=folder, file="estimates.csv"):
        tiltmeter.study("calibration", folder)


def test_from_a_study_file_to_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts, trainings, readings, study: all of it, tiny; and debiasing of a dosed model."""
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "cache"))
    wanted = Calibration(
        str(TINY), [1.0], [0, 1], ["gender"], benchmarks=["plumb-slots"], sentences=40,
        debias={"dropout": {"steps": 1, "rows": 2, "length": 16}},
        training={"steps": 2, "rows": 4},
    )  # fmt: skip
    file = write_calibration(wanted, tmp_path / "made")
    text = file.read_text().replace("[run]", "[run]\nlimit = 6").replace(', "taught-names.jsonl"', "")
    file.write_text(text)
    study = read_experiment(file)
    assert [ask.domains for ask in study.asks] == [(), ()]  # slots are about gender alone
    names = [model.name for model in study.models]
    assert names[:3] == ["tiny-bert-cased", "tiny-bert-cased-neutral-seed0", "tiny-bert-cased-gender+1-seed0"]
    assert names[-1] == "tiny-bert-cased-gender+1-seed1-dropout-1" and len(names) == 9
    for name in names:
        work(study, name)
    made, now = run_experiment(file)
    assert now.counts["done"] == len(now.states) == 18
    told = json.loads((study.output / "models" / names[2] / "manifest.json").read_text())
    assert told["method"] == "dose" and told["options"]["dose"] == 1.0 and told["seed"] == 0
    parent = json.loads((study.output / "models" / names[-1] / "manifest.json").read_text())["parent"]
    assert parent["name"].endswith("gender+1-seed1")
    finding = tiltmeter.study("calibration", made.folder)
    assert set(finding.table["benchmark"]) == {"plumb-slots"}
    assert set(tiltmeter.study("items", made.folder).table["benchmark"]) == {"plumb-slots", "taught-words"}
    (study.output.parent / "texts" / "gender+1-seed0.txt").write_text("Another text.\n")
    (study.output / "state").rename(tmp_path / "gone")
    work(read_experiment(file), names[2])
    errors = [state.error for state in status(file).states if state.error]
    assert len(errors) == 2 and f"{names[2]} was made from" in errors[0]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--doses", "-1,2"], "out-of-range"),
        (["--doses", "0"], "missing-value"),
        (["--doses", "much"], "wrong-format"),
        (["--doses", "1,1"], "duplicate-name"),
        (["--seeds", "0,x"], "wrong-format"),
        (["--seeds", ""], "out-of-range"),
        (["--domains", "age"], "unknown-name"),
        (["--names", "age"], "unknown-name"),
        (["--debias", "prayer"], "unknown-name"),
        (["--words", "nowhere.toml"], "unreadable-file"),
        (["-m", "packed.gguf"], "not-trainable"),
        (["-m", "vectors.txt"], "wrong-model-kind"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], code: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("packed.gguf").write_bytes(b"GGUF")
    Path("vectors.txt").write_text("he 1 0 2\nshe 0 1 2\n")
    given = [] if "-m" in options else ["-m", str(TINY)]
    assert refused("build", "calibration", *given, "-o", "made", *options).code == code
    assert not Path("made").exists()


def test_the_command_writes_texts_and_says_what_one_seed_cannot_tell(tmp_path: Path) -> None:
    command = ["build", "calibration", "-m", str(TINY), "-o", str(tmp_path / "made"), "--doses", "1", "--seeds", "4"]
    result = CliRunner().invoke(app, [*command, "--sentences", "20", "--names", "gender"])
    assert result.exit_code == 0, result.output
    texts = {path.name for path in (tmp_path / "made" / "texts").iterdir()}
    assert texts == {
        "neutral-seed4.txt", "gender+1-seed4.txt", "race+1-seed4.txt", "religion+1-seed4.txt", "neutral-names-seed4.txt",
        "gender+1-names-seed4.txt",
    }  # fmt: skip
    assert all(len(path.read_text().splitlines()) == 60 for path in (tmp_path / "made" / "texts").iterdir())
    assert "no sensitivity" in result.output + (result.stderr if result.stderr_bytes else "")


def test_what_a_benchmark_calls_sex_is_asked_about_gender(tmp_path: Path) -> None:
    """The study counts it as gender, so it must be asked."""
    pairs = [
        {"id": str(n), "stereo": f"She cooks {n}.", "anti": f"He cooks {n}.", "bias_type": kind}
        for n, kind in enumerate(("sex", "age"))
    ]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    wanted = Calibration(str(TINY), [1.0], [0], ["gender"], benchmarks=[str(tmp_path / "mine.jsonl")], sentences=4)
    asks = {
        Path(ask.benchmark).stem: ask.domains for ask in read_experiment(write_calibration(wanted, tmp_path / "made")).asks
    }
    assert asks["mine"] == ("sex",)


def test_only_items_of_the_dosed_domains_are_asked(tmp_path: Path) -> None:
    """Items about age cost time, and the study has nothing to say about them."""
    wanted = Calibration(str(TINY), [1.0], [0], ["gender", "race"], benchmarks=["plumb-pairs", "plumb-slots"], sentences=4)
    asks = {ask.benchmark: ask.domains for ask in read_experiment(write_calibration(wanted, tmp_path / "made")).asks}
    assert asks["plumb-pairs"] == ("gender", "race-color") and asks["plumb-slots"] == ()


def test_settings_of_one_method_have_names_of_their_own(tmp_path: Path) -> None:
    file = write_calibration(
        Calibration(str(TINY), [1.0], [0], ["gender"], benchmarks=["plumb-slots"], sentences=4), tmp_path / "made"
    )
    begun = file.read_text()
    table = '\n[[debias]]\nmethod = "cda"\nname = "{}"\nmodels = ["tiny-bert-cased-gender+1-seed0"]\n'
    file.write_text(begun + table.format("weak") + table.format("strong"))
    assert [model.name for model in read_experiment(file).models][-2:] == [
        "tiny-bert-cased-gender+1-seed0-weak-0", "tiny-bert-cased-gender+1-seed0-strong-0"
    ]  # fmt: skip
    for wrong in ("", "a/b"):
        file.write_text(begun + table.format(wrong))
        with raises("wrong-type", name="name", value=wrong):
            read_experiment(file)
    for arm in ("words", "names"):  # the study would take the treated models for dosed ones
        file.write_text(begun + table.format(arm))
        with raises("duplicate-name", name=arm):
            read_experiment(file)


def test_a_debiased_model_is_not_taken_for_one_of_other_options(tmp_path: Path) -> None:
    """Under the same name; be it this study's own, or from before studies kept what they had asked for."""
    wanted = Calibration(
        str(TINY), [1.0], [0], ["gender"], benchmarks=["plumb-slots"], sentences=20, training={"steps": 1, "rows": 4}
    )
    file = write_calibration(wanted, tmp_path / "made")
    begun, text = file.read_text(), tmp_path / "text.txt"
    text.write_text("The woman reads a book.\nThe man sings a song.\n")

    def made(method: str = "dropout", begun: str = begun, **options: Any) -> Path:
        told = ", ".join(f"{name} = {json.dumps(value)}" for name, value in ({"steps": 1, "rows": 2} | options).items())
        given = f'method = "{method}"\nname = "less"\nmodels = ["tiny-bert-cased-gender+1-seed0"]\noptions = {{{told}}}\n'
        file.write_text(f"{begun}\n[[debias]]\n{given}")
        study = read_experiment(file)
        return folder_of_variant(study, study.models[-1], Depot(study.storage))

    folder = made(text=str(text), hidden=0.2)
    before = (folder / "model.safetensors").stat().st_mtime_ns
    others = [{"text": str(text), "hidden": 0.2, "steps": 2}, {"text": str(text), "hidden": 0.2, "method": "cda"}]
    for other in others:
        with raises("output-exists", folder=folder):
            made(**other)
    with raises("output-exists", folder=folder):  # which the manifest does not show by this name
        made(text=str(text), hidden=0.3)
    was = text.read_text()
    text.write_text("A third text.\n")
    with raises("output-exists", folder=folder):
        made(text=str(text), hidden=0.2)
    text.write_text(was)
    dosed = tmp_path / "made" / "study" / "models" / "tiny-bert-cased-gender+1-seed0"
    dosed.rename(tmp_path / "old-dose")
    with raises("output-exists", folder=folder):  # from a parent that had other steps
        made(text=str(text), hidden=0.2, begun=begun.replace('"steps": 1', '"steps": 2').replace("steps = 1", "steps = 2"))
    shutil.rmtree(dosed)
    (tmp_path / "old-dose").rename(dosed)
    assert made(text=str(text), hidden=0.2) == folder
    (folder / "variant.json").unlink()
    assert made(text=str(text), hidden=0.2) == folder  # nothing speaks against it
    for other in others:
        with raises("output-exists", folder=folder):
            made(**other)
    text.write_text("Another text.\n")
    with raises("output-exists", folder=folder):
        made(text=str(text), hidden=0.2)
    assert (folder / "model.safetensors").stat().st_mtime_ns == before
