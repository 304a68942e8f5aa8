"""Pairs, slots and association tests in one run: one table, one folder, and each kind estimated by its own measures."""

from __future__ import annotations

import json
import lzma
import re
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tiltmeter
from association_material import corpus, text, words_file
from conftest import GOLDEN, family_options
from support.raising import raises
from test_cli import tiltmeter as command
from tiltmeter import Answers, TiltmeterError, catalog
from tiltmeter.runs import Run, load_answers, load_run
from tiltmeter.runs.run import run

BERT = GOLDEN / "models" / "tiny-bert-cased"
GPT2 = GOLDEN / "models" / "tiny-gpt2"
ALBERT = GOLDEN / "models" / "tiny-albert"
SEAT = GOLDEN / "data" / "own-seat-mini.jsonl"
ALL = ("starter-pairs", "plumb-slots", "seat", "ilps", "ceat")
QUICK = {"resamples": 100, "limit": 12, "cache": False}
ABOUT_GENDER: dict[str, Any] = {"tests": ["gender"], "draws": 100, "contexts": 3}


@cache
def mixed() -> Run:
    folder = Path(mkdtemp(prefix="tiltmeter-mixed-"))
    return run(BERT, ["starter-pairs", "plumb-slots", "seat"], "aul", output=folder, **QUICK)


@cache
def everything() -> Run:
    """Two models on a benchmark of every kind."""
    folder = Path(mkdtemp(prefix="tiltmeter-everything-"))
    asked = ABOUT_GENDER | {"corpus": corpus(folder), "top_k": 500}
    return run([BERT, ALBERT], ALL, "aul", output=folder / "r", **QUICK, options=family_options(asked))


def test_each_kind_has_its_rows_and_its_table() -> None:
    estimates = mixed().estimates
    of = estimates.groupby("benchmark")["measure"].agg(set)
    assert {"bias_score", "kls"} <= of["starter-pairs"]
    assert {"mps", "mnt", "mnt_gap"} <= of["plumb-slots"]
    assert of["seat"] == {"effect_size", "mean_abs_effect"}
    again = load_run(mixed().folder)
    pd.testing.assert_frame_equal(again.estimates, estimates, check_dtype=False)
    assert {one["benchmark"]["name"] for one in again.manifest["evaluations"]} == set(of.index)
    for name in ("scores", "slots", "associations", "items"):
        assert (mixed().folder / f"{name}.parquet").is_file()


def test_everything_is_printed_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("-b", "starter-pairs", "-b", "plumb-slots", "-b", "seat", "-s", "aul", "--limit", 12, "--resamples", 100)
    assert command("run", "-m", BERT, *asked, "-o", tmp_path / "r") == 0
    out = capsys.readouterr().out
    tables = {"starter-pairs": 1, "plumb-slots": 3, "seat": 2}  # groups of terms and two of gaps; tests and their averages
    for benchmark, n in tables.items():
        heads = [line for line in out.splitlines() if line.startswith(f"tiny-bert-cased on {benchmark}")]
        assert len(heads) == n + 1, heads  # and the story
    cells = [cell for line in out.splitlines() for cell in re.split(r"\s{2,}", line.strip())]
    for row in ("aul", "male − female", "female > male", "male", "sent-plumb-race-valence", "gender"):
        assert cells.count(row) == 1, row


