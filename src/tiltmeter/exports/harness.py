"""Results in the layout of lm-evaluation-harness: one JSON file per model, which its tools read.

A benchmark is a task, a group of it a subtask; a measure is a metric, and the scorer stands where the harness has a filter.
The harness has no intervals: half the width of ours over the normal quantile is its standard error. Numbers that are
missing are left out there and listed, with the reason, under `tiltmeter`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tiltmeter import catalog
from tiltmeter.exports.run_facts import model_facts, public_name, safe_name, started_at
from tiltmeter.families.kit.pack import plain
from tiltmeter.runs import Run
from tiltmeter.stats.direction import DOWN, UP, worse_is
from tiltmeter.stats.significance import smallest_difference

BETTER = {UP: False, DOWN: True}
"""True where higher is better, None where neither direction is."""


def harness_files(run: Run) -> Iterator[tuple[str, dict[str, Any]]]:
    """Path (MODEL/results_DATE.json, as the harness names its own) and content, for each model of a run."""
    started = started_at(run)
    for model in dict.fromkeys(map(str, run.estimates["model"])):
        stamp = started.isoformat(timespec="microseconds").replace(":", "-")
        yield f"{safe_name(model)}/results_{stamp}.json", harness_results(run, model)


def harness_results(run: Run, model: str) -> dict[str, Any]:
    """The results of one model."""
    rows = run.estimates[run.estimates["model"] == model]
    facts = model_facts(run, model)
    settings = run.manifest.get("asked", {})
    z = smallest_difference(1.0, float(settings.get("confidence", 0.95)), power=0.5)
    results: dict[str, dict[str, Any]] = {}
    missing = []
    for _, row in rows.iterrows():
        task = _task(row)
        entry = results.setdefault(task, {"name": task, "alias": task, "sample_len": 0})
        entry["sample_len"] = max(entry["sample_len"], int(row["n"]))
        if not math.isfinite(row["value"]):
            missing.append({"task": task, "metric": row["measure"], "filter": row["scorer"], "reason": str(row["note"])})
            continue
        entry[f"{row['measure']},{row['scorer']}"] = float(row["value"])
        error = (row["high"] - row["low"]) / (2 * z)
        entry[f"{row['measure']}_stderr,{row['scorer']}"] = float(error) if math.isfinite(error) else "N/A"
    return {
        "results": results,
        "group_subtasks": _subtasks(rows),
        "configs": {task: {"task": task, **about} for task, about in _tasks(run, rows).items()},
        "versions": {task: about["metadata"]["version"] for task, about in _tasks(run, rows).items()},
        "n-shot": dict.fromkeys(results, 0),
        "higher_is_better": {task: _directions(entry) for task, entry in results.items()},
        "n-samples": _samples(rows),
        "config": _config(facts, settings),
        "date": started_at(run).timestamp(),
        "transformers_version": run.manifest.get("versions", {}).get("transformers"),
        "model_source": "hf",
        "model_name": model,
        "model_name_sanitized": safe_name(model),
        "system_instruction": None,
        "system_instruction_sha": None,
        "fewshot_as_multiturn": None,
        "chat_template": None,
        "chat_template_sha": None,
        "task_hashes": {task: about["metadata"]["data_sha256"] for task, about in _tasks(run, rows).items()},
        "total_evaluation_time_seconds": str(run.manifest.get("seconds", "")),
        "tiltmeter": {"version": run.manifest.get("tiltmeter"), "missing": missing, "estimates": _estimates(rows)},
    }


def _task(row: Any) -> str:
    """The name of a task.

    >>> _task({"benchmark": "crows-pairs", "by": "bias_type", "group": "race-color"})
    'crows-pairs_bias_type_race-color'
    """
    return str(row["benchmark"]) if row["by"] == "all" else f"{row['benchmark']}_{row['by']}_{row['group']}"


def _subtasks(rows: Any) -> dict[str, list[str]]:
    tasks: dict[str, list[str]] = {}
    for _, row in rows.iterrows():
        below = tasks.setdefault(str(row["benchmark"]), [])
        if row["by"] != "all" and _task(row) not in below:
            below.append(_task(row))
    overall = set(rows[rows["by"] == "all"]["benchmark"])
    return {benchmark: below for benchmark, below in tasks.items() if benchmark in overall}


def _tasks(run: Run, rows: Any) -> dict[str, dict[str, Any]]:
    """Describe each task: its data, and their hash as its version."""
    data = {
        str(one.get("benchmark", {}).get("name")): one.get("benchmark", {}) for one in run.manifest.get("evaluations", ())
    }
    tasks = {}
    for _, row in rows.iterrows():
        facts = data.get(str(row["benchmark"]), {})
        digest = str(facts.get("data_sha256") or "")
        about = {"version": digest[:8] or None, "data_sha256": digest, "citation": facts.get("citation")}
        tasks[_task(row)] = {"dataset_path": str(row["benchmark"]), "metadata": about}
    return tasks


def _directions(entry: dict[str, Any]) -> dict[str, bool | None]:
    names = dict.fromkeys(key.partition(",")[0] for key in entry if "," in key and "_stderr," not in key)
    return {
        name: BETTER.get(worse_is(catalog.find("measures", name))) if name in catalog.names("measures") else None
        for name in names
    }


def _samples(rows: Any) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for _, row in rows.iterrows():
        here = counts.setdefault(_task(row), {"original": 0, "effective": 0})
        here["original"] = max(here["original"], int(row["n"] + row["n_missing"]))
        here["effective"] = max(here["effective"], int(row["n"]))
    return counts


def _config(facts: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": "hf",
        "model_args": f"pretrained={public_name(str(facts.get('name', '')))}",
        "model_num_parameters": facts.get("parameters"),
        "model_dtype": facts.get("precision"),
        "model_revision": facts.get("revision"),
        "model_sha": facts.get("weights_sha256"),
        "batch_size": str(settings.get("batch_tokens", "")),
        "device": facts.get("device"),
        "limit": settings.get("limit"),
        "bootstrap_iters": settings.get("resamples"),
        "random_seed": settings.get("seed"),
    }


def _estimates(rows: Any) -> list[dict[str, Any]]:
    """Every estimate in full, with its interval."""
    return [{name: plain(value) for name, value in row.items()} for _, row in rows.iterrows()]
