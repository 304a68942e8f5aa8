"""The action and the hook of the documentation: their shell steps, run here as a CI system runs them."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import tiltmeter
from conftest import GOLDEN
from gate_material import leaning_run

ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}
INPUT = re.compile(r"\$\{\{ inputs\.([a-z]+) \}\}")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A checkout with a `tiltmeter` on the path, and the files that GitHub names in the environment."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "tiltmeter"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m tiltmeter "$@"\n')
    script.chmod(0o755)
    return tmp_path


def shell(command: str, place: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """A step as GitHub runs `shell: bash`."""
    environment = os.environ | {
        "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(tiltmeter.__file__).parents[1]),
        "GITHUB_STEP_SUMMARY": str(place / "summary.md"),
        "GITHUB_OUTPUT": str(place / "output.txt"),
    }
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command]
    return subprocess.run(words, cwd=place, env=environment | more, capture_output=True, text=True, check=False)


def step(name: str, place: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """One step of the action; inputs that are not given have the action's defaults."""
    given = {key: about.get("default", "") for key, about in ACTION["inputs"].items()} | inputs
    told = {key: INPUT.sub(lambda found: given[found[1]], text) for key, text in STEPS[name].get("env", {}).items()}
    return shell(STEPS[name]["run"], place, **told)


def test_inputs_reach_the_shell_as_variables_only() -> None:
    """An expression inside of a script would run whatever an input says."""
    for one in STEPS.values():
        assert "${{" not in one["run"]
        used = {found for text in one.get("env", {}).values() for found in INPUT.findall(text)}
        assert used <= set(ACTION["inputs"])
        assert set(one.get("env", {})) >= {
            name for name in re.findall(r"\$\{?([A-Z]+)\b", one["run"]) if "GITHUB" not in name
        }
    assert (ROOT / "pyproject.toml").is_file(), "what is installed is the folder of the action"


@pytest.mark.parametrize(("extras", "installed"), [("", "/action"), ("gguf,s3", "/action[gguf,s3]")])
def test_the_action_installs_its_own_folder_with_extras(place: Path, extras: str, installed: str) -> None:
    (place / "bin" / "python").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (place / "bin" / "python").chmod(0o755)
    (ran,) = [STEPS["Install"]["run"]]
    done = shell(ran, place, EXTRAS=extras, GITHUB_ACTION_PATH="/action")
    assert done.stdout.split() == ["-m", "pip", "install", installed]


def test_the_action_measures_several_models_with_data_of_a_folder(place: Path) -> None:
    for name in ("tiny-bert-cased", "tiny-roberta"):
        shutil.copytree(GOLDEN / "models" / name, place / f"my {name}")
    (place / "data" / "crows-pairs").mkdir(parents=True)
    rows = "".join(f'{n},"He is rude {n}.","She is rude {n}.",stereo,gender\n' for n in range(6))
    header = ",sent_more,sent_less,stereo_antistereo,bias_type\n"
    (place / "data" / "crows-pairs" / "crows_pairs_anonymized.csv").write_text(header + rows)
    models = "./my tiny-bert-cased\n./my tiny-roberta\n"
    made = step("Measure", place, model=models, benchmarks="crows-pairs", scorers="aul", data="data", output="runs/two")
    assert made.returncode == 0, made.stderr
    assert set(tiltmeter.load_run(place / "runs/two").estimates["model"]) == {"my tiny-bert-cased", "my tiny-roberta"}


def test_the_action_measures_and_checks(place: Path) -> None:
    shutil.copytree(GOLDEN / "models" / "tiny-bert-cased", place / "my model")
    inputs = {"model": "./my model", "benchmarks": "starter-pairs", "scorers": "aul cps", "output": "runs/a b"}
    made = step("Measure", place, **inputs)
    assert made.returncode == 0, made.stderr
    (place / "gate.toml").write_text('rules = ["bias_score[aul,starter-pairs] within 1..99"]\n')
    assert step("Check", place, **inputs).returncode == 0
    assert (place / "output.txt").read_text() == "passed=true\n"
    assert (place / "summary.md").read_text().startswith("### PASS: ")
    assert (place / "runs/a b/junit.xml").is_file()
    reported = step("Report", place, **inputs)
    assert reported.returncode == 0 and 'id="gate"' in (place / "runs/a b/report.html").read_text()


def test_the_action_stops_the_worse_model(place: Path) -> None:
    for name, lean in (("old", 0.5), ("new", 0.8)):
        leaning_run(place / "runs" / name, {"model": lean})
    (place / "gate.toml").write_text('rules = ["bias_score[aul,mine] no worse than baseline by 3"]\n')
    failed = step("Check", place, output="runs/new", baseline="runs/old")
    assert failed.returncode == 1 and "### FAIL" in (place / "summary.md").read_text()
    assert json.loads((place / "runs/new/check.json").read_text())["exit_code"] == 1
    mistake = step("Check", place, output="runs/new")
    assert mistake.returncode == 2 and "needs a baseline" in mistake.stderr
    assert (place / "output.txt").read_text() == "passed=false\npassed=false\n"
    assert "MISTAKE" in (place / "summary.md").read_text()


def test_the_hook_of_the_documentation_checks(place: Path) -> None:
    page = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    blocks = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```$", page, re.M | re.S)]
    (hook,) = next(block for block in blocks if "repos" in block)["repos"][0]["hooks"]
    assert re.match(hook["files"], "runs/new/estimates.csv") and re.match(hook["files"], "gate.toml")
    for name, lean in (("old", 0.5), ("new", 0.505)):
        leaning_run(place / "runs" / name, {"model": lean})
    (place / "gate.toml").write_text('rules = ["bias_score[aul,mine] no worse than baseline by 3"]\n')
    assert shell(hook["entry"], place).returncode == 0
    (step_of,) = next(block for block in blocks if "jobs" in block)["jobs"]["gate"]["steps"][1:]
    assert set(step_of["with"]) <= set(ACTION["inputs"]), "the example names inputs that the action has"