def test_a_measure_named_takes_the_rows_of_its_kind_alone(tmp_path: Path) -> None:
    one = run(BERT, ["starter-pairs", "seat"], "aul", ["effect-size"], output=tmp_path / "r", **QUICK)
    assert set(one.estimates["measure"]) == {"effect_size"}
    two = run(BERT, ["starter-pairs", "seat"], "aul", ["bias_score"], output=tmp_path / "r", **QUICK)
    assert set(two.estimates["measure"]) == {"bias_score"}
    with raises("inapplicable-option", measure="effect_size"):
        run(BERT, "starter-pairs", "aul", ["effect_size"], output=tmp_path / "s", **QUICK)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("model", "scorers", "measures", "asked"),
    [
        (BERT, None, None, {"plumb-pairs", "plumb-slots"}),
        (BERT, "aul", None, {"plumb-pairs"}),
        (BERT, None, "bias_score", {"plumb-pairs"}),
        (BERT, None, "mps", {"plumb-slots"}),
        (BERT, "aul", ["bias_score", "mps"], {"plumb-pairs", "plumb-slots"}),
        (GPT2, None, None, {"plumb-pairs"}),
        (GPT2, None, "mps", {"plumb-slots"}),
    ],
)
def test_without_benchmarks_the_embedded_ones_that_are_concerned(
    tmp_path: Path, model: Path, scorers: str | None, measures: str | list[str] | None, asked: set[str]
) -> None:
    done = run(model, None, scorers, measures, tmp_path / "r", **QUICK | {"limit": 3})
    assert set(done.estimates["benchmark"]) == asked
    assert {one["benchmark"]["name"] for one in done.manifest["evaluations"]} == asked
    assert set(done.manifest["asked"]["benchmarks"]) == asked


def test_an_option_that_nothing_would_use_is_refused(tmp_path: Path) -> None:
    with raises("inapplicable-option", option="--scorer", family="pairs"):
        run(BERT, None, "aul", "mps", tmp_path / "r", **QUICK | {"limit": 3})


@pytest.mark.parametrize(("by", "slots"), [("target", True), ("stereotype", True), ("all", True), ("contrast", False)])
def test_a_column_that_the_slots_do_not_have_leaves_them_out(tmp_path: Path, by: str, slots: bool) -> None:
    done = run(BERT, **QUICK | {"limit": 3, "by": [by]}, output=tmp_path / "r")
    assert ("plumb-slots" in set(done.estimates["benchmark"])) == slots
    assert command("estimate", tmp_path / "r", "--by", by, "--resamples", 100) == 0


def test_a_column_of_the_pairs_alone_groups_the_pairs_of_a_stored_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(BERT, **QUICK | {"limit": 3}, output=tmp_path / "r")
    assert command("estimate", tmp_path / "r", "--by", "contrast", "--json", "--resamples", 100) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["by"] for row in rows if row["benchmark"] == "plumb-pairs"} == {"all", "contrast"}
    assert {row["by"] for row in rows if row["benchmark"] == "plumb-slots"} == {"all", "bias_type", "group", "gap"}
    for asked in (["--by", "nothing"], ["--by", "contrast", "--measure", "mps"]):
        assert command("estimate", tmp_path / "r", *asked, "--resamples", 100) == 2


def test_slots_that_nobody_asked_for_are_left_out_where_they_cannot_be_asked(tmp_path: Path) -> None:
    few = QUICK | {"limit": 3}
    done = run(BERT, **few, output=tmp_path / "r", options=tiltmeter.SlotsOptions(top_k=100_000))
    assert set(done.estimates["benchmark"]) == {"plumb-pairs"}
    with pytest.raises(TiltmeterError, match="top-k"):
        run(BERT, "plumb-slots", **few, output=tmp_path / "s", options=tiltmeter.SlotsOptions(top_k=100_000))


def test_words_for_slots_are_asked_of_a_causal_model_too(tmp_path: Path) -> None:
    words = tmp_path / "words.json"
    words.write_text('{"one": ["he", "she"], "other": ["they", "we"]}')
    done = run(GPT2, output=tmp_path / "r", **QUICK | {"limit": 3}, options=tiltmeter.SlotsOptions(terms=words))
    assert set(done.estimates["benchmark"]) == {"plumb-pairs", "plumb-slots"}
    assert set(done.answers["slots"].table["group"]) == {"one", "other"}


def test_estimates_again_from_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("estimate", mixed().folder, "--json", "--resamples", 100) == 0
    assert '"mnt"' in capsys.readouterr().out
    done = run(BERT, "seat", output=tmp_path / "r", **QUICK)
    assert command("estimate", tmp_path / "r", "--json", "--resamples", 100) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["value"] for row in rows] == pytest.approx(done.estimates["value"].tolist(), rel=1e-14)
    assert [row["group"] for row in rows] == done.estimates["group"].tolist()


