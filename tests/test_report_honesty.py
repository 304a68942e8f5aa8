"""The report says what the numbers support, whatever a run consists of, and nothing about the machine that made it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tiltmeter
from conftest import GOLDEN, reseal
from report_material import explorer, made_up_run, words_of
from report_material import section as markup_of
from study_material import made_up
from support.wording import codes_of
from test_words import rows, with_rows
from tiltmeter import TiltmeterError, estimate
from tiltmeter.display import Statement
from tiltmeter.families.kit.story import Story
from tiltmeter.families.pairs.headline import first_scorer
from tiltmeter.families.pairs.narratives import narratives
from tiltmeter.families.slots.estimate import RANKED_DIFFERENTLY
from tiltmeter.reporting.html import gather, page
from tiltmeter.reporting.html.bars import Scale
from tiltmeter.reporting.html.caveats import power
from tiltmeter.reporting.html.comparison import MORE_STEREOTYPES, NO_DIRECTION
from tiltmeter.reporting.html.material import Material
from tiltmeter.reporting.html.measures import EACH_HEADLINE
from tiltmeter.reporting.html.methods import WEIGHTED
from tiltmeter.reporting.html.summary import cards
from tiltmeter.reporting.narratives import stories_of
from tiltmeter.runs import Run
from tiltmeter.runs.folder import write_estimates
from tiltmeter.runs.run import run
from tiltmeter.storage.files import write_json


def section(text: str, name: str) -> str:
    """The words of a section, without its marks."""
    return words_of(markup_of(text, name))


def story_of(table: pd.DataFrame) -> Story:
    """What is told of the one model on the one benchmark of a table."""
    (story,) = narratives(table)
    return story


def with_measures(made: Run, *measures: str) -> Path:
    """The same run, with other measures."""
    write_estimates(made.folder, estimate(made.answers["pairs"], list(measures), resamples=100))
    reseal(made.folder)
    return made.folder


@pytest.mark.parametrize(
    ("value", "p", "types", "said"),
    [
        (60.0, 0.01, {"a": (70.0, 0.9), "b": (50.0, 0.9)}, ("towards", "towards", {})),
        (40.0, 0.01, {"a": (40.0, 0.9), "b": (40.0, 0.9)}, ("away", "away", {})),
        (50.0, 1.0, {"a": (50.0, 0.9), "b": (50.0, 0.9)}, ("unsure", "unsure", {})),
        (50.0, 1.0, {"a": (70.0, 0.01), "b": (30.0, 0.01), "c": (50.0, 0.9)},
         ("unsure", "types-lean", {"n": 2, "of": 3})),
        (50.0, 1.0, {"a": (70.0, 0.01), "b": (40.0, 0.8)},
         ("unsure", "types-lean", {"n": 1, "of": 2})),
    ],
)  # fmt: skip
def test_leans_that_cancel_are_not_called_no_lean(
    value: float, p: float, types: dict[str, tuple[float, float]], said: tuple[str, str, dict[str, int]]
) -> None:
    story = story_of(rows(value, p, types))
    assert isinstance(story.verdict, Statement)
    facts = {name: fact for name, fact in story.verdict.fields.items() if name != "named_text"}
    assert (story.tone, story.verdict.code, facts) == said
    assert story.number == f"{value:.1f} %" and story.gauge is not None and story.gauge.value == value


def test_directions_that_differ_are_not_called_no_lean() -> None:
    table = with_rows({"by": "direction", "group": "|difference|", "value": 20.0, "p": 0.001, "neutral": 0.0})
    both = [table.iloc[0].to_dict() | {"by": "direction", "group": name} for name in ("advantaged", "disadvantaged")]
    table = pd.concat([table, pd.DataFrame(both)], ignore_index=True)
    assert codes_of([story_of(table).verdict]) == ["directions-differ"]
    assert codes_of([story_of(table.assign(p=0.3)).verdict]) == ["unsure"]


@pytest.mark.parametrize(
    ("difference", "said"),
    [(2.5, "2.5 points more than"), (-2.5, "2.5 points less than"), (0.0, "As much as"), (-0.04, "As much as")],
)
def test_a_model_is_compared_as_the_difference_says(difference: float, said: str) -> None:
    table = rows(55.0, 0.2, {})
    row = dict(table.iloc[0]) | {
        "family": "pairs",
        "baseline": "base",
        "difference": difference,
        "low": -4.0,
        "high": 4.0,
        "p": 0.01,
        "p_holm": 0.6,
        "n_tests": 4,
    }

    def compared(**other: object) -> Any:
        (card,) = cards(Material((), {}, table, ()), list(narratives(table)), pd.DataFrame([row | other]))
        (entry,) = card.stories
        return entry.compared

    facts = compared().fields
    assert (facts["than"], facts["baseline"], facts["items"], facts["difference"]) == (said, "base", "200 pairs", difference)
    assert facts["tested"].split(", ")[0] == "95 % CI −4.0 to +4.0" and facts["p"] == 0.6 and not facts["is_significant"]
    assert compared(p_holm=0.01).fields["is_significant"]
    for other in ({"scorer": "aul"}, {"measure": "kls"}, {"benchmark": "c"}, {"by": "bias_type"}, {"difference": np.nan}):
        assert compared(**other) == ""  # a difference of something else is not that of the headline


def test_a_run_without_a_direction_claims_none(tmp_path: Path) -> None:
    """kls and jss say how far; their groups and differences are shown, and no way is read out of them."""
    text = page(gather(with_measures(made_up_run(tmp_path / "run"), "kls", "jss")))
    (story, _) = stories_of(tiltmeter.load_run(tmp_path / "run").estimates)
    assert codes_of([story.verdict]) == ["no-lean-computed"] and story.verdict in section(text, "short")
    assert "towards" not in section(text, "comparison") and NO_DIRECTION in section(text, "comparison")
    assert "race-color" in section(text, "pairs") and "kls" in section(text, "comparison")
    usual = page(gather(made_up_run(tmp_path / "usual").folder))
    assert MORE_STEREOTYPES in section(usual, "comparison")
    assert NO_DIRECTION not in section(usual, "comparison")  # kls is not compared then


def pairs_and_slots(folder: Path, *models: str) -> str:
    """The page about what models make of a few pairs and slots."""
    options = {"resamples": 100, "limit": 8, "cache": False}
    benchmarks = ["starter-pairs", GOLDEN / "data" / "slots.jsonl"]
    paths = [GOLDEN / "models" / name for name in models]
    return page(gather(run(paths, benchmarks, output=folder, **options, options=tiltmeter.SlotsOptions(top_k=500))))


def test_a_mixed_comparison_says_of_each_table_what_right_of_zero_is(tmp_path: Path) -> None:
    """Only where a measure leans is a difference called a lean."""
    text = pairs_and_slots(tmp_path / "run", "tiny-bert-cased", "tiny-albert")
    blocks = markup_of(text, "comparison").split('<details class="block"')[1:]
    assert all("Right of zero" in block for block in blocks)
    names = [re.search(r'<span class="name">(.*?)</span>', block)[1] for block in blocks]  # type: ignore[index]
    meaning = {name: "towards the stereotypes" in block for name, block in zip(names, blocks, strict=True)}
    assert meaning == {"bias_score": True, "mean_preference": True, "lean": False, "mnt_gap": False, "mps_gap": False}


def test_what_cannot_be_compared_is_named_with_its_reason(tmp_path: Path) -> None:
    """A masked and a causal model share no scorer of pairs, and rank terms among other words."""
    part = markup_of(pairs_and_slots(tmp_path / "run", "tiny-bert-cased", "tiny-gpt2"), "comparison")
    (alone,) = re.findall(r'<p class="alone">(.*?)</p>', part)
    assert "starter-pairs" in alone and RANKED_DIFFERENTLY in words_of(part) and "missing" in words_of(part)


def test_models_with_different_headlines_share_a_table_of_groups(tmp_path: Path) -> None:
    """A model that has only ss is not left out beside one that has bias_score."""
    made = made_up_run(tmp_path / "run")
    table = made.estimates.query("measure == 'bias_score'")
    table = table.assign(measure=["ss" if model == "two" else "bias_score" for model in table["model"]])
    write_estimates(made.folder, table)
    reseal(made.folder)
    text = page(gather(made.folder))
    (part,) = re.findall(r'<div class="breakdown" [^>]*data-by="bias_type"[^>]*>.*?</table>', text, re.S)
    assert f'data-first="{EACH_HEADLINE}"' in part
    rows = [words_of(row).split() for row in re.findall(r"<tr class.*?</tr>", part, re.S)]
    scorer = first_scorer("bias_score", sorted(set(table["scorer"])))
    expected = table[(table["by"] == "bias_type") & (table["scorer"] == scorer)]
    assert {(group, model, float(value)) for group, model, value, *_ in rows} == {
        (row["group"], row["model"], round(row["value"], 1)) for _, row in expected.iterrows()
    }


def test_pairs_without_groups_have_no_empty_section(tmp_path: Path) -> None:
    made = made_up_run(tmp_path / "run", scorers=("cps",))
    write_estimates(made.folder, made.estimates.query("by == 'all'"))
    reseal(made.folder)
    text = page(gather(made.folder))
    assert "bias_score" in section(text, "pairs") and "By bias type" not in section(text, "pairs")
    assert 'class="breakdown"' not in text and "By direction" not in text


def test_so_few_pairs_that_no_lean_would_show(tmp_path: Path) -> None:
    made = made_up_run(tmp_path / "run", n=6, scorers=("cps",))
    table = made.estimates.assign(low=lambda t: t["value"] - 45, high=lambda t: t["value"] + 45)
    write_estimates(made.folder, table)
    reseal(made.folder)
    material = gather(made.folder)
    found = list(power(stories_of(material.estimates), material.settings.confidence))
    assert [row[:4] for row in found] == [(model, "made-up", "bias_score by cps", "6") for model in ("one", "two")]
    assert {least for *_, least in found} == {"none: too few pairs"}


def test_a_headline_says_when_another_scorer_leans_otherwise() -> None:
    """50.0 by one scorer is no lean; 0.0 by another must not stand below it unsaid."""
    base = np.random.default_rng(0).normal(size=60)
    even, none = base + np.where(np.arange(60) % 2, 1.0, -1.0), base - 1.0
    codes = {}
    for first, second in ((even, none), (none, even), (even, even)):
        scores = made_up({("m", "cps"): (first, base), ("m", "aul"): (second, base)})
        story = story_of(tiltmeter.estimate(scores, measures="bias_score", resamples=200))
        assert isinstance(story.verdict, Statement)
        other = "aul" if story.head["scorer"] == "cps" else "cps"
        codes[float(story.head["value"]), first is second] = story.verdict.code
        if story.verdict.code == "scorers-disagree":
            assert story.verdict.fields["values"] == {other: 0.0} and story.unit.endswith(f"by {story.head['scorer']}")
    assert codes == {(50.0, False): "scorers-disagree", (0.0, False): "away", (50.0, True): "unsure"}


def test_percentages_have_the_decimals_of_the_headline() -> None:
    assert Scale(0.0, 100.0, 50.0).text(81.63) == "81.6" and Scale(49.0, 51.0, 50.0).text(50.123) == "50.12"


def test_methods_say_how_overall_values_and_their_intervals_are_made(tmp_path: Path) -> None:
    said = section(page(gather(made_up_run(tmp_path / "run").folder)), "methods")
    assert WEIGHTED in said
    assert "cannot cross neutral" in said and "`" not in said
    alone = section(page(gather(with_measures(made_up_run(tmp_path / "plain"), "bias_score"))), "methods")
    assert WEIGHTED not in alone and "cannot cross neutral" not in alone


def test_the_page_does_not_tell_where_things_lie(tmp_path: Path) -> None:
    made = made_up_run(tmp_path / "run", models=("one",))
    manifest = made.manifest | {"command": ["/home/ann/venv/bin/tiltmeter", "run", "-m", "/home/ann/secret plan/one"]}
    manifest["evaluations"][0]["model"]["name"] = "/home/ann/secret/one"
    manifest["evaluations"][0]["benchmark"]["source"] = "C:\\Users\\ann\\pairs.csv"
    manifest["evaluations"][0]["observations"] = {"folder": "/home/ann/.cache/tiltmeter/abc"}
    write_json(made.folder / "manifest.json", manifest, own=True)
    reseal(made.folder)
    text = page(gather(made.folder))
    assert "ann" not in re.findall(r"\w+", section(text, "origin")) and str(tmp_path) not in text
    assert "tiltmeter run -m …/one" in text and "secret" not in text and "…/pairs.csv" in text
    assert "/home/ann" in (made.folder / "manifest.json").read_text()  # the run keeps it


def test_two_reports_of_a_run_are_the_same(tmp_path: Path) -> None:
    folder = made_up_run(tmp_path / "run").folder
    assert page(gather(folder)) == page(gather(folder))


def test_gaps_are_those_of_the_scores_before_rounding(tmp_path: Path) -> None:
    """Two long sentences that differ in the last digits: what is left after rounding them is not their difference."""
    made = made_up_run(tmp_path / "run", n=12, models=("one",), scorers=("cps",))
    frame = made.answers["pairs"].table
    stereo = frame["role"] == "stereo"
    frame.loc[stereo, "score"] = -123.4
    frame.loc[~stereo, "score"] = -123.4 - 1e-7
    frame.to_parquet(made.folder / "scores.parquet")
    reseal(made.folder)
    header, array = explorer(page(gather(made.folder)))
    (score,) = header["benchmarks"][0]["scores"]
    assert set(array(score["side"])) == {1}
    np.testing.assert_allclose(array(score["gap"]), 1e-7, rtol=1e-4)
    assert json.dumps(header)  # nothing but what JSON knows


def test_a_run_without_estimates_is_refused_with_a_reason(tmp_path: Path) -> None:
    made = made_up_run(tmp_path / "run", n=10)
    with pytest.raises(TiltmeterError, match="no measure applies"):
        gather(replace(made, estimates=made.estimates.iloc[:0]))
