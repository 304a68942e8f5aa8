"""Results as others read them: by lm-evaluation-harness's own code, by the hub's own parser, and as BibTeX."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from conftest import GOLDEN
from gate_material import leaning_run
from test_cli import tiltmeter
from tiltmeter import SlotsOptions, catalog
from tiltmeter.exports.citations import bibliography, cite, cited, named, used
from tiltmeter.exports.harness import harness_results
from tiltmeter.exports.model_card import model_index
from tiltmeter.families.pairs.estimate import NOTHING_COMPLETE
from tiltmeter.runs import Run
from tiltmeter.runs.run import run

# The harness brings dozens of packages, so it may live in an environment of its own: TILTMETER_LM_EVAL is its python.
HARNESS = os.environ.get("TILTMETER_LM_EVAL") or (sys.executable if importlib.util.find_spec("lm_eval") else None)
READ = """
import json, sys
from lm_eval.utils import get_latest_filename, get_results_filenames, make_table, sanitize_model_name
path, model = sys.argv[1:]
assert get_results_filenames([path]) == [path] and get_latest_filename([path]) == path
assert sanitize_model_name(model) in path.split("/"), "the folder is named as the harness names it"
print(make_table(json.load(open(path))))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A real run: pairs, by bias type too, and slots."""
    folder = tmp_path_factory.mktemp("exports")
    options = {"by": ("bias_type",), "resamples": 100, "limit": 24, "cache": False}
    model = GOLDEN / "models" / "tiny-bert-cased"
    return run(
        model,
        ["starter-pairs", "plumb-slots"],
        ["aul", "sss"],
        output=folder / "run",
        **options,
        options=SlotsOptions(top_k=500),
    )


@pytest.mark.skipif(
    HARNESS is None, reason="no lm_eval here (pip install '.[interop]', or name its python in TILTMETER_LM_EVAL)"
)
def test_the_harness_reads_its_layout(made: Run, tmp_path: Path) -> None:
    assert tiltmeter("export", "lm-eval", made.folder, "-o", tmp_path) == 0
    (path,) = tmp_path.rglob("results_*.json")
    words = [str(HARNESS), "-c", READ, str(path.relative_to(tmp_path)), "tiny-bert-cased"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    shown = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()[2:] if "|" in line]
    rows = made.estimates[made.estimates["value"].map(math.isfinite)]
    assert len(shown) == len(rows)
    assert sorted(line[6] for line in shown) == sorted(f"{value:.4f}" for value in rows["value"])
    overall = rows[(rows["by"] == "all") & (rows["measure"] == "bias_score") & (rows["scorer"] == "aul")].iloc[0]
    line = next(
        line for line in shown if line[0].strip("- ") == "starter-pairs" and line[2] == "aul" and line[4] == "bias_score"
    )
    error = (overall["high"] - overall["low"]) / (2 * 1.959964)
    assert line[6:] == [f"{overall['value']:.4f}", "±", f"{error:.4f}"]


def test_the_layout_of_the_harness(made: Run) -> None:
    results = harness_results(made, "tiny-bert-cased")
    json.dumps(results, allow_nan=False)
    assert {"results", "configs", "versions", "n-shot", "higher_is_better", "n-samples", "config", "date"} <= set(results)
    tasks = set(results["results"])
    assert (
        tasks == set(results["versions"]) == set(results["n-shot"]) == set(results["n-samples"]) == set(results["configs"])
    )
    assert set(results["group_subtasks"]) == {"starter-pairs", "plumb-slots"}
    assert set(results["group_subtasks"]["starter-pairs"]) < tasks
    overall = results["higher_is_better"]["starter-pairs"]
    assert overall["bias_score"] is None and overall["kls"] is False and overall["jss"] is True
    full = results["tiltmeter"]["estimates"]
    assert len(full) == len(made.estimates) and full[0]["low"] == made.estimates["low"].iloc[0]


def test_what_is_missing_is_listed_and_not_a_number(tmp_path: Path) -> None:
    made = leaning_run(tmp_path / "r", {"a/b": 0.5}, n=40)
    made.estimates.loc[0, ["value", "low", "high", "note"]] = [math.nan, math.nan, math.nan, NOTHING_COMPLETE]
    results = harness_results(made, "a/b")
    (missing,) = results["tiltmeter"]["missing"]
    assert NOTHING_COMPLETE.endswith(missing["reason"]) and missing["reason"] and missing["metric"] == "bias_score"
    assert "bias_score,aul" not in results["results"]["mine"] and results["model_name_sanitized"] == "a__b"


def test_the_hub_reads_the_card(made: Run, tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    assert tiltmeter("export", "model-card", made.folder, "-o", tmp_path / "README.md") == 0
    card: Any = hub.ModelCard.load(tmp_path / "README.md")
    assert card.data.model_name == "tiny-bert-cased"
    read = {(one.dataset_name, one.metric_name): one.metric_value for one in card.data.eval_results}
    rows = made.estimates
    bias = rows[(rows["by"] == "all") & (rows["measure"] == "bias_score") & (rows["scorer"] == "aul")].iloc[0]
    name = next(name for dataset, name in read if dataset == "starter-pairs" and name.startswith("bias_score by aul"))
    assert read["starter-pairs", name] == pytest.approx(bias["value"]) and f"{bias['low']:.2f}–{bias['high']:.2f}" in name
    assert {one.task_type for one in card.data.eval_results} == {"fill-mask"}
    assert {one.dataset_revision for one in card.data.eval_results} == {
        evaluation["benchmark"]["data_sha256"] for evaluation in made.manifest["evaluations"]
    }
    assert any("plumb-slots" in line and "male \\> female |" in line for line in card.text.splitlines())
    again = hub.ModelCardData(eval_results=card.data.eval_results, model_name=card.data.model_name).to_dict()
    assert len(again["model-index"][0]["results"]) == len(model_index(made)["model-index"][0]["results"])


def test_a_card_is_about_one_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = leaning_run(tmp_path / "r", {"a": 0.5, "b": 0.6}, n=40).folder
    assert tiltmeter("export", "model-card", two) == 2 and "say which with --model" in capsys.readouterr().err
    assert tiltmeter("export", "model-card", two, "-m", "c") == 2 and "no model 'c'" in capsys.readouterr().err
    assert tiltmeter("export", "model-card", two, "-m", "b") == 0 and "name: b" in capsys.readouterr().out
    assert tiltmeter("export", "lm-eval", two, "-o", two / "manifest.json") == 2
    assert tiltmeter("export", "model-card", two / "none") == 2


ENTRY = re.compile(r"@(\w+)\{([^,\s]+),\n((?:  \w+ = \{.*\},\n)+)\}")


def test_a_run_cites_everything_it_used(made: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert tiltmeter("cite", made.folder) == 0
    text = capsys.readouterr().out
    assert text == cite(made)
    entries = ENTRY.findall(text)
    keys = [key for _, key, _ in entries]
    assert len(keys) == len(set(keys)) == text.count("@"), "every entry is one that BibTeX can read"
    assert {"tiltmeter", "nangia2020", "kaneko2022", "liu2024", "doughman2023"} <= set(keys)
    for _, _, fields in entries:
        assert fields.count("{") == fields.count("}")
    named = {name for comment in re.findall(r"^% (.*)$", text, re.M) for name in comment.split(", ")}
    assert {name for name, citation in used(made) if citation} <= named


@pytest.mark.parametrize(
    ("name", "works"),
    [
        ("bias_score", ["nangia2020", "kaneko2022"]), ("kls", ["liu2024"]), ("icat", ["nadeem2021"]),
        ("mnt", ["doughman2023"]), ("ces", ["guo2021", "dersimonian1986"]), ("effect_size", ["caliskan2017", "may2019"]),
        ("group_variance", ["cao2022"]), ("ilps", ["kurita2019", "cao2022"]), ("mean_abs_effect", ["liang2020"]),
    ],
)  # fmt: skip
def test_a_citation_leads_to_the_works_it_names(name: str, works: list[str]) -> None:
    assert cited(catalog.find("measures", name).citation) == works


def test_nobody_who_is_cited_is_lost() -> None:
    """A work that the bibliography lacks stays named, in a note."""
    for kind in ("measures", "scorers", "benchmarks"):
        for entry in catalog.entries(kind):
            citation = entry.citation
            table = pd.DataFrame({"measure": [], "scorer": []})
            evaluation = {"benchmark": {"name": entry.name, "citation": citation}}
            text = cite(Run(Path(), {}, table, {"evaluations": [evaluation]}))
            for key in named(citation):
                assert f"{{{key}," in text or f"@misc{{{entry.name.replace('-', '')}," in text, f"{entry.name}: {key}"
    for key, text in bibliography().items():
        assert text.count("{") == text.count("}") and f"year = {{{key[-4:]}}}" in text