def test_the_debiasing_study_shows_seat_where_both_runs_have_it(tmp_path: Path) -> None:
    for name in ("plumb-mlm", "zoo"):
        model = "plumb-mlm" if name == "plumb-mlm" else BERT
        run(model, ["plumb-slots", "seat"], output=tmp_path / name, **QUICK)
    table = tiltmeter.study("debiasing", [tmp_path / "plumb-mlm", tmp_path / "zoo"], options={"resamples": 100}).table
    seat = pd.concat(load_run(tmp_path / name).estimates for name in ("plumb-mlm", "zoo"))
    wanted = seat[(seat["measure"] == "mean_abs_effect") & (seat["group"] == "gender")].set_index("model")["value"]
    assert table.groupby("model")["seat_embedded_tests"].first().to_dict() == pytest.approx(wanted.to_dict())


def test_a_mistake_found_after_the_start_leaves_nothing(tmp_path: Path) -> None:
    """That an archive is cut short is found only when it is read, and then a model has been loaded already."""
    (tmp_path / "text.xz").write_bytes(lzma.compress(b"These are five words here.\n" * 9000)[:-40])
    with pytest.raises(TiltmeterError, match="corrupt or truncated"):
        run(BERT, "ceat", output=tmp_path / "r", **QUICK, options=tiltmeter.AssociationsOptions(corpus=tmp_path / "text.xz"))
    assert not (tmp_path / "r").exists()
    (tmp_path / "mine").mkdir()
    with pytest.raises(TiltmeterError, match="corrupt or truncated"):
        run(
            BERT,
            "ceat",
            output=tmp_path / "mine",
            **QUICK,
            options=tiltmeter.AssociationsOptions(corpus=[tmp_path / "text.xz"]),
        )
    assert list((tmp_path / "mine").iterdir()) == []  # a folder that was there stays


@pytest.mark.parametrize("benchmark", ["starter-pairs", "plumb-slots", "ilps", "ceat"])
def test_static_vectors_are_refused_before_another_model_is_asked(tmp_path: Path, benchmark: str) -> None:
    (tmp_path / "v.txt").write_text("man 1 2\n")
    with raises("missing-capability", model=tmp_path / "v.txt", benchmark=benchmark):
        run(
            [BERT, tmp_path / "v.txt"],
            ["seat", benchmark],
            output=tmp_path / "r",
            **QUICK,
            options=tiltmeter.AssociationsOptions(corpus=tmp_path / "v.txt"),
        )
    assert not (tmp_path / "r").exists()


def test_figures_and_tables_of_association_tests(tmp_path: Path) -> None:
    drawn = tiltmeter.figure("estimates", mixed().folder, by="test", measures=["effect_size"])
    labels = [label.get_text() for axis in drawn.axes for label in axis.get_yticklabels()]
    tested = mixed().estimates.query("measure == 'effect_size'")
    assert len(labels) == len(tested) and any("gender-work-home" in label for label in labels)
    shown = tiltmeter.table("estimates", mixed().folder, measures=["effect_size", "mean_abs_effect"])
    assert set(shown["by"]) == {"test", "family"} and len(shown) == len(tested) + (shown["by"] == "family").sum()
    run(BERT, "seat", output=tmp_path / "r", **QUICK)
    with raises("empty-selection", by="bias_type"):
        tiltmeter.figure("estimates", tmp_path / "r")


@pytest.mark.parametrize("benchmark", ["seat", "plumb-slots"])
def test_no_study_of_scores_stumbles_over_a_run_without_any(tmp_path: Path, benchmark: str) -> None:
    run(BERT, benchmark, output=tmp_path / "r", **QUICK)
    for name in catalog.names("studies"):
        if catalog.find("studies", name).reads in (None, "pairs", "observations"):
            with raises("empty-selection"):
                tiltmeter.study(name, tmp_path / "r")
    with raises("empty-selection"):
        tiltmeter.figure("robustness", tmp_path / "r")


