"""A study that lacks what it needs says exactly that, and exits with 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiltmeter
from conftest import GOLDEN
from study_material import frequency_list, made_up, noise, small_run
from test_cli import tiltmeter as command
from tiltmeter import Answers, TiltmeterError

BERT = str(GOLDEN / "models" / "tiny-bert-cased")


def one_model(**how: Any) -> Answers:
    return made_up({("m", "s"): (noise(30), noise(30, 1))}, **how)


def refusal(name: str, runs: Any, **options: Any) -> str:
    with pytest.raises(TiltmeterError) as error:
        shared = {key: options.pop(key) for key in ("scorers", "without") if key in options}
        tiltmeter.study(name, runs, **shared, options=options)
    return str(error.value)


def test_one_model_has_no_ranking() -> None:
    assert refusal("robustness", one_model()) == "robustness needs at least 2 models to rank, and these runs have only m."


def test_models_without_a_common_scorer() -> None:
    scores = Answers.concat(
        [made_up({("m", "cps"): (noise(9), noise(9, 1))}), made_up({("k", "causal"): (noise(9), noise(9, 1))})]
    )
    assert "no two models share a benchmark and a scorer" in refusal("robustness", scores)


def test_equal_models_have_no_ranking() -> None:
    sides = noise(9), noise(9, 1)
    message = refusal("robustness", made_up({("m", "s"): sides, ("k", "s"): sides}), measure=["bias_score"])
    assert message == ("robustness: the models cannot be ranked, because all have the same bias_score by s on b.")
    almost = made_up({("m", "s"): sides, ("k", "s"): (sides[0] * 2, sides[1] * 2)})
    said = tiltmeter.study("robustness", almost, options={"repeats": 5}).sentences
    assert said[-1] == "Left out, because the value is the same for every model: bias_score by s on b, kls by s on b."


def test_no_annotations() -> None:
    message = refusal("agreement", one_model())
    assert message.startswith("agreement needs annotations, and the items of b have none.") and "--annotations" in message
    message = refusal("quality", one_model(), flag=["disagreement"])
    assert "cannot be computed for b: its items have no annotations" in message


def test_all_pairs_of_one_label() -> None:
    scores = one_model(annotations=[[["a"]] * 5] * 30)
    assert "b has 30 biased and 0 other pairs" in refusal("agreement", scores)
    assert "must be 1 to 5" in refusal("agreement", scores, threshold=6)


@pytest.mark.parametrize("name", ["normality", "correlation", "power"])
def test_fewer_than_three_items_in_a_type(name: str) -> None:
    message = refusal(name, one_model(types=["a"] * 28 + ["tiny"] * 2))
    assert f"{name} needs at least 3 complete pairs of each bias type, and 'tiny' has 2." in message
    assert "--without tiny" in message


def test_missing_scores_do_not_count_as_items() -> None:
    stereo = noise(30)
    stereo[:28] = np.nan
    assert "'a' has 2" in refusal("normality", made_up({("m", "s"): (stereo, noise(30, 1))}))


def test_constant_scores() -> None:
    message = refusal("normality", made_up({("m", "s"): (np.full(9, 2.5), noise(9))}))
    assert message == ("normality needs scores that vary, and all stereo scores of the bias type 'a' are 2.5 (m on b by s).")
    sides = {("m", "s"): (np.full(9, 2.5), noise(9)), ("k", "s"): (noise(9, 2), noise(9, 3))}
    assert "scores that vary" in refusal("robustness", made_up(sides), measure=["kls"])


def test_no_pair_of_one_side() -> None:
    assert "no stereotypical sentence scores lower" in refusal("pll_gap", made_up({("m", "s"): ([3, 4, 5], [1, 1, 1])}))


def test_scores_without_tokens() -> None:
    for name in ("accuracy", "shuffling"):
        message = refusal(name, one_model())
        assert "m on b has no" in message and ("imported" in message or "--no-cache" in message)


def test_the_unmasked_view_is_missing(tmp_path: Path) -> None:
    assert (
        command(
            "run", "-m", BERT, "-b", "starter-pairs", "-o", tmp_path / "r", "--resamples", 100, "-s", "cps", "--limit", 5
        )
        == 0
    )
    message = refusal("accuracy", tmp_path / "r")
    assert message.endswith("tiny-bert-cased on starter-pairs has no unmasked view. Score it with aul or aula too.")
    assert "has no stored unmasked view" in refusal("shuffling", tmp_path / "r")
    assert "no scores by all_masked, aul, aula" in refusal("frequency", tmp_path / "r")


def test_only_the_unmasked_view(tmp_path: Path) -> None:
    assert (
        command(
            "run", "-m", BERT, "-b", "starter-pairs", "-o", tmp_path / "r", "--resamples", 100, "-s", "aul", "--limit", 5
        )
        == 0
    )
    assert "has only the unmasked view" in refusal("accuracy", tmp_path / "r")


def test_the_model_has_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    shutil.copytree(BERT, tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    assert (
        command("run", "-m", "./mine", "-b", "starter-pairs", "-o", "r", "--resamples", 100, "-s", "aul", "--limit", 5) == 0
    )
    (tmp_path / "mine").rename(tmp_path / "yours")
    assert "Give its new place with --model" in refusal("shuffling", "r", resamples=100)
    assert command("study", "shuffling", "r", "--model", "yours", "--resamples", 100) == 0
    shutil.copytree(GOLDEN / "models" / "tiny-albert", tmp_path / "mine")
    assert "other weights than in the run" in refusal("shuffling", "r", resamples=100)


def test_causal_models_cannot_be_asked_with_shuffled_sentences(tmp_path: Path) -> None:
    model = GOLDEN / "models" / "tiny-gpt2"
    assert command("run", "-m", model, "-b", "starter-pairs", "-o", tmp_path / "r", "--resamples", 100, "--limit", 5) == 0
    assert "these runs have none" in refusal("shuffling", tmp_path / "r")
    assert set(tiltmeter.study("accuracy", tmp_path / "r", options={"resamples": 100}).table["style"]) == {"causal"}


def test_directions_are_needed() -> None:
    scores = made_up({("m", name): (noise(9), noise(9, 1)) for name in ("all_masked", "aul", "aula")})
    assert "b has no such marks" in refusal("frequency", scores)


def test_frequencies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "wordfreq", None)
    assert "wordfreq is not installed" in refusal("frequency", small_run(), frequencies="wordfreq")
    assert "tiltmeter's list is English" in refusal("frequency", small_run(), language="de")
    assert "There is no file" in refusal("frequency", small_run(), frequencies="nowhere.tsv")
    assert "not both" in refusal("frequency", small_run(), frequencies="a", corpus="b")
    (tmp_path / "prose.txt").write_text("Nothing to count here whatsoever, my dear.\n")
    assert "is not a frequency list" in refusal("frequency", small_run(), frequencies=str(tmp_path / "prose.txt"))
    (tmp_path / "empty.txt").write_text("\n")
    assert "None of the benchmark's words" in refusal("frequency", small_run(), corpus=str(tmp_path / "empty.txt"))
    few = refusal("frequency", small_run(), frequencies=str(frequency_list()), least=2)
    assert "no word for the" in few and "Lower --least, or leave" in few and "--without" in few
    assert "no word is in at least 50 pairs" in refusal("frequency", small_run(), least=50)
    assert "must be at least 1" in refusal("frequency", small_run(), top=0)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("robustness", {"rates": [1.5]}, "A rate must be between 0 and 1, such as 0.3, not 1.5."),
        ("robustness", {"repeats": 1}, "--repeats must be at least 2, not 1"),
        ("robustness", {"measure": ["nothing"]}, "Unknown measure 'nothing'"),
        ("pll_gap", {"resamples": 5}, "5 resamples are too few"),
        ("power", {"wanted": 1.5}, "a power of at least 0.5 and below 1"),
        ("power", {"measure": ["lms"]}, "lms needs stereo, anti, unrelated, target"),
        ("correlation", {"over": "weeks"}, "--over must be types or models, not 'weeks'."),
        ("correlation", {"over": "models"}, "correlation needs at least 3 points (models) on b; there are 2."),
        ("correlation", {"neighbours": 0}, "must be at least 1, not 0"),
        ("quality", {"flag": ["ugly"]}, "There is no flag 'ugly'. Flags: several_spans"),
        ("normality", {"colour": 1}, "The study normality has no option 'colour'. Options: draw, alpha, subsample"),
        ("nothing", {}, "Available studies: accuracy"),
        ("normality", {"scorers": "aul"}, "No scores by aul in these runs."),
        ("accuracy", {"scorers": "s"}, "The study accuracy reads tokens, not scores, so scorers cannot be chosen."),
        ("normality", {"without": "q"}, "There is no bias type 'q' to leave out. Bias types: a."),
        ("normality", {"without": "a"}, "so nothing remains"),
    ],
)
def test_options_that_mean_nothing(name: str, options: dict[str, Any], said: str) -> None:
    two = made_up({("m", "s"): (noise(30), noise(30, 1)), ("k", "s"): (noise(30, 2), noise(30, 3))})
    assert said in refusal(name, two, **options)


def test_every_item_flagged() -> None:
    same = [("Same.", "Same.")] * 30
    assert "every item of b is flagged" in refusal("quality", one_model(texts=same))


def test_a_table_with_holes_is_refused() -> None:
    import pandas as pd

    with pytest.raises(TiltmeterError, match=r"s: 'value' cannot be computed for m, aul"):
        tiltmeter.Finding("s", {"t": pd.DataFrame({"model": ["m"], "scorer": ["aul"], "value": [np.nan]})}, {}, ())
    with pytest.raises(TiltmeterError, match="would be empty"):
        tiltmeter.Finding("s", {"t": pd.DataFrame()}, {}, ())
    with pytest.raises(TiltmeterError, match="has no figure 'x'"):
        tiltmeter.Finding("s", {"t": pd.DataFrame({"a": [1]})}, {}, ()).draw("x")


def test_the_command_line_exits_with_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = one_model().save(tmp_path / "run")
    (tmp_path / "file").write_text("")
    for words, said in (
        (("robustness", run), "these runs have only m."),
        (("agreement", run), "agreement needs annotations"),
        (("normality", tmp_path / "nowhere"), "There is no run folder"),
        (("normality", run, "-o", tmp_path / "file"), "is a file; -o names a folder."),
        (("nonsense", run), "'nonsense'"),
        (("normality",), "runs"),
        (("normality", run, "--wrong"), "No such option"),
    ):
        assert command("study", *words) == 2
        assert said in " ".join(capsys.readouterr().err.split())
    assert not (run / "studies").exists()  # a refusal leaves nothing behind
