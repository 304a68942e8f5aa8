"""Tables for papers (wide layout, level of the intervals, no repeated names) and the baseline of a report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tiltmeter
from conftest import GOLDEN
from support.raising import raises
from test_cli import tiltmeter as command
from tiltmeter.reporting.html.comparison import compared
from tiltmeter.reporting.html.material import gather

MODELS = [GOLDEN / "models" / name for name in ("tiny-bert-cased", "tiny-roberta")]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "run"
    models = [str(model) for model in MODELS]
    tiltmeter.run(models, "starter-pairs", ["aul", "cps"], "bias_score", folder, confidence=0.9, resamples=200, cache=False)
    return folder


def rows_of(file: Path) -> list[list[str]]:
    lines = [line for line in file.read_text().splitlines() if line.endswith(r"\\")]
    return [[cell.strip() for cell in line.removesuffix(r"\\").split("&")] for line in lines]


def test_scorers_as_columns(run: Path, tmp_path: Path) -> None:
    assert command("table", "estimates", str(run), "--columns", "scorer", "-o", str(tmp_path / "wide.tex")) == 0
    head, *rows = rows_of(tmp_path / "wide.tex")
    assert head == ["model", "aul", "cps", "n", "missing"] and [row[0] for row in rows] == [
        "tiny-bert-cased",
        "tiny-roberta",
    ]
    estimates = tiltmeter.load_run(run).estimates
    first = estimates[(estimates["scorer"] == "cps") & (estimates["by"] == "all")]["value"].iloc[0]
    assert rows[0][2].startswith(f"{first:.2f}")
    assert command("table", "estimates", str(run), "--columns", "colour", "-o", str(tmp_path / "no.tex")) == 2
    assert not (tmp_path / "no.tex").exists()


OWN = '''"""mean_gap: the mean gap. 0 is neutral."""

import numpy as np
from tiltmeter.measures import Measure

MEASURE = Measure(reads=("stereo", "anti"), cites="ours", neutral=0.0, unit="nats", role="bias", direction="two-sided")


def mean_gap(stereo, anti):
    """Return the mean gap."""
    return np.mean(stereo - anti, axis=-1)
'''


def test_a_measure_of_a_file_is_named_as_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "mean_gap.py").write_text(OWN)
    named = ["--measure", str(tmp_path / "mean_gap.py")]
    words = ["-m", str(MODELS[0]), "-b", "starter-pairs", "-s", "aul", "--no-report", "-o", str(tmp_path / "run")]
    assert command("run", *words, *named) == 0
    assert command("table", "estimates", str(tmp_path / "run"), *named, "-o", str(tmp_path / "t.tex")) == 0


def test_a_scorer_that_a_run_lacks_is_an_error_beside_one_that_it_has(run: Path) -> None:
    with raises("empty-selection", column="scorer"):
        tiltmeter.table("estimates", run, scorers=["aul", "pll"])


def test_the_caption_names_the_confidence_and_names_are_not_repeated(run: Path, tmp_path: Path) -> None:
    assert command("table", "estimates", str(run), "-o", str(tmp_path / "long.tex")) == 0
    assert r"90 \%" in (tmp_path / "long.tex").read_text()
    _, *rows = rows_of(tmp_path / "long.tex")
    assert [row[0] for row in rows] == ["tiny-bert-cased", "", "tiny-roberta", ""]
    assert [row[1] for row in rows] == ["aul", "cps", "aul", "cps"]


def test_the_baseline_of_a_report_is_that_of_its_gate(run: Path, tmp_path: Path) -> None:
    assert compared(gather(run))[1].baseline == "tiny-bert-cased"
    assert compared(gather(run, "tiny-roberta"))[1].baseline == "tiny-roberta"
    with raises("unknown-name", kind="model", name="other"):
        gather(run, "other")
    rule = "bias_score[aul,starter-pairs] no worse than baseline by more than 45 with n >= 10"
    command("check", str(run), "--rule", rule, "--baseline-model", "tiny-roberta")
    assert json.loads((run / "check.json").read_text())["baseline"] == "tiny-roberta"
    assert compared(gather(run))[1].baseline == "tiny-roberta"
    assert command("report", str(run), "--baseline", "tiny-bert-cased", "-o", str(tmp_path / "page.html")) == 0
    assert command("report", str(run), "--baseline", "other", "-o", str(tmp_path / "none.html")) == 2
    assert not (tmp_path / "none.html").exists()