def test_the_estimates_of_a_folder_are_made_again_to_the_byte() -> None:
    """Association tests too: what they stored is enough, without the model, the words or the text."""
    done = everything()
    stored = (done.folder / "estimates.csv").read_text(encoding="utf-8")
    again = tiltmeter.estimate(load_answers([done.folder]), resamples=100)
    assert again.to_csv(index=False) == stored == done.estimates.to_csv(index=False)
    assert set(again["benchmark"]) == set(ALL) and set(again["model"]) == {"tiny-bert-cased", "tiny-albert"}
    of = again.groupby("family")["measure"].agg(set)
    assert {"effect_size", "mean_abs_effect", "ilps", "ilps_kurita", "ces", "group_variance"} == of["associations"]
    assert {"bias_score", "kls"} <= of["pairs"] and {"mps", "mnt_gap", "lean"} <= of["slots"]
    judged = again[again["family"] == "associations"]
    assert judged["value"].notna().all() and judged["p"].notna().sum() > 50
    other = tiltmeter.estimate(load_answers([done.folder]), resamples=100, seed=1)
    assert other["value"].tolist() == pytest.approx(again["value"].tolist(), nan_ok=True)
    assert (other["low"] != again["low"]).sum() > 50  # another seed draws other words, and other sentences


def test_one_measure_of_association_tests_made_again_is_the_row_of_the_whole() -> None:
    whole = everything().estimates
    for measure in ("effect_size", "mean_abs_effect", "ces", "ilps_kurita", "group_variance"):
        again = tiltmeter.estimate(load_answers([everything().folder]), measure, resamples=100)
        expected = whole[whole["measure"] == measure].reset_index(drop=True)
        pd.testing.assert_frame_equal(again, expected)


@cache
def differences() -> pd.DataFrame:
    """tiny-albert less tiny-bert-cased."""
    return tiltmeter.compare(load_answers([everything().folder]), resamples=100)


@pytest.mark.parametrize(
    ("benchmark", "measure", "by", "n"),
    [
        ("seat", "effect_size", "test", 3),
        ("seat", "mean_abs_effect", "family", 1),
        ("ilps", "ilps", "group", 12),
        ("ilps", "ilps_kurita", "attributes", 3),
        ("plumb-slots", "mps_all", "group", 2),
        ("starter-pairs", "bias_score", "all", 1),
    ],
)
def test_two_models_compared_have_paired_differences_with_intervals(benchmark: str, measure: str, by: str, n: int) -> None:
    found = differences().query("benchmark == @benchmark and measure == @measure")
    assert len(found) == n and set(found["by"]) == {by}
    assert set(found["model"]) == {"tiny-albert"} and set(found["baseline"]) == {"tiny-bert-cased"}
    assert (found["low"] <= found["difference"]).all() and (found["difference"] <= found["high"]).all()
    assert (found["low"] < found["high"]).all() and not found["note"].any() and (found["n"] > 0).all()
    assert found["p"].between(0, 1, inclusive="right").all()
    if by not in ("family", "all"):
        assert (found["p_holm"] >= found["p"]).all()
    own = everything().estimates.query("benchmark == @benchmark and measure == @measure and by == @by")
    place = ["scorer", "group"]
    for model, value in (("tiny-albert", "value"), ("tiny-bert-cased", "baseline_value")):
        expected = own[own["model"] == model].set_index(place)["value"]
        assert found.set_index(place)[value].to_dict() == pytest.approx(expected.to_dict())
    assert (found["value"] - found["baseline_value"]).tolist() == pytest.approx(found["difference"].tolist())


def test_a_difference_of_seat_by_hand() -> None:
    """Both models on the same words: d of one less d of the other, both from the stored associations."""
    table = load_answers([everything().folder])["associations"].table
    name = "sent-plumb-gender-work-home"
    effects = {}
    for model, rows in table[(table["test"] == name) & (table["asked"] == "seat")].groupby("model"):
        x, y = (rows[rows["set"] == side]["value"].to_numpy() for side in ("X", "Y"))
        effects[model] = (x.mean() - y.mean()) / np.concatenate([x, y]).std(ddof=1)
    (row,) = differences().query("group == @name").to_dict("records")
    assert row["by"] == "test" and row["n"] == 48 and row["n_missing"] == 0
    assert row["difference"] == pytest.approx(effects["tiny-albert"] - effects["tiny-bert-cased"], abs=1e-12)


