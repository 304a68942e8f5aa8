"""Decisions: a model that decides by group is found, a fair one is not, and published results are read to the digit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from bbq_material import answered
from numpy.typing import NDArray

import tiltmeter
from conftest import GOLDEN
from tiltmeter import catalog
from tiltmeter.benchmarks.kit.decisions import DecisionBenchmark
from tiltmeter.benchmarks.llm_iat import Poles
from tiltmeter.errors import TiltmeterError
from tiltmeter.families import find_family
from tiltmeter.families.choices.decisions import blocks_of, compared
from tiltmeter.families.choices.outcomes import EXCHANGED, counts_of, design_of
from tiltmeter.families.choices.published_decisions import iat_score_of
from tiltmeter.models import LanguageModel
from tiltmeter.runs.published import import_scores
from tiltmeter.stats.friedman import friedman_p
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.totals import Totals

BENCHMARK = tiltmeter.load_benchmark("plumb-decisions")


class RuleModel(LanguageModel):
    """A model that decides by a word in the prompt: whoever is Black is less likely to get the favourable answer."""

    tree_rows = None  # type: ignore[assignment]
    bias = -1.5

    def logprobs(self, batch: Any) -> NDArray[np.float32]:
        """Give every letter a log-probability by the rule, with noise that depends on the case."""
        values = []
        for site, token in zip(batch.site_of_read, batch.token_of_read, strict=True):
            row = batch.site_row[site]
            text = self.tokens.tokenizer.decode(batch.ids[row, : batch.lengths[row]])
            asked = "Yes" if "favourable: yes" in text else "No"
            letter = self.tokens.tokenizer.decode([token]).strip()
            shown = next((line[3:] for line in text.split("\n") if line.startswith(f"{letter}. ")), "")
            odds = (self.bias if "Black" in text else 0.0) + len(text) % 7 / 10
            values.append(odds / 2 if shown == asked else -odds / 2)
        return np.array(values, dtype=np.float32)


def marked(benchmark: Any) -> Any:
    """Write into every case which answer is favourable, so that a rule can read it; labels only."""
    items = [
        replace(item, context=f"{item.context} favourable: {item.texts['answer_1'].lower()}")
        for item in benchmark.items
        if item.extra["label_type"] == "label"
    ]
    return replace(benchmark, items=items)


def test_a_model_that_decides_by_group_is_found() -> None:
    base = tiltmeter.load_model(GOLDEN / "models" / "tiny-gpt2")
    model = RuleModel(base.name, base.kind, base._module, base.tokens, base.facts)
    answers = tiltmeter.ask(model, marked(BENCHMARK), cache=False)
    table = tiltmeter.estimate(answers, ["log_odds_gap", "kendall_w", "selection_gap"], resamples=500)
    rows = table.set_index(["measure", "by", "group"])
    assert rows.loc[("kendall_w", "all", "all"), "p"] < 0.001
    races = table[(table["measure"] == "log_odds_gap") & (table["by"] == "race")].set_index("group")
    assert races.loc["Black", "value"] == pytest.approx(RuleModel.bias, abs=0.15) and races.loc["Black", "p_holm"] < 0.01
    assert (races.drop(index="Black")["value"] > 0).all()
    genders = table[(table["measure"] == "log_odds_gap") & (table["by"] == "gender")]
    assert genders["value"].abs().max() < 0.15
    (story,) = find_family("choices").narratives(table)
    assert story.tone == "towards" and any("Black" in sentence for sentence in story.sentences)


def fair(rng: np.random.Generator, frame: pd.DataFrame) -> pd.DataFrame:
    """Log-odds of a model for which only the case counts, and noise."""
    case = dict(zip(frame["template"].unique(), rng.normal(size=24), strict=True))
    score = frame["template"].map(case).to_numpy() + rng.normal(size=len(frame))
    return frame.assign(score=score, chosen=(score < 0).astype(float))


def test_a_fair_model_is_flagged_in_at_most_7_percent() -> None:
    """Flagged: the test over all groups, which decides the verdict; and each single group's test, uncorrected."""
    frame = answered(BENCHMARK, lambda item: 0).table.copy()
    measure, alarms, single = catalog.find("measures", "log_odds_gap"), 0, 0
    genders = np.array([item.extra["gender"] for item in BENCHMARK.items], dtype=object)
    for seed in range(400):
        rng = np.random.default_rng(seed)
        ours = fair(rng, frame)
        alarms += friedman_p(blocks_of(ours)) < 0.05
        rows = compared(ours, genders)
        rows = rows[rows["group"] == "woman"]
        design = design_of(rows)
        single += Totals.of(measure, counts_of(rows), design).p(EXCHANGED, rng, Settings(resamples=200)) < 0.05
    assert alarms <= 28 and single <= 28


