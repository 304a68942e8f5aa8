"""Finished runs: never replaced by another question unless asked to, and sealed with their report and studies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tiltmeter
from conftest import GOLDEN
from test_cli import tiltmeter as command
from tiltmeter.errors import RunError, TiltmeterError
from tiltmeter.gate.stored import stored_decision
from tiltmeter.runs import load_run
from tiltmeter.runs.reading import verify_run
from tiltmeter.storage.files import write_text
from tiltmeter.storage.seals import read_seal

MODELS = GOLDEN / "models"
RULE = "bias_score[aul,starter-pairs] within 0..99 at 50%"


def make(folder: Path, model: str = "tiny-bert-cased", scorer: str = "aul", **options: Any) -> Any:
    pairs = tiltmeter.PairsOptions(scorers=(scorer,))
    return tiltmeter.run([MODELS / model], ["starter-pairs"], output=folder, options=pairs, **{"limit": 20, **options})


def test_another_question_does_not_replace_a_finished_run(tmp_path: Path) -> None:
    make(tmp_path / "run")
    before = (tmp_path / "run" / "manifest.json").read_bytes()
    others: list[tuple[str, dict[str, Any]]] = [
        ("models", {"model": "tiny-roberta"}), ("options of pairs", {"scorer": "cps"}), ("limit", {"limit": 10}),
    ]  # fmt: skip
    for differs, options in others:
        with pytest.raises(RunError) as caught:
            make(tmp_path / "run", **options)
        assert caught.value.code == "output-exists" and caught.value.fields["differs"] == differs
        assert (tmp_path / "run" / "manifest.json").read_bytes() == before
    make(tmp_path / "run", resamples=200)
    assert make(tmp_path / "run", model="tiny-roberta", overwrite=True).answers["pairs"].models == ["tiny-roberta"]


def test_a_mistyped_check_changes_nothing_and_the_run_is_bundled(tmp_path: Path) -> None:
    folder = make(tmp_path / "run").folder
    assert command("check", str(folder), "--rule", RULE, "--min-n", "5") == 0
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert command("check", str(folder), "--rule", "bias_scor[aul] within 0..60") == 2
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert command("bundle", str(folder), "-o", str(tmp_path / "audit.zip")) == 0


def test_report_and_studies_are_sealed_with_the_run(tmp_path: Path) -> None:
    words = ["run", "-m", str(MODELS / "tiny-bert-cased"), "-b", "starter-pairs", "-s", "aul", "--limit", "40"]
    folder = tmp_path / "run"
    assert command(*words, "-o", str(folder)) == 0
    assert command("study", "power", str(folder), "--measure", "bias_score") == 0
    added = read_seal(folder)["added"]
    assert "report.html" in added and "studies/power/power.csv" in added and "studies/power/finding.json" in added
    assert command("study", "power", str(folder), "--measure", "bias_score") == 0, "a study is written again"
    assert command("report", str(folder)) == 0
    verify_run(folder)
    finding = folder / "studies" / "power" / "finding.json"
    said = json.loads(finding.read_text())
    finding.write_text(json.dumps(said | {"sentences": ["No model leans."]}))
    with pytest.raises(TiltmeterError):
        verify_run(folder)
    assert command("report", str(folder)) == 0
    page = (folder / "report.html").read_text()
    assert "No model leans." not in page and "Run the study again" in page
    assert command("report", str(folder), "-o", str(folder / "estimates.csv")) == 2


def test_a_changed_report_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(tmp_path / "run").folder
    tiltmeter.report(folder, folder / "report.html")
    (folder / "report.html").write_text("all is well")
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    assert command("open", str(folder)) == 0
    assert "all is well" not in (folder / "report.html").read_text()


def test_a_linked_folder_does_not_lead_into_a_run(tmp_path: Path) -> None:
    folder = make(tmp_path / "run").folder
    link = tmp_path / "elsewhere"
    link.symlink_to(folder, target_is_directory=True)
    before = (folder / "estimates.csv").read_bytes()
    with pytest.raises(TiltmeterError) as caught:
        write_text(link / "estimates.csv", "overwritten")
    assert caught.value.code == "output-exists" and (folder / "estimates.csv").read_bytes() == before
    inner = tmp_path / "inner"
    inner.symlink_to(folder / "observations", target_is_directory=True)
    (file,) = list(inner.rglob("*.parquet"))[:1]
    with pytest.raises(TiltmeterError) as caught:
        write_text(file, "overwritten")
    assert caught.value.code == "output-exists"


def test_a_run_in_the_current_folder_is_replaced_file_by_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder itself cannot be renamed; files of the user's stay, and nothing of the earlier run does."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    make(Path())
    (folder / "notes.txt").write_text("mine")
    place = folder.stat().st_ino
    assert make(Path(), model="tiny-roberta", overwrite=True).answers["pairs"].models == ["tiny-roberta"]
    assert folder.stat().st_ino == place and (folder / "notes.txt").read_text() == "mine"
    assert [path.name for path in (folder / "observations").iterdir()] == ["tiny-roberta"]
    verify_run(folder)


def test_a_decision_about_an_earlier_baseline_is_not_exported(tmp_path: Path) -> None:
    new, old = make(tmp_path / "new").folder, make(tmp_path / "old", model="tiny-roberta").folder
    rule = "bias_score[aul,starter-pairs] moves at most 20"
    assert command("check", str(new), "--rule", rule, "--baseline", str(old), "--min-n", "10") in (0, 1)
    assert json.loads((new / "check.json").read_text("utf-8"))["baseline_run"] == "../old"
    assert stored_decision(load_run(new)) is not None
    make(tmp_path / "old", model="tiny-albert", overwrite=True)
    with pytest.raises(RunError) as caught:
        stored_decision(load_run(new))
    assert caught.value.code == "outdated-result" and caught.value.fields["reason"] == "earlier-baseline"


def test_two_runs_of_one_second_have_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.strftime", lambda *_: "2026-01-01-000000")
    words = ["run", "-m", str(MODELS / "tiny-bert-cased"), "-b", "starter-pairs", "--limit", "5", "--no-report", "-s"]
    assert command(*words, "aul") == 0 and command(*words, "aula") == 0
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["2026-01-01-000000", "2026-01-01-000000-2"]