def test_what_has_no_paired_interval_says_so() -> None:
    found = differences().query("measure == 'group_variance'")
    assert len(found) and found[["low", "high", "p", "p_holm"]].isna().all(axis=None)
    assert (
        found["note"].str.contains("no paired interval").all() and found["note"].str.contains("variance over groups").all()
    )
    assert found["difference"].tolist() == pytest.approx((found["value"] - found["baseline_value"]).tolist())
    assert found["difference"].notna().all()


def test_combined_effects_of_groups_of_words_are_compared_with_intervals() -> None:
    found = differences().query("measure == 'ces'")
    assert set(found["benchmark"]) == {"ceat"} and found[["p", "p_holm"]].notna().all(axis=None)
    assert found["difference"].tolist() == pytest.approx((found["value"] - found["baseline_value"]).tolist())
    assert (found["low"] < found["difference"]).all() and (found["difference"] < found["high"]).all()


def renamed(part: Answers) -> Answers:
    """The same answers under another name."""
    manifests = tuple(one | {"model": one["model"] | {"shown_as": "twin"}} for one in part.manifests)
    there = part.mapped(lambda frame: frame.assign(model="twin") if "model" in frame else frame)
    return replace(there, manifests=manifests)


def test_a_model_compared_with_itself_differs_in_nothing() -> None:
    """The same words, attributes, sentences and pairs are drawn for both, so that nothing is left."""
    own = [part.where(model="tiny-bert-cased") for part in load_answers([everything().folder]).values()]
    found = tiltmeter.compare([*own, *map(renamed, own)], resamples=100)
    there = found[
        found["measure"].isin(["effect_size", "mean_abs_effect", "ilps", "ilps_kurita"]) & found["difference"].notna()
    ]
    assert set(there["measure"]) == {"effect_size", "mean_abs_effect", "ilps", "ilps_kurita"}
    assert (there["difference"] == 0).all() and (there["p"].dropna() == 1).all()
    assert (
        there[["low", "high"]].isna().all(axis=None) and there["note"].ne("").all()
    )  # an interval of width 0 proves nothing


def test_every_model_is_loaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tiltmeter.execution import worker

    load, loaded = worker.load_any, []

    def counting(name: str, **how: Any) -> Any:
        loaded.append(Path(name).name)
        return load(name, **how)

    monkeypatch.setattr(worker, "load_any", counting)
    asked = ABOUT_GENDER | {"corpus": corpus(tmp_path)}
    done = run([BERT, ALBERT], ALL, "aul", output=tmp_path / "r", **QUICK | {"limit": 3}, options=family_options(asked))
    assert loaded == ["tiny-bert-cased", "tiny-albert"]
    cells = [(one["model"]["shown_as"], one["benchmark"]["name"]) for one in done.manifest["evaluations"]]
    assert cells == [(model, name) for model in loaded for name in ALL]


def pairs_file(folder: Path, word: str) -> dict[str, Any]:
    (folder / "mine.csv").write_text(f"stereo,anti\nThe man is {word}.,The woman is {word}.\nHe left.,She left.\n")
    return {"benchmarks": folder / "mine.csv", "scorers": "aul"}


def slots_file(folder: Path, word: str) -> dict[str, Any]:
    rows = [{"text": f"The [MASK] is {word}."}, {"text": "A [MASK] left."}]
    (folder / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"benchmarks": folder / "mine.jsonl"}


def terms_file(folder: Path, word: str) -> dict[str, Any]:
    (folder / "terms.json").write_text(json.dumps({"one": ["he", word], "other": ["she"]}))
    return slots_file(folder, "here") | {"options": tiltmeter.SlotsOptions(terms=folder / "terms.json")}


