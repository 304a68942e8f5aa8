"""Scorers, measures and benchmarks in single files: loaded by `-s` and `-b`, versioned by content, cited by their BIBTEX."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tiltmeter
from conftest import GOLDEN
from support.raising import raises
from support.wording import codes_of
from test_cli import tiltmeter as command
from tiltmeter import catalog
from tiltmeter.errors import InputError, UsageError
from tiltmeter.exports.citations import cite
from tiltmeter.reporting.narratives import stories_of
from tiltmeter.runs.file_measures import refuse_without_file, unloaded_measures

MODEL = GOLDEN / "models" / "tiny-bert-cased"
SCORER = '''"""Half of AUL."""
from tiltmeter.scorers import Scorer
from tiltmeter.scorers.kit.tokens import Scored, Tokens

SCORER = Scorer(view="unmasked", cites="Nobody (2026), Half a score.")
BIBTEX = "@misc{nobody2026, title = {Half a score}, year = {2026}}"


def half_aul(tokens: Tokens) -> Scored:
    """Half of the mean."""
    return tokens.mean(FACTOR * tokens.logprob)
'''
BENCHMARK = '''"""Two pairs."""
from tiltmeter.benchmarks.kit.items import Item, make_benchmark

CITATION = "Nobody (2026)."


def two_pairs():
    """Two pairs."""
    rows = [(str(n), Item(str(n), {"stereo": f"the cat {n} sat", "anti": f"the dog {n} sat"}, "animal")) for n in range(2)]
    return make_benchmark("two-pairs", rows, source="two_pairs.py", sha256="", citation=CITATION)
'''


@pytest.fixture(autouse=True)
def forget() -> object:
    yield
    catalog.forget()


def test_a_scorer_and_a_benchmark_in_files(tmp_path: Path) -> None:
    scorer, bench = tmp_path / "half_aul.py", tmp_path / "two_pairs.py"
    scorer.write_text(SCORER.replace("FACTOR", "0.5"))
    bench.write_text(BENCHMARK)
    out = str(tmp_path / "run")
    words = ["run", "-m", str(MODEL), "-b", str(bench), "-s", str(scorer), "-s", "aul", "-o", out, "--no-report"]
    assert command(*words) == 0
    run = tiltmeter.runs.load_run(out)
    scores = run.answers["pairs"].table.pivot(index=["item", "role"], columns="scorer", values="score")
    assert list(scores.columns) == ["aul", "half_aul"] and (abs(scores["half_aul"] - scores["aul"] / 2) < 1e-6).all()
    assert "nobody2026" in cite(run)


def test_another_content_is_another_version(tmp_path: Path) -> None:
    path = tmp_path / "half_aul.py"
    path.write_text(SCORER.replace("FACTOR", "0.5"))
    first = catalog.find("scorers", str(path))
    path.write_text(SCORER.replace("FACTOR", "0.25"))
    assert catalog.find("scorers", str(path)).version != first.version and first.name == "half_aul"


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "aul.py").write_text(SCORER)
    (tmp_path / "broken.py").write_text("raise ValueError('no')")
    with pytest.raises(UsageError) as taken:
        catalog.find("scorers", str(tmp_path / "aul.py"))
    assert taken.value.code == "duplicate-name"
    for name, code in (("broken.py", "broken-package"), ("nowhere.py", "missing-file")):
        with pytest.raises(InputError) as caught:
            catalog.find("scorers", str(tmp_path / name))
        assert caught.value.code == code


FORM = """import numpy as np
from tiltmeter.measures import Measure
MEASURE = Measure(reads=("stereo", "anti"), cites="x", neutral=0.0, role="bias", direction="two-sided")
def own(stereo, anti): return BODY
"""


@pytest.mark.parametrize(
    "body",
    ["np.mean(stereo - anti)", "np.full(stereo.shape[:-1], np.mean(stereo - anti))", "stereo - anti", "stereo.nothing"],
)
def test_a_measure_must_give_each_row_its_own_value(tmp_path: Path, body: str) -> None:
    path = tmp_path / "own.py"
    path.write_text(FORM.replace("BODY", body))
    with pytest.raises(UsageError) as caught:
        catalog.find("measures", str(path))
    assert caught.value.code == "broken-package" and "\n" not in str(caught.value)


def test_a_measure_of_rows_is_accepted_and_an_unknown_field_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(FORM.replace("BODY", "np.mean(stereo - anti, axis=-1)"))
    assert catalog.find("measures", str(path)).name == "own"
    path.write_text(FORM.replace("neutral=0.0", 'neutral=0.0, unitt="nats"'))
    with pytest.raises(InputError) as caught:
        catalog.find("measures", str(path))
    assert "'unit'" in str(caught.value)


@pytest.mark.parametrize("change", [("tokens.mean(FACTOR * tokens.logprob)", "tokens.logprob"), ("unmasked", "masked")])
def test_a_scorer_that_cannot_score_ends_before_inference(
    tmp_path: Path, change: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "half_aul.py", tmp_path / "run"
    path.write_text(SCORER.replace(*change).replace("FACTOR", "1"))
    assert command("run", "-m", str(MODEL), "-b", "starter-pairs", "-s", str(path), "-o", str(out), "--no-report") == 2
    assert not out.exists() and "Traceback" not in capsys.readouterr().err


def test_a_measure_that_fails_ends_before_inference(tmp_path: Path) -> None:
    path, out = tmp_path / "own.py", tmp_path / "run"
    path.write_text(FORM.replace("BODY", "np.mean(stereo - anti)"))
    words = ["run", "-m", str(MODEL), "-b", "starter-pairs", "-s", "aul", "--measure", str(path), "-o", str(out)]
    assert command(*words, "--no-report") == 2
    assert not out.exists()


MEASURE = '''"""The mean difference."""
import numpy as np
from tiltmeter.measures import Measure

MEASURE = Measure(
    reads=("stereo", "anti"), cites="Nobody.", neutral=0.0, unit="nats", role="bias", direction="two-sided", leans=True
)


def own_gap(stereo, anti):
    """Return the mean."""
    return np.mean(stereo - anti, axis=-1)
'''


@pytest.fixture
def run_with_own_measure(tmp_path: Path) -> tuple[str, str]:
    """A run with a measure from a file, read by a program that has not loaded the file."""
    file, out = tmp_path / "own_gap.py", str(tmp_path / "run")
    file.write_text(MEASURE)
    words = ["--measure", str(file), "--measure", "bias_score", "-o", out, "--no-report"]
    assert command("run", "-m", str(MODEL), "-b", "starter-pairs", "-s", "aul", *words) == 0
    catalog.forget()
    return out, str(file)


def test_a_stored_measure_is_not_silently_left_out(
    run_with_own_measure: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    run, file = run_with_own_measure
    assert unloaded_measures([run]) == {"own_gap": file}
    capsys.readouterr()
    assert command("estimate", run) == 0
    assert f"--measure {file}" in "".join(capsys.readouterr().err.split("\n"))
    with raises("missing-value", measure="own_gap", file=file):
        refuse_without_file([run], ["own-gap"])
    assert command("estimate", run, "--measure", file) == 0 and not unloaded_measures([run])
    assert "own_gap" in capsys.readouterr().out


def test_a_measure_of_ones_own_says_the_direction_that_it_declares(run_with_own_measure: tuple[str, str]) -> None:
    run, file = run_with_own_measure
    table = tiltmeter.load_run(run).estimates
    own = table[table["measure"] == "own_gap"]
    (story,) = stories_of(own)
    assert codes_of([story.verdict, *story.sentences]) == ["no-lean-computed", "no-direction"]  # nothing is known of it
    catalog.find("measures", file)
    (story,) = stories_of(own)
    assert story.verdict.code == story.tone in ("towards", "unsure") and story.head["measure"] == "own_gap"
    assert codes_of(story.sentences[:1]) == ["lean-by-another-measure"] and story.number.endswith(" nats")
    (story,) = stories_of(table)
    assert story.head["measure"] == "bias_score"


def test_a_rule_on_a_measure_from_a_file(run_with_own_measure: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    run, file = run_with_own_measure
    rule = ["--rule", "own_gap[aul,starter-pairs] within -99..99"]
    assert command("check", run, *rule) == 2
    capsys.readouterr()
    assert command("check", run, *rule, "--measure", file, "--json") == 0
    assert json.loads(capsys.readouterr().out)["exit_code"] == 0
    assert command("check", run, *rule, "--measure", "bias_score") == 2


def test_a_long_list_of_names_is_cut() -> None:
    with raises("unknown-name", name="bias_scores") as caught:
        catalog.find("measures", "bias_scores")
    assert "bias_score" in catalog.meant("measures", "bias_scores")
    assert str(caught.value).count(",") < len(catalog.names("measures")) / 4 and "--measure" in str(caught.value)


def test_the_declaration_of_a_file_is_named_by_its_file(tmp_path: Path) -> None:
    file = tmp_path / "own_gap.py"
    file.write_text("def own_gap(stereo, anti):\n    return 0\n")
    with raises("broken-package", package=file) as caught:
        catalog.find("measures", str(file))
    assert "package" not in str(caught.value).replace(str(tmp_path), "") and not str(caught.value).endswith("..")
