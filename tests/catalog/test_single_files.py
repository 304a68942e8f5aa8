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