def seat_file(folder: Path, word: str) -> dict[str, Any]:
    document = json.loads(SEAT.read_text())
    document["attr1"]["examples"][0] = f"This is {word}."
    (folder / "mine.jsonl").write_text(json.dumps(document))
    return {"benchmarks": folder / "mine.jsonl"}


def ilps_file(folder: Path, word: str) -> dict[str, Any]:
    attributes = {"valence": {"good": ["kind", word], "bad": ["cruel", "rude"]}}
    path = words_file(folder, templates=["The {group} is {attribute}."], attributes=attributes)
    return {"benchmarks": "ilps", "options": tiltmeter.AssociationsOptions(words=path)}


def ceat_file(folder: Path, word: str) -> dict[str, Any]:
    (folder / "corpus.txt").write_text(text(120).replace("person", word))
    options = tiltmeter.AssociationsOptions(words=words_file(folder), corpus=[folder / "corpus.txt"], draws=50)
    return {"benchmarks": "ceat", "options": options}


MATERIAL = [pairs_file, slots_file, terms_file, seat_file, ilps_file, ceat_file]


@pytest.mark.parametrize("material", MATERIAL)
def test_two_benchmarks_of_one_name_are_not_mixed(tmp_path: Path, material: Any) -> None:
    """Files of the same name, and CEAT on other text: their data decide. The same data under two paths are the same."""
    folders = {"first": "happy", "same": "happy", "other": "honest"}
    for name, word in folders.items():
        (tmp_path / name).mkdir()
        model = ALBERT if name == "same" else BERT
        run(model, output=tmp_path / name / "r", **QUICK, **material(tmp_path / name, word))
    runs = {name: tmp_path / name / "r" for name in folders}
    (both,) = load_answers([runs["first"], runs["same"]]).values()
    assert both.models == ["tiny-bert-cased", "tiny-albert"] and len(both.benchmarks) == 1
    for pair in (["same", "other"], ["first", "other"], ["other", "same"]):
        with raises("ambiguous-name", kind="benchmark", name=both.benchmarks[0]):
            load_answers([runs[name] for name in pair])
    with raises("duplicate-name", kind="answers"):
        load_answers([runs["first"], runs["first"]])


def test_two_runs_compare_like_one(tmp_path: Path) -> None:
    small = ilps_file(tmp_path, "honest") | {"benchmarks": [SEAT, "ilps"]}
    for name, models in (("a", [BERT]), ("b", [ALBERT]), ("both", [BERT, ALBERT])):
        run(models, output=tmp_path / name, **QUICK, **small)
    one = tiltmeter.compare(load_answers([tmp_path / "both"]), resamples=100)
    two = tiltmeter.compare(load_answers([tmp_path / "a", tmp_path / "b"]), resamples=100)
    pd.testing.assert_frame_equal(one, two)
    (row,) = one[one["benchmark"] == SEAT.stem].to_dict("records")
    assert row["by"] == "test" and row["n"] == 16 and row["low"] < row["difference"] < row["high"]
    assert set(one[one["benchmark"] == "words"]["measure"]) == {"ilps", "group_variance"}


def asking(monkeypatch: pytest.MonkeyPatch, forbidden: bool = False) -> list[str]:
    """Watches what families ask, or lets them ask nothing. Gives the benchmarks that were asked."""
    from tiltmeter.execution import worker

    asked, real = list[str](), worker.ask_cell

    def ask(model: Any, benchmark: Any, *rest: Any) -> None:
        assert not forbidden, f"{benchmark.name} was asked again"
        asked.append(benchmark.name)
        real(model, benchmark, *rest)

    monkeypatch.setattr(worker, "ask_cell", ask)
    return asked


def cached_run(folder: Path, own_cache: Path) -> Run:
    options = QUICK | {"limit": 3, "cache": own_cache}
    asked = ABOUT_GENDER | {"corpus": folder / "corpus.txt"}
    return run(BERT, ALL, "aul", output=folder / "r", **options, options=family_options(asked))


