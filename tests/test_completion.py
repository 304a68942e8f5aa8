"""Values that a shell completes after -m, -b, -s, --measure and commands that read runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = "import sys; sys.argv = ['tiltmeter']; from tiltmeter.cli import main; main()"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a run, a model and files."""
    for name, status in (("runs/2026-01-02-first", "finished"), ("runs/2026-01-03-second", "unfinished")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "manifest.json").write_text(json.dumps({"tiltmeter": "0", "status": status}))
    (tmp_path / "plain-model").mkdir()
    (tmp_path / "hub" / "models--google-bert--bert-base-cased").mkdir(parents=True)
    for name in ("mine.csv", "mine.txt", "my_scorer.py"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "found", "not_found"),
    [
        ("run -m pl", {"plumb-mlm", "plumb-clm", "plain-model/"}, {"plumb-pairs"}),
        ("run -m google", {"google-bert/bert-base-cased"}, set()),
        ("run -b crows", {"crows-pairs"}, set()),
        ("run -b m", {"mine.csv", "madlibs"}, {"mine.txt"}),
        ("run -s a", {"aul", "aula", "all"}, {"cps"}),
        ("run -s my", {"my_scorer.py"}, {"mine.csv"}),
        ("run --measure bias", {"bias_score"}, set()),
        ("open ", {"last", "runs/2026-01-02-first", "2026-01-02-first"}, {"runs/2026-01-03-second"}),
        ("check la", {"last"}, set()),
        ("compare runs/", {"runs/2026-01-02-first"}, {"last"}),
    ],
)
def test_values_are_completed(here: Path, words: str, found: set[str], not_found: set[str]) -> None:
    asked = {"_TILTMETER_COMPLETE": "complete_bash", "COMP_WORDS": f"tiltmeter {words}"}
    environment = os.environ | asked | {"COMP_CWORD": str(len(words.split(" "))), "HF_HUB_CACHE": str(here / "hub")}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    offered = set(done.stdout.split())
    assert found <= offered and not offered & not_found
