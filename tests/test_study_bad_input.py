"""A study that lacks what it needs says exactly that, and exits with 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiltmeter
from conftest import GOLDEN
from study_material import frequency_list, made_up, noise, small_run
from support.raising import check, raises
from test_cli import refused
from test_cli import tiltmeter as command
from tiltmeter import Answers, TiltmeterError

BERT = str(GOLDEN / "models" / "tiny-bert-cased")


def one_model(**how: Any) -> Answers:
    return made_up({("m", "s"): (noise(30), noise(30, 1))}, **how)


def refusal(name: str, runs: Any, **options: Any) -> TiltmeterError:
    with pytest.raises(TiltmeterError) as error:
        shared = {key: options.pop(key) for key in ("scorers", "without") if key in options}
        tiltmeter.study(name, runs, **shared, options=options)
    return error.value


def test_one_model_has_no_ranking() -> None:
    error = refusal("robustness", one_model())
    check(error, "too-few", study="robustness", least=2, models=["m"])


def test_models_without_a_common_scorer() -> None:
    scores = Answers.concat(
        [made_up({("m", "cps"): (noise(9), noise(9, 1))}), made_up({("k", "causal"): (noise(9), noise(9, 1))})]
    )
    check(refusal("robustness", scores), "empty-selection", models=["m", "k"])


def test_equal_models_have_no_ranking() -> None:
    sides = noise(9), noise(9, 1)
    error = refusal("robustness", made_up({("m", "s"): sides, ("k", "s"): sides}), measure=["bias_score"])
    check(error, "undefined-result", study="robustness", measure="bias_score by s on b")
    almost = made_up({("m", "s"): sides, ("k", "s"): (sides[0] * 2, sides[1] * 2)})
    said = tiltmeter.study("robustness", almost, options={"repeats": 5}).sentences
    assert said[-1].partition(": ")[2].removesuffix(".").split(", ") == ["bias_score by s on b", "kls by s on b"]


def test_no_annotations() -> None:
    error = refusal("agreement", one_model())
    check(error, "missing-column", column="annotations", benchmarks=["b"])
    assert "--annotations" in str(error)
    error = refusal("quality", one_model(), flag=["disagreement"])
    check(error, "missing-column", study="quality", flag="disagreement", benchmark="b")


def test_all_pairs_of_one_label() -> None:
    scores = one_model(annotations=[[["a"]] * 5] * 30)
    check(refusal("agreement", scores), "too-few", benchmark="b", biased=30, other=0)
    check(refusal("agreement", scores, threshold=6), "out-of-range", option="threshold", value=6, low=1, high=5)


@pytest.mark.parametrize("name", ["normality", "correlation", "power"])
def test_fewer_than_three_items_in_a_type(name: str) -> None:
    error = refusal(name, one_model(types=["a"] * 28 + ["tiny"] * 2))
    check(error, "too-few", study=name, bias_types=["tiny"], items=[2])
    assert "--without tiny" in str(error)


def test_missing_scores_do_not_count_as_items() -> None:
    stereo = noise(30)
    stereo[:28] = np.nan
    check(refusal("normality", made_up({("m", "s"): (stereo, noise(30, 1))})), "too-few", bias_types=["a"], items=[2])


def test_constant_scores() -> None:
    error = refusal("normality", made_up({("m", "s"): (np.full(9, 2.5), noise(9))}))
    check(error, "undefined-result", study="normality")
    assert "2.5 (m on b by s)" in str(error)
    sides = {("m", "s"): (np.full(9, 2.5), noise(9)), ("k", "s"): (noise(9, 2), noise(9, 3))}
    assert "scores that vary" in str(refusal("robustness", made_up(sides), measure=["kls"]))


def test_no_pair_of_one_side() -> None:
    error = refusal("pll_gap", made_up({("m", "s"): ([3, 4, 5], [1, 1, 1])}))
    check(error, "undefined-result", study="pll-gap", side="lower or equal")


def test_scores_without_tokens() -> None:
    for name in ("accuracy", "shuffling"):
        error = refusal(name, one_model())
        check(error, "missing-answers", study=name, model="m", benchmark="b")
        assert "imported" in str(error) or "--no-cache" in str(error)


def test_the_unmasked_view_is_missing(tmp_path: Path) -> None:
    assert (
        command(
            "run", "-m", BERT, "-b", "starter-pairs", "-o", tmp_path / "r", "--resamples", 100, "-s", "cps", "--limit", 5
        )
        == 0
    )
    for name in ("accuracy", "shuffling"):
        error = refusal(name, tmp_path / "r")
        check(error, "missing-answers", study=name, benchmark="starter-pairs", scorers=["aul", "aula"])
    check(refusal("frequency", tmp_path / "r"), "missing-answers", scorers=["all_masked", "aul", "aula"])


def test_only_the_unmasked_view(tmp_path: Path) -> None:
    assert (
        command(
            "run", "-m", BERT, "-b", "starter-pairs", "-o", tmp_path / "r", "--resamples", 100, "-s", "aul", "--limit", 5
        )
        == 0
    )
    check(refusal("accuracy", tmp_path / "r"), "missing-answers", study="accuracy", scorers=["cps", "sss"])


def test_the_model_has_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    shutil.copytree(BERT, tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    assert (
        command("run", "-m", "./mine", "-b", "starter-pairs", "-o", "r", "--resamples", 100, "-s", "aul", "--limit", 5) == 0
    )
    (tmp_path / "mine").rename(tmp_path / "yours")
    error = refusal("shuffling", "r", resamples=100)
    check(error, "missing-model", study="shuffling")
    assert "--model" in str(error)
    assert command("study", "shuffling", "r", "--model", "yours", "--resamples", 100) == 0
    shutil.copytree(GOLDEN / "models" / "tiny-albert", tmp_path / "mine")
    check(refusal("shuffling", "r", resamples=100), "model-changed", study="shuffling")


def test_causal_models_cannot_be_asked_with_shuffled_sentences(tmp_path: Path) -> None:
    model = GOLDEN / "models" / "tiny-gpt2"
    assert command("run", "-m", model, "-b", "starter-pairs", "-o", tmp_path / "r", "--resamples", 100, "--limit", 5) == 0
    check(refusal("shuffling", tmp_path / "r"), "wrong-model-kind", study="shuffling", kind="masked")
    assert set(tiltmeter.study("accuracy", tmp_path / "r", options={"resamples": 100}).table["style"]) == {"causal"}


def test_directions_are_needed() -> None:
    scores = made_up({("m", name): (noise(9), noise(9, 1)) for name in ("all_masked", "aul", "aula")})
    check(refusal("frequency", scores), "missing-column", study="frequency", column="direction", benchmarks=["b"])


def test_frequencies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "wordfreq", None)

    def refused(**options: Any) -> TiltmeterError:
        return refusal("frequency", small_run(), **options)

    check(refused(frequencies="wordfreq"), "missing-package", package="wordfreq")
    check(refused(language="de"), "unknown-name", option="language", name="de")
    check(refused(frequencies="nowhere.tsv"), "missing-file", file="nowhere.tsv")
    check(refused(frequencies="a", corpus="b"), "conflicting-options", options=["frequencies", "corpus"])
    (tmp_path / "prose.txt").write_text("Nothing to count here whatsoever, my dear.\n")
    check(refused(frequencies=str(tmp_path / "prose.txt")), "wrong-format", file=tmp_path / "prose.txt")
    (tmp_path / "empty.txt").write_text("\n")
    check(refused(corpus=str(tmp_path / "empty.txt")), "empty-selection", file=tmp_path / "empty.txt")
    few = refused(frequencies=str(frequency_list()), group_words="rule", least=2)
    check(few, "too-few", least=2)
    assert few.fields["bias_types"] and "--without" in str(few)
    check(refused(group_words="rule", least=50), "too-few", least=50)
    check(refused(top=0), "out-of-range", option="top", value=0, low=1)


def two_models() -> Answers:
    return made_up({("m", "s"): (noise(30), noise(30, 1)), ("k", "s"): (noise(30, 2), noise(30, 3))})


@pytest.mark.parametrize(
    ("name", "options", "code", "fields"),
    [
        ("robustness", {"measure": ["nothing"]}, "unknown-name", {"name": "nothing"}),
        ("pll_gap", {"resamples": 5}, "out-of-range", {"option": "resamples", "value": 5}),
        ("power", {"wanted": 1.5}, "out-of-range", {"power": 1.5}),
        ("power", {"measure": ["lms"]}, "missing-column", {"columns": ["stereo", "anti", "unrelated", "target"]}),
        ("correlation", {"over": "weeks"}, "unknown-name", {"option": "--over", "name": "weeks"}),
        ("correlation", {"over": "models"}, "too-few", {"benchmark": "b", "least": 3, "points": 2}),
        ("correlation", {"neighbours": 0}, "out-of-range", {"option": "neighbours", "value": 0, "low": 1}),
        ("quality", {"flag": ["ugly"]}, "unknown-name", {"option": "flag", "name": "ugly"}),
    ],
)
def test_options_that_mean_nothing(name: str, options: dict[str, Any], code: str, fields: dict[str, Any]) -> None:
    check(refusal(name, two_models(), **options), code, **fields)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("robustness", {"rates": [1.5]}, "not 1.5"),
        ("robustness", {"repeats": 1}, "at least 2"),
        ("normality", {"colour": 1}, "'colour'"),
        ("nothing", {}, "accuracy"),
        ("normality", {"scorers": "aul"}, "aul"),
        ("accuracy", {"scorers": "s"}, "reads tokens"),
        ("normality", {"without": "q"}, "'q'"),
        ("normality", {"without": "a"}, "left out"),
    ],
)
def test_options_of_all_studies_that_mean_nothing(name: str, options: dict[str, Any], said: str) -> None:
    assert said in str(refusal(name, two_models(), **options))


def test_every_item_flagged() -> None:
    same = [("Same.", "Same.")] * 30
    check(refusal("quality", one_model(texts=same)), "empty-selection", study="quality", benchmark="b")


def test_a_table_with_holes_is_refused() -> None:
    import pandas as pd

    with pytest.raises(TiltmeterError, match=r"'value'.* m, aul"):
        tiltmeter.Finding("s", {"t": pd.DataFrame({"model": ["m"], "scorer": ["aul"], "value": [np.nan]})}, {}, ())
    with pytest.raises(TiltmeterError, match="would be empty"):
        tiltmeter.Finding("s", {"t": pd.DataFrame()}, {}, ())
    with raises("unknown-name", kind="figure", name="x", study="s"):
        tiltmeter.Finding("s", {"t": pd.DataFrame({"a": [1]})}, {}, ()).draw("x")


def test_the_command_line_exits_with_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = one_model().save(tmp_path / "run")
    (tmp_path / "file").write_text("")
    for words, code in (
        (("robustness", run), "too-few"),
        (("agreement", run), "missing-column"),
        (("normality", tmp_path / "nowhere"), "missing-file"),
        (("normality", run, "-o", tmp_path / "file"), "not-a-folder"),
    ):
        assert refused("study", *words).code == code
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
    for usage, said in (
        (("nonsense", run), "'nonsense'"),
        (("normality",), "RUNS"),
        (("normality", run, "--wrong"), "--wrong"),
    ):
        assert command("study", *usage) == 2
        assert said in capsys.readouterr().err
    assert not (run / "studies").exists()  # a refusal leaves nothing behind