def test_a_second_run_asks_nothing(tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus(tmp_path)
    first = cached_run(tmp_path, own_cache)
    before = (first.folder / "estimates.csv").read_bytes()
    tables = {path.name: pd.read_parquet(path) for path in first.folder.glob("*.parquet")}
    assert first.manifest["batches_computed"] > 0
    with monkeypatch.context() as patched:
        asking(patched, forbidden=True)
        again = cached_run(tmp_path, own_cache)
    assert (again.folder / "estimates.csv").read_bytes() == before
    assert len(tables) == len(list(again.folder.glob("*.parquet"))) == 6
    for name, table in tables.items():
        pd.testing.assert_frame_equal(pd.read_parquet(again.folder / name), table)
    assert again.manifest["batches_computed"] == 0
    assert again.manifest["batches_reused"] == first.manifest["batches_computed"] + first.manifest["batches_reused"]
    for one in again.manifest["evaluations"]:
        counts = one.get("associations", one)
        assert not any(counts[name] for name in counts if name.endswith("_computed"))
    (tmp_path / "corpus.txt").write_text((tmp_path / "corpus.txt").read_text().replace("road", "river"))
    asked = asking(monkeypatch)
    other = cached_run(tmp_path, own_cache)  # a file of the options was changed: what it is for is asked
    assert "ceat" in asked and not {"starter-pairs", "plumb-slots"} & set(asked)
    changed = (other.estimates["value"] != again.estimates["value"]) & again.estimates["value"].notna()
    assert set(other.estimates[changed]["benchmark"]) == {"ceat"}


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


DAMAGE = {
    "a table cut short": ("associations.parquet", cut),
    "a table with another byte": ("draws.parquet", lambda path: path.write_bytes(b"x" + path.read_bytes()[1:])),
    "a table gone": ("slots.parquet", Path.unlink),
    "items cut short": ("items.parquet", cut),
    "no JSON": ("cell.json", cut),
    "other JSON": ("cell.json", lambda path: path.write_text("[]")),
}


@cache
def undamaged() -> tuple[Path, bytes]:
    """A folder with a cache that has all cells of a run, and the estimates of that run."""
    folder = Path(mkdtemp(prefix="tiltmeter-undamaged-"))
    corpus(folder)
    return folder, (cached_run(folder, folder / "cache").folder / "estimates.csv").read_bytes()


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_cell_is_asked_again(own_cache: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    folder, first = undamaged()
    shutil.copytree(folder / "cache", own_cache)
    name, harm = DAMAGE[damage]
    damaged = sorted(own_cache.glob(f"cells/*/{name}"))
    assert damaged
    harm(damaged[0])
    asked = asking(monkeypatch)
    assert (cached_run(folder, own_cache).folder / "estimates.csv").read_bytes() == first
    assert len(asked) == 1
    asked.clear()
    cached_run(folder, own_cache)
    assert not asked  # and what was damaged is whole again
    assert not [path.name for path in (own_cache / "cells").iterdir() if path.name.startswith(".")]


def test_a_cell_whose_observations_are_gone_is_asked_again(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Token observations lie beside the cells, and a run without them would be less than it says."""
    options = QUICK | {"limit": 3, "cache": own_cache}
    first = run(BERT, "starter-pairs", "aul", output=tmp_path / "a", **options)
    attached = sorted(first.answers["pairs"].attachments.values())
    assert attached and all(path.is_relative_to(tmp_path / "a") for path in attached)
    kept = sorted((own_cache / "observations").rglob("block-*.parquet"))
    assert len(kept) == len(attached)
    kept[0].unlink()
    asked = asking(monkeypatch)
    again = run(BERT, "starter-pairs", "aul", output=tmp_path / "b", **options)
    assert asked == ["starter-pairs"] and again.manifest["batches_computed"] > 0
    assert (tmp_path / "b" / "estimates.csv").read_bytes() == (tmp_path / "a" / "estimates.csv").read_bytes()
    stored = load_answers([tmp_path / "b"])["pairs"].attachments
    assert stored and all(path.is_file() for path in stored.values())
