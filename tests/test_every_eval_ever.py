"""Exports to Every Eval Ever: valid by its schemas, with intervals and items."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiltmeter
from conftest import GOLDEN
from tiltmeter.exports.every_eval_ever import evaluation_files
from tiltmeter.runs import Run, load_run

SCHEMAS = Path(__file__).parents[2] / "shared" / "schemas" / "every-eval-ever"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("exported") / "run"
    tiltmeter.run(
        [str(GOLDEN / "models" / "tiny-bert-cased")], ["starter-pairs", "plumb-slots"], limit=8, output=folder, resamples=100
    )
    return load_run(folder)


@pytest.fixture(scope="module")
def files(run: Run) -> dict[str, str]:
    return dict(evaluation_files(run))


def parsed(files: dict[str, str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    (result,) = [json.loads(text) for path, text in files.items() if path.endswith(".json")]
    (lines,) = [text for path, text in files.items() if path.endswith(".jsonl")]
    return result, [json.loads(line) for line in lines.splitlines()]


def test_every_value_and_interval_is_exported(run: Run, files: dict[str, str]) -> None:
    result, _ = parsed(files)
    rows = run.estimates[run.estimates["value"].notna()]
    scores = [one["score_details"]["score"] for one in result["evaluation_results"]]
    assert scores == rows["value"].tolist()
    intervals = [
        one["score_details"].get("uncertainty", {}).get("confidence_interval") for one in result["evaluation_results"]
    ]
    assert [one and one["lower"] for one in intervals] == [None if np.isnan(low) else low for low in rows["low"]]
    assert {one["confidence_level"] for one in intervals if one} == {0.95}


def test_items_have_texts_and_the_preferred_one(run: Run, files: dict[str, str]) -> None:
    result, lines = parsed(files)
    pairs = [line for line in lines if line["evaluation_name"] == "starter-pairs"]
    assert len({line["sample_id"] for line in pairs}) == 8
    for line in pairs:
        preferred = line["input"]["choices"][0 if line["evaluation"]["score"] > 0 else 1]
        assert line["output"]["raw"] == [preferred]
        assert line["evaluation_id"] == result["evaluation_id"]
    (text,) = [text for path, text in files.items() if path.endswith(".jsonl")]
    assert result["detailed_evaluation_results"]["checksum"] == hashlib.sha256(text.encode()).hexdigest()


def test_a_direction_is_named_only_where_there_is_one(files: dict[str, str]) -> None:
    result, _ = parsed(files)
    configs = [one["metric_config"] for one in result["evaluation_results"]]
    metrics = {config["metric_name"]: config for config in configs if config["metric_parameters"]["by"] == "all"}
    assert metrics["bias_score"]["additional_details"]["best_value"] == "50.0"
    assert not metrics["bias_score"]["lower_is_better"]


@pytest.mark.skipif(not SCHEMAS.is_dir(), reason="the schemas of Every Eval Ever are not here")
def test_files_are_valid_by_the_projects_own_schemas(files: dict[str, str]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    result, lines = parsed(files)
    jsonschema.validate(result, json.loads((SCHEMAS / "eval.schema.json").read_text()))
    validator = jsonschema.Draft7Validator(json.loads((SCHEMAS / "instance_level_eval.schema.json").read_text()))
    assert lines and not [error.message for line in lines for error in validator.iter_errors(line)]