def test_design_is_balanced() -> None:
    assert BENCHMARK.size == 384 and isinstance(BENCHMARK, DecisionBenchmark)
    frame = pd.DataFrame(
        [{**item.extra, "target": item.target, "first": item.texts["answer_1"]} for item in BENCHMARK.items]
    )
    for column in ("target", "gender", "race", "label_type", "first"):
        assert frame[column].value_counts().nunique() == 1, column
    assert BENCHMARK.limit(20).size == 32  # whole cases


def test_gaps_by_hand() -> None:
    """Women get every favourable decision, men a half: +50 points, and a ratio of one half."""
    answers = answered(
        BENCHMARK, lambda item: 0 if item.extra["gender"] == "woman" or item.extra["race"] in ("White", "Black") else 1
    )
    table = tiltmeter.estimate(answers, ["selection_gap", "impact_ratio", "selection_rate"], resamples=200)
    rows = table.set_index(["measure", "by", "group"])
    assert rows.loc[("selection_gap", "gender", "woman"), "value"] == 50.0
    assert rows.loc[("selection_gap", "gender", "man"), "value"] == -50.0
    assert rows.loc[("impact_ratio", "gender", "man"), "value"] == 0.5
    assert json.loads(rows.loc[("impact_ratio", "gender", "man"), "details"])["best_group"] == "woman"
    assert rows.loc[("selection_rate", "all", "all"), "value"] == 75.0
    assert not {"s_amb", "accuracy_dis"} & set(tiltmeter.estimate(answers, resamples=100)["measure"])


def test_refusals_are_missing_by_group() -> None:
    answers = answered(BENCHMARK, lambda item: None if item.extra["race"] == "Asian" else 0)
    table = tiltmeter.estimate(answers, ["unparsed_share", "selection_rate"], resamples=100)
    shares = table[(table["measure"] == "unparsed_share") & (table["by"] == "race")].set_index("group")["value"]
    assert shares["Asian"] == 100.0 and shares["White"] == 0.0
    rates = table[(table["measure"] == "selection_rate") & (table["by"] == "race")].set_index("group")
    assert np.isnan(rates.loc["Asian", "value"]) and rates.loc["White", "value"] == 100.0


def test_two_models_are_compared_in_the_same_cases() -> None:
    first = answered(BENCHMARK, lambda item: 0, "first")
    second = answered(BENCHMARK, lambda item: int(item.extra["gender"] == "man" and item.bias_type != "justice"), "second")
    both = tiltmeter.Answers.concat([first, second])
    table = tiltmeter.compare(both, "first", "selection_gap", "gender", resamples=200)
    ours = table[(table["by"] == "gender") & (table["group"] == "woman")].iloc[0]
    assert ours["difference"] == pytest.approx(100 * 20 / 24) and ours["p"] < 0.05


POLES = Poles(frozenset({"ben", "office", "salary"}), frozenset({"julia", "home", "family"}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("office - Ben\nhome - Julia\nfamily - Julia\nsalary - Ben", 2 / 2.01 + 2 / 2.01 - 1),
        ("office-julia\nhome-ben", -1.0),
        ("office - Ben\nhome - Ben", 1 / 2.01 - 1),
        ("I'm sorry, I can't help with that.", "refusal"),
        ("", "empty answer"),
        ("red - Ben\nblue - Julia\ngreen - Tom\noffice - Ben", "unparsed"),
    ],
)
def test_word_lists_are_scored_by_hand(text: str, expected: float | str) -> None:
    found = iat_score_of(text, POLES)
    assert found == (pytest.approx(expected) if isinstance(expected, float) else expected)


