"""Scorers, measures and benchmarks in single files: loaded by `-s` and `-b`, versioned by content, cited by their BIBTEX."""

from __future__ import annotations

from pathlib import Path

import pytest

import tiltmeter
from conftest import GOLDEN
from test_cli import tiltmeter as command
from tiltmeter import catalog
from tiltmeter.errors import InputError, UsageError
from tiltmeter.exports.citations import cite

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


MEASURE = """import numpy as np
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
    path.write_text(MEASURE.replace("BODY", body))
    with pytest.raises(UsageError) as caught:
        catalog.find("measures", str(path))
    assert caught.value.code == "broken-package" and "\n" not in str(caught.value)


def test_a_measure_of_rows_is_accepted_and_an_unknown_field_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(MEASURE.replace("BODY", "np.mean(stereo - anti, axis=-1)"))
    assert catalog.find("measures", str(path)).name == "own"
    path.write_text(MEASURE.replace("neutral=0.0", 'neutral=0.0, unitt="nats"'))
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
    path.write_text(MEASURE.replace("BODY", "np.mean(stereo - anti)"))
    words = ["run", "-m", str(MODEL), "-b", "starter-pairs", "-s", "aul", "--measure", str(path), "-o", str(out)]
    assert command(*words, "--no-report") == 2
    assert not out.exists()
