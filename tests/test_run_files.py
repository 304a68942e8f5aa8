"""No output overwrites a file of a run: every writer refuses, and the run stays as it was."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gate_material import leaning_run
from test_cli import tiltmeter
from tiltmeter.runs import load_run

RULE = "bias_score[aul,mine] within 20..80"
COMMANDS = {
    "report": ("report", "RUN", "-o"),
    "bundle": ("bundle", "RUN", "-o"),
    "check --junit": ("check", "RUN", "--rule", RULE, "--junit"),
    "check --markdown": ("check", "RUN", "--rule", RULE, "--markdown"),
    "a mistaken check": ("check", "RUN", "--rule", "nothing", "--markdown"),
    "export": ("export", "model-card", "RUN", "-o"),
    "cite": ("cite", "RUN", "-o"),
    "leaderboard": ("leaderboard", "RUN", "-o"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = leaning_run(tmp_path_factory.mktemp("runs") / "run", {"model": 0.5}).folder
    assert tiltmeter("check", folder, "--rule", RULE) == 0
    return folder


@pytest.mark.parametrize("name", ["manifest.json", "scores.parquet", "items.parquet", "estimates.csv", "check.json"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_overwrites_a_file_of_a_run(whole: Path, tmp_path: Path, command: str, name: str) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    (tmp_path / "link").symlink_to(run)
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    for target in (run / name, tmp_path / "link" / name):
        words = [run if word == "RUN" else word for word in COMMANDS[command]]
        assert tiltmeter(*words, target) == 2
        assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    assert load_run(run).answers


@pytest.mark.parametrize("place", ["new/../{}", "new/deeper/../../{}", "./new/.././{}"])
def test_a_folder_that_is_still_to_be_made_leads_to_no_file_of_a_run(whole: Path, tmp_path: Path, place: str) -> None:
    """The writer makes the folders of its output first, and then the path is that of a file."""
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    for command in COMMANDS.values():
        target = f"{run}/{place.format('scores.parquet')}"
        assert tiltmeter(*(run if word == "RUN" else word for word in command), target) == 2
    assert {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()} == before


def test_other_files_in_the_folder_of_a_run_may_be_written(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "run")
    for _ in range(2):
        assert tiltmeter("report", tmp_path / "run", "-o", tmp_path / "run" / "report.html") == 0
        assert tiltmeter("bundle", tmp_path / "run", "-o", tmp_path / "run" / "audit.zip") == 0


def test_a_run_with_a_damaged_manifest_is_not_overwritten(whole: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(whole, damaged)
    manifest = damaged / "manifest.json"
    manifest.write_text(manifest.read_text()[:-20])
    before = {path.name: path.read_bytes() for path in damaged.iterdir()}
    for name in ("manifest.json", "estimates.csv"):
        assert tiltmeter("leaderboard", whole, "-o", damaged / name) == 2
        assert tiltmeter("report", whole, "-o", damaged / name) == 2
    assert {path.name: path.read_bytes() for path in damaged.iterdir()} == before