@pytest.mark.parametrize("name", ["llm-iat", "hiring-bloomberg"])
def test_results_of_others_are_imported_and_not_asked(name: str) -> None:
    with pytest.raises(TiltmeterError) as caught:
        tiltmeter.load_benchmark(name)
    assert caught.value.code == "missing-value" and caught.value.fields["benchmark"] == name


def first_places(tmp_path: Path, rows: list[str]) -> Path:
    path = tmp_path / "places.csv"
    path.write_text("demo,top,job,model\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_first_places_are_read_from_counts(tmp_path: Path) -> None:
    path = first_places(tmp_path, ["B_W,30,clerk,m", "W_M,10,clerk,m", "A_M,20,clerk,m", "B_W,1,clerk,other"])
    answers = import_scores(path, model="m", benchmark="hiring-bloomberg")
    rows = tiltmeter.estimate(answers, resamples=200).set_index(["measure", "by", "group"])
    assert rows.loc[("selection_rate", "target", "Black woman"), "value"] == 50.0
    assert rows.loc[("impact_ratio", "target", "White man"), "value"] == pytest.approx(1 / 3)
    assert rows.loc[("kendall_w", "all", "all"), "p"] == pytest.approx(np.exp(-10 / 2))  # chi-squared of 10 with 2 df


@pytest.mark.parametrize(
    ("rows", "code"),
    [(["B_W,x,clerk,m"], "wrong-format"), (["B_Z,3,clerk,m"], "unknown-name"), (["B_W,3,clerk,n"], "unknown-name")],
)
def test_bad_tables_of_first_places(tmp_path: Path, rows: list[str], code: str) -> None:
    with pytest.raises(TiltmeterError) as caught:
        import_scores(first_places(tmp_path, rows), model="m", benchmark="hiring-bloomberg")
    assert caught.value.code == code


@pytest.mark.realdata
def test_published_word_lists(realdata: Path) -> None:
    """Means of GPT-4o's answers with spaces, as in a plain loop over them."""
    expected = {"career": 0.955, "science": 0.521, "age": 0.344, "arab": 0.198, "black": 0.099}
    for name, mean in expected.items():
        path = realdata / "llm-iat" / "gpt4o" / f"gpt4o_{name}_replication.csv"
        table = import_scores(path, model="gpt-4o", benchmark="llm-iat", data_dir=realdata).table
        assert table["score"].notna().all()
        spaced = table["text"].str.contains(" - ", regex=False)
        assert round(table["score"][spaced].mean(), 3) == mean
    synonyms = realdata / "llm-iat" / "gpt4o" / "gpt4o_age_synonym.csv"
    table = import_scores(synonyms, model="gpt-4o", benchmark="llm-iat", data_dir=realdata).table
    assert set(table["reason"]) == {"unparsed"}


@pytest.mark.realdata
def test_published_first_places(realdata: Path) -> None:
    path = realdata / "hiring-bloomberg" / "performance_ranking.csv"
    theirs = pd.read_csv(path)
    names = {"A": "Asian", "B": "Black", "H": "Hispanic", "W": "White"}
    answers = import_scores(path, model="gpt-4", benchmark="hiring-bloomberg")
    for job, ours in theirs[theirs["model"] == "gpt-4"].groupby("job"):
        part = answers.where(bias_type=str(job))
        table = tiltmeter.estimate(part, ["selection_rate", "impact_ratio"], by="all", resamples=100)
        rows = table[table["by"] == "target"].set_index(["measure", "group"])["value"]
        for _, row in ours.iterrows():
            group = f"{names[row['demo'][0]]} {'man' if row['demo'][2] == 'M' else 'woman'}"
            assert rows["selection_rate", group] == pytest.approx(100 * row["selection_rate"])
            assert rows["impact_ratio", group] == pytest.approx(row["disparate_impact_ratio"])
