"""WinoGenerated: pairs of pronouns, and the women that a model expects in occupations against those there are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tiltmeter
from conftest import golden_model, scores_of
from tiltmeter import load_benchmark
from tiltmeter.benchmarks.kit.items import items_table
from tiltmeter.errors import InputError
from tiltmeter.families.pairs.ask import SCORE_COLUMNS

OCCUPATIONS = {"florist": 80.0, "plumber": 4.0, "baker": 60.0, "guard": 20.0, "nurse": 90.0, "miner": 3.0}


def wino_file(folder: Path, **changes: object) -> Path:
    rows = [
        {
            "index": f"{occupation}{n}", "occupation": occupation, "other_person": "client",
            "pronoun_options": ["his", "her", "their"],
            "sentence_with_blank": f"The {occupation} met the client and opened _ bag {n}.",
            "BLS_percent_women_2019": women,
        }
        | changes
        for occupation, women in OCCUPATIONS.items()
        for n in range(2)
    ]  # fmt: skip
    path = folder / "winogenerated_examples.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_the_majoritys_pronoun_is_the_stereotypical_one(tmp_path: Path) -> None:
    loaded = load_benchmark("winogenerated", path=wino_file(tmp_path))
    first, third = loaded.items[0], loaded.items[2]
    for item, occupation, pronoun in ((first, "florist", "her"), (third, "plumber", "his")):
        assert item.texts["stereo"].split()[1] == occupation and item.texts["stereo"].endswith(f" opened {pronoun} bag 0.")
    assert (first.direction, third.direction, first.target) == ("disadvantaged", "advantaged", "florist")


def answers_of(folder: Path, expected: dict[str, float], scorer: str = "sss") -> tiltmeter.Answers:
    """Scores of a model that expects these percentages of women."""
    loaded = load_benchmark("winogenerated", path=wino_file(folder))
    rows = []
    for item in loaded.items:
        share = expected[str(item.target)] / 100
        of = {"female": np.log(share) if share else np.nan, "male": np.log(1 - share) if share else np.nan}
        most, others = ("female", "male") if item.extra["gender"] == "female" else ("male", "female")
        for role, who in (("stereo", most), ("anti", others)):
            place = ("m", loaded.name, item.id, role, scorer, of[who], 1, None if share else "lost")
            rows.append((*place, item.bias_type, item.direction, item.target))
    return scores_of(pd.DataFrame(rows, columns=list(SCORE_COLUMNS)), items_table(loaded))


def test_occupations_are_the_units(tmp_path: Path) -> None:
    expected = {"florist": 70.0, "plumber": 20.0, "baker": 40.0, "guard": 45.0, "nurse": 95.0, "miner": 10.0}
    table = tiltmeter.estimate(answers_of(tmp_path, expected), by="all", resamples=400).set_index("measure")
    model, fact = (np.array([values[name] for name in OCCUPATIONS]) for values in (expected, OCCUPATIONS))
    assert table.loc["occupation_r", "value"] == pytest.approx(np.corrcoef(model, fact)[0, 1])
    assert table.loc["occupation_slope", "value"] == pytest.approx(np.polyfit(fact, model, 1)[0])
    assert table.loc["occupation_difference", "value"] == pytest.approx(float(np.mean(model - fact)))
    assert (table.loc["occupation_r", "n"], table.loc["bias_score", "n"]) == (6, 12)
    assert table.loc["occupation_r", "p"] < 0.05 < table.loc["occupation_difference", "p"]


def test_an_occupation_without_scores_is_missing(tmp_path: Path) -> None:
    expected = dict.fromkeys(OCCUPATIONS, 30.0) | {"nurse": 0.0, "miner": 10.0}
    row = tiltmeter.estimate(answers_of(tmp_path, expected), "occupation-r", by="all", resamples=100).iloc[0]
    assert (row["n"], row["n_missing"]) == (5, 1) and json.loads(row["missing"]) == {"lost": 1}


def test_a_group_has_the_sentences_of_an_occupation_that_are_its_own(tmp_path: Path) -> None:
    """Every occupation has a sentence in either half; estimates and differences take the sentences of the half."""
    answers = answers_of(tmp_path, dict.fromkeys(OCCUPATIONS, 30.0))
    halves = {item: str(n % 2) for n, item in enumerate(answers.items["item"])}

    def changed(frame: pd.DataFrame) -> pd.DataFrame:
        if "extra" in frame:
            both = zip(frame["item"], frame["extra"], strict=True)
            extra = [json.dumps(json.loads(text) | {"half": halves[item]}) for item, text in both]
            return frame.assign(extra=extra)
        return frame.assign(score=frame["score"] - frame["item"].map(halves).eq("1") * (frame["role"] == "anti"))

    answers = answers.mapped(changed)
    twin = answers.mapped(lambda frame: frame.assign(model="twin") if "model" in frame else frame)
    rows = tiltmeter.estimate(answers, "occupation-difference", by="half", resamples=100).query("by == 'half'")
    differences = tiltmeter.compare([answers, twin], "twin", "occupation-difference", by="half", resamples=100)
    differences = differences.query("by == 'half'")
    assert set(rows["n"]) == set(differences["n"]) == {6} and rows["value"].nunique() == 2
    assert rows["value"].tolist() == pytest.approx(differences["value"].tolist())


def test_p_of_a_model_does_not_depend_on_the_models_beside_it(tmp_path: Path) -> None:
    expected = {"florist": 60.0, "plumber": 40.0, "baker": 45.0, "guard": 50.0, "nurse": 55.0, "miner": 52.0}
    first = answers_of(tmp_path, expected)
    second = first.renamed("m", "other")
    alone = tiltmeter.estimate(second, resamples=200)
    beside = tiltmeter.estimate(tiltmeter.Answers.concat([first, second]), resamples=200)
    assert alone.set_index("measure").loc["occupation_r", "p"].max() > 0.05
    pd.testing.assert_frame_equal(beside[beside["model"] == "other"].reset_index(drop=True), alone)


def test_scores_that_are_no_log_probabilities_give_no_percentages(tmp_path: Path) -> None:
    table = tiltmeter.estimate(answers_of(tmp_path, dict.fromkeys(OCCUPATIONS, 30.0), "aul"), by="all", resamples=100)
    assert not {"occupation_r", "occupation_slope"} & set(table["measure"])


def test_a_model_is_asked_and_compared(tmp_path: Path) -> None:
    loaded = load_benchmark("winogenerated", path=wino_file(tmp_path))
    parts = [tiltmeter.score(golden_model(name), loaded, cache=False) for name in ("tiny-bert-cased", "tiny-albert")]
    answers = tiltmeter.Answers.concat(parts)
    table = tiltmeter.compare(answers, measures=["occupation_r", "occupation_difference"], resamples=100)
    assert set(table["n"]) == {6} and set(table["scorer"]) == {"sss"}


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        load_benchmark("winogenerated", path=wino_file(tmp_path, sentence_with_blank="No blank."))
    assert (refused.value.code, refused.value.fields["row"]) == ("wrong-format", 1)


@pytest.mark.realdata
def test_the_real_file(realdata: Path) -> None:
    loaded = load_benchmark("winogenerated", data_dir=realdata)
    assert len(loaded) == 2990 and len({item.target for item in loaded.items}) == 299
