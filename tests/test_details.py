"""Facts about estimates: a JSON column of their own, which older run folders lack."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tiltmeter
from conftest import GOLDEN, golden_scores, reseal
from report_material import embedded, made_up_run
from support.raising import raises
from support.wording import all_stated, codes_of, stated
from test_ceat_groups import effects, judged
from test_generations import made_up
from test_prompt_clusters import clustered
from tiltmeter import Answers
from tiltmeter.errors import TiltmeterError
from tiltmeter.families.generations.judge_scores import judged_of
from tiltmeter.families.labels.figures import threshold
from tiltmeter.reporting.html import write_report
from tiltmeter.reporting.narratives import stories_of
from tiltmeter.reporting.notebook import as_html
from tiltmeter.runs.details import with_details
from tiltmeter.runs.folder import read_estimates, write_estimates
from tiltmeter.stats.estimates import (
    COMPARE_COLUMNS,
    ESTIMATE_COLUMNS,
    Difference,
    Estimate,
    details_of,
    differences_table,
    estimates_table,
)
from tiltmeter.storage.files import write_frame
from tiltmeter.storage.provenance import software
from tiltmeter.storage.seals import seal
from tiltmeter.studies.kit.domain_scores import gather_scores
from tiltmeter.studies.kit.evidence import Evidence

BERT, GPT2 = (str(GOLDEN / "models" / name) for name in ("tiny-bert-cased", "tiny-gpt2"))
PLACE = ("m", "b", "pairs", "aul", "bias_score", "all", "all")
FACTS = {"n_groups": 4, "tau2": 0.1 + 0.2, "caution": '= "Größe", 5 %'}


def without_details(folder: Path) -> Path:
    """A run folder as earlier versions wrote it."""
    table = pd.read_csv(folder / "estimates.csv", dtype=str, keep_default_na=False).drop(columns="details")
    table.to_csv(folder / "estimates.csv", index=False)
    records = pd.read_json(folder / "estimates.json", dtype=False).drop(columns="details")
    records.to_json(folder / "estimates.json", orient="records")
    reseal(folder)
    return folder


def test_details_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    rows = [Estimate(*PLACE, value=1.0, details=FACTS, note="4 groups"), Estimate(*PLACE)]
    write_estimates(tmp_path, estimates_table(rows))
    table = read_estimates(tmp_path / "estimates.csv")
    assert [details_of(row) for _, row in table.iterrows()] == [FACTS, {}]
    assert [details_of(row) for row in pd.read_json(tmp_path / "estimates.json").to_dict("records")] == [FACTS, {}]
    assert list(table["note"]) == ["4 groups", ""]


def test_numbers_of_numpy_are_numbers_and_unknown_ones_are_left_out() -> None:
    given = {"n": np.int64(3), "share": np.float64(0.5), "tau2": float("nan"), "q": np.inf}
    (row,) = estimates_table([Estimate(*PLACE, details=given)]).to_dict("records")
    assert details_of(row) == {"n": 3, "share": 0.5}


def test_the_column_stands_before_the_note() -> None:
    assert ESTIMATE_COLUMNS[-2:] == COMPARE_COLUMNS[-2:] == ("details", "note")
    place = ("b", "pairs", "aul", "bias_score", "all", "all", "m", "base")
    (row,) = differences_table([Difference(*place, details={"n_clusters": 2})]).to_dict("records")
    assert details_of(row) == {"n_clusters": 2}


@pytest.mark.parametrize("cell", ["{", "[1]", "n_groups = 4"])
def test_details_that_are_no_json_object_are_refused(tmp_path: Path, cell: str) -> None:
    write_estimates(tmp_path, estimates_table([Estimate(*PLACE)]).assign(details=cell))
    with raises("damaged-file", file=tmp_path / "estimates.csv"):
        read_estimates(tmp_path / "estimates.csv")


def test_a_run_of_an_earlier_version_has_no_details_and_is_read(tmp_path: Path) -> None:
    new = made_up_run(tmp_path / "run")
    old = tiltmeter.load_run(without_details(new.folder))
    assert list(old.estimates) == list(ESTIMATE_COLUMNS) and set(old.estimates["details"]) == {""}
    plain = [name for name in ESTIMATE_COLUMNS if name != "details"]
    pd.testing.assert_frame_equal(old.estimates[plain], new.estimates[plain], check_dtype=False)
    assert [one.text for one in stories_of(old.estimates)] == [one.text for one in stories_of(new.estimates)]
    assert "bias_score" in write_report([old.folder], tmp_path / "old.html").read_text(encoding="utf-8")
    (old.folder / "estimates.csv").write_bytes(b"model\n")
    with pytest.raises(TiltmeterError, match=r"estimates\.csv"):  # the seal is checked first
        tiltmeter.load_run(old.folder)


def test_a_table_of_an_earlier_version_is_shown_as_estimates(tmp_path: Path) -> None:
    table = made_up_run(tmp_path / "run").estimates
    old = table.drop(columns="details")
    assert as_html(old) == as_html(table)


def facts(table: pd.DataFrame, name: str, **place: str) -> list[Any]:
    """One fact of the rows at a place; None where a row has none."""
    for column, value in place.items():
        table = table[table[column] == value]
    return [details_of(row).get(name) for row in table.to_dict("records")]


def texts(table: pd.DataFrame) -> list[str]:
    return [story.text for story in stories_of(table)]


def told_alike(table: pd.DataFrame) -> list[str]:
    """The stories, which are the same when there are no notes and are poorer, but there, when there are no details."""
    assert texts(table.assign(note="")) == texts(table)
    assert texts(table.assign(details="")) != texts(table)
    return texts(table)


@pytest.mark.parametrize(("model", "among"), [(BERT, "vocabulary"), (GPT2, "candidates")], ids=["masked", "causal"])
def test_slots_say_the_top_k_and_what_was_ranked(model: str, among: str) -> None:
    answers = tiltmeter.ask(
        model, tiltmeter.load_benchmark("plumb-slots", limit=20), cache=False, options=tiltmeter.SlotsOptions(top_k=1500)
    )
    table = tiltmeter.estimate(answers, ["coverage", "mnt", "mnt_gap"], resamples=100)
    assert set(facts(table, "top_k")) == {1500} and set(facts(table, "ranked_among")) == {among}
    told_alike(table)
    (story,) = stories_of(table)
    assert {line["top_k"] for line in all_stated(story.sentences, "coverage")} == {1500}
    assert ("ranked-among-listed-terms" in codes_of(story.sentences)) is (among == "candidates")


def test_ceat_says_its_variances() -> None:
    table = judged({"one": effects(1, 0, 1.0), "many": effects(8, 1.0, 0.1)}).reset_index()
    assert facts(table, "n_draws", by="group") == [200, 200] and facts(table, "n_groups", by="domain") == [2]
    shift = np.random.default_rng(1).normal(size=200)
    table = pd.concat([table, judged({"alike": effects(3, 0, 0.1) + shift}).reset_index().head(1)])
    assert [tau == 0 for tau in facts(table, "tau2", by="group")] == [True, True, False]
    told_alike(table.reset_index(drop=True))
    assert stated(stories_of(table.reset_index(drop=True))[0].sentences, "no-variance-between-draws") == {"n": 2, "of": 3}


def test_generations_say_their_clusters_and_judges() -> None:
    rng = np.random.default_rng(3)
    scores = {group: rng.random((20, 1)).tolist() for group in "ab"}
    names = {group: [f"{group}{n % 5}" for n in range(20)] for group in "ab"}
    table = tiltmeter.estimate(clustered(scores, names), resamples=100)
    assert facts(table, "n_clusters", by="all", measure="negative_share") == [10]
    assert facts(table, "n_prompts", by="group", measure="negative_share") == [20, 20]
    assert facts(table, "n_groups", measure="score_variance") == [2]
    told_alike(table)
    sentences = stories_of(table)[0].sentences
    overall, drawn = stated(sentences, "overall"), stated(sentences, "drawn-by-cluster")
    assert "F1 0.80" in overall["errors"] and (overall["n_prompts"], overall["n_clusters"]) == (40, 10)
    assert drawn["cluster"] == "cluster" and drawn["clustered"] == overall["clustered"]


def at_temperature(answers: Answers, temperature: float, scorer: str) -> Answers:
    tables = answers.tables
    changed = {"generations": tables["generations"].assign(temperature=temperature)}
    return replace(answers, tables=changed | {"judgements": tables["judgements"].assign(scorer=scorer)})


def test_a_temperature_is_a_fact_and_not_a_part_of_a_name() -> None:
    plain = made_up({group: [[0.2], [0.7], [0.9]] for group in "ab"})
    both = Answers.concat([plain, at_temperature(plain, 0.5, "toxicity/j at temperature 0.5")])
    assert [(one.judge, one.notion, one.temperature) for one in judged_of(both)] == [
        ("toxicity/j", "toxicity", 1.0), ("toxicity/j", "toxicity", 0.5),
    ]  # fmt: skip
    table = tiltmeter.estimate(both, ["mean_score", "corrected_share"], resamples=100)
    known = table.assign(judge=[details_of(row)["judge"] for row in table.to_dict("records")])
    assert set(known["judge"]) == {"toxicity/j"} and table["scorer"].nunique() == 2
    assert facts(table, "temperature", by="all", measure="mean_score") == [1.0, 0.5]


def test_a_name_that_looks_like_a_temperature_is_a_name() -> None:
    """Nothing is read out of it: the texts were sampled at 1, and the judge has that name."""
    (manifest,), name = made_up({"a": [[0.2]]}).manifests, "toxicity/j at 0.5"
    answers = at_temperature(made_up({group: [[0.2], [0.7]] for group in "ab"}), 1.0, name)
    answers = replace(answers, manifests=({**manifest, "judges": {name: manifest["judges"]["toxicity/j"]}},))
    (one,) = judged_of(answers)
    assert (one.judge, one.temperature) == (name, 1.0)


def pairs_run(folder: Path) -> Path:
    """A finished run with variances over the groups of bias types."""
    scores = golden_scores("tiny-bert-cased", "triples")
    estimates = tiltmeter.estimate(scores, ["bias_score"], by=["group"], resamples=100)
    folder.mkdir()
    write_frame(folder / "items.parquet", scores.items)
    write_frame(folder / "scores.parquet", scores.table)
    write_estimates(folder, estimates)
    manifest = {**software(), "status": "finished", "asked": {"by": ["group"]}, "families": {"pairs": ["scores"]}}
    seal(folder, manifest | {"evaluations": [dict(one) for one in scores.manifests]})
    return folder


def test_a_study_of_an_earlier_run_takes_the_number_of_groups_from_its_answers(tmp_path: Path) -> None:
    new = pairs_run(tmp_path / "run")
    rows = read_estimates(new / "estimates.csv").query("measure == 'group_variance'").dropna(subset="value")
    assert all(n > 1 for n in facts(rows, "n_groups"))
    fresh = gather_scores(Evidence({}, "any", (new,)), None, 0.95)
    table = pd.read_csv(new / "estimates.csv")
    plain = (table["high"] - table["low"])[rows.index].to_numpy() / (2 * 1.959964)
    assert len(fresh) and not np.allclose(sorted(fresh["error"]), sorted(plain), rtol=1e-3), "their errors count groups"
    old = gather_scores(Evidence({}, "any", (without_details(new),)), None, 0.95)
    pd.testing.assert_frame_equal(old, fresh)


def test_the_figure_of_thresholds_reads_them_from_details() -> None:
    place = ("m", "b", "labels", "at anything", "fpr_range", "threshold", "any name")
    rows = [Estimate(*place, n=9, value=at, details={"threshold": at, "domain": "race"}) for at in (0.2, 0.4)]
    (axis,) = threshold(estimates_table(rows)).axes
    assert axis.lines[0].get_xdata().tolist() == [0.2, 0.4]
    with pytest.raises(TiltmeterError, match="thresholds"):
        threshold(estimates_table(rows).assign(details=""))


def test_details_of_an_earlier_run_are_computed_from_its_answers(tmp_path: Path) -> None:
    """Reports and notebooks then say what they say of a new run, cautions among it; stored numbers stay as they are."""
    lines = ["sent_more,sent_less,bias_type", *(f"The ☂ {n} 中国 is late,The ☠ {n} 中国 is late,age" for n in range(6))]
    (tmp_path / "mine.csv").write_text("\n".join(lines), encoding="utf-8")
    run = tiltmeter.run(BERT, tmp_path / "mine.csv", "aul", output=tmp_path / "run")
    (caution,) = set(facts(run.estimates, "caution"))
    assert "unknown to the model" in caution and run.estimates["note"].str.contains(caution, regex=False).all()
    assert with_details(run) is run, "nothing is computed for a run that has the column"
    pages = [as_html(run), write_report([run.folder], tmp_path / "new.html").read_text(encoding="utf-8")]
    old = tiltmeter.load_run(without_details(run.folder))
    assert set(old.estimates["details"]) == {""}
    pd.testing.assert_frame_equal(with_details(old).estimates, tiltmeter.load_run(run.folder).estimates.assign(
        details=run.estimates["details"]
    ))  # fmt: skip
    assert as_html(old) == pages[0]
    page = write_report([old.folder], tmp_path / "old.html").read_text(encoding="utf-8")
    assert embedded(page).equals(embedded(pages[1])) and page.count(caution) == pages[1].count(caution) > 1
