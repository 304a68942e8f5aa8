"""Results in the layout of Every Eval Ever (schema 0.3.0): one JSON file per model, and its items as JSON Lines.

Intervals are written with level and method. A measure that is best at a neutral value, such as a bias score of 50, has no
better direction; `lower_is_better` is then false and `best_value` says which value is best.
"""

from __future__ import annotations

import hashlib
import json
import math
import uuid
from collections.abc import Iterator
from typing import Any

from tiltmeter import catalog
from tiltmeter.exports.run_facts import model_facts, public_name, safe_name, started_at
from tiltmeter.families import find_family
from tiltmeter.runs import Run
from tiltmeter.stats.direction import UP, worse_is

SCHEMA = "0.3.0"
SOURCE = {
    "source_name": "tiltmeter run",
    "source_type": "evaluation_run",
    "source_organization_name": "unknown",
    "evaluator_relationship": "other",
}


ROLES = ("stereo", "anti", "unrelated", "slot")


def evaluation_files(run: Run) -> Iterator[tuple[str, str]]:
    """Yield path and content of two files for each model: its results, and its items where the family reads them.

    Paths are those of the project's data folder: `data/tiltmeter/DEVELOPER/MODEL/UUID.json`.
    """
    for model in dict.fromkeys(map(str, run.estimates["model"])):
        lines = [json.dumps(row, ensure_ascii=False, allow_nan=False) for row in instances(run, model)]
        text = "".join(f"{line}\n" for line in lines)
        result = evaluation(run, model)
        stem = _stem(result)
        if lines:
            result["detailed_evaluation_results"] = {
                "format": "jsonl",
                "file_path": f"{stem}_samples.jsonl",
                "hash_algorithm": "sha256",
                "checksum": hashlib.sha256(text.encode()).hexdigest(),
                "total_rows": len(lines),
            }
            yield f"{stem}_samples.jsonl", text
        yield f"{stem}.json", json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _stem(result: dict[str, Any]) -> str:
    """Return the path of a result without its ending; the UUID is a digest, so that the same run gives the same path."""
    developer, _, name = result["model_info"]["id"].rpartition("/")
    content = json.dumps(result, sort_keys=True).encode()
    number = uuid.UUID(bytes=hashlib.sha256(content).digest()[:16], version=4)
    return f"data/tiltmeter/{developer or 'unknown'}/{safe_name(name)}/{number}"


def evaluation(run: Run, model: str) -> dict[str, Any]:
    """The results of one model. Estimates without a value have no place in the schema and are left out."""
    rows = run.estimates[run.estimates["model"] == model]
    rows = rows[rows["value"].map(math.isfinite)]
    return {
        "schema_version": SCHEMA,
        "evaluation_id": _evaluation_id(run, model),
        "evaluation_timestamp": _stamp(run),
        "retrieved_timestamp": _stamp(run),
        "source_metadata": SOURCE,
        "eval_library": {"name": "tiltmeter", "version": str(run.manifest.get("tiltmeter", "unknown"))},
        "model_info": _model_info(run, model),
        "evaluation_results": [_result(run, row) for _, row in rows.iterrows()],
    }


def _result(run: Run, row: Any) -> dict[str, Any]:
    return {
        "evaluation_result_id": _result_id(row),
        "evaluation_name": str(row["benchmark"]),
        "source_data": _source_data(run, str(row["benchmark"])),
        "metric_config": _metric(row),
        "score_details": {
            "score": float(row["value"]),
            "details": {"n": str(int(row["n"])), "n_missing": str(int(row["n_missing"]))},
            **_uncertainty(run, row),
        },
    }


def _metric(row: Any) -> dict[str, Any]:
    measure = str(row["measure"])
    entry = catalog.find("measures", measure) if measure in catalog.names("measures") else None
    worse = worse_is(entry) if entry else None
    details = {"best_value": str(float(row["neutral"]))} if math.isfinite(row["neutral"]) else {}
    unit = getattr(entry.declaration, "unit", "") if entry else ""
    return {
        "metric_id": f"tiltmeter.{measure}",
        "metric_name": measure,
        "metric_parameters": {"scorer": str(row["scorer"]), "by": str(row["by"]), "group": str(row["group"])},
        "lower_is_better": worse == UP,
        **({"metric_unit": str(unit)} if unit else {}),
        **({"additional_details": details} if details else {}),
    }


def _uncertainty(run: Run, row: Any) -> dict[str, Any]:
    if not (math.isfinite(row["low"]) and math.isfinite(row["high"])):
        return {}
    settings = run.manifest.get("asked", {})
    interval = {
        "lower": float(row["low"]),
        "upper": float(row["high"]),
        "confidence_level": float(settings.get("confidence", 0.95)),
        "method": "bootstrap over items or clusters; docs/intervals.md",
    }
    return {"uncertainty": {"confidence_interval": interval, "num_samples": int(row["n"])}}


def _source_data(run: Run, benchmark: str) -> dict[str, Any]:
    named = (part.get("benchmark", {}) for part in run.manifest.get("evaluations", ()))
    facts: dict[str, Any] = next((facts for facts in named if facts.get("name") == benchmark), {})
    details = {name: str(facts[name]) for name in ("data_sha256", "citation") if facts.get(name)}
    return {"dataset_name": benchmark, "source_type": "other", "additional_details": details}


def _model_info(run: Run, model: str) -> dict[str, Any]:
    facts = model_facts(run, model)
    names = ("kind", "parameters", "precision", "device", "revision", "weights_sha256")
    details = {name: str(facts[name]) for name in names if facts.get(name)}
    return {
        "name": model,
        "id": public_name(str(facts.get("name") or model)),
        "inference_engine": {
            "name": "transformers",
            "version": str(run.manifest.get("versions", {}).get("transformers", "")),
        },
        "additional_details": {"deployment_type": "self_deployed", "model_availability": "unknown", **details},
    }


def instances(run: Run, model: str) -> Iterator[dict[str, Any]]:
    """Yield one row for each item and scorer: its texts, and by how much the model prefers the stereotype."""
    for name in sorted(run.answers):
        answers = run.answers[name]
        texts = _texts(answers.items)
        for table in find_family(name).item_readings(answers):
            mine = table[table["model"] == model]
            for row in mine.itertuples(index=False):
                yield _instance(run, model, row, texts.get((str(row.benchmark), str(row.item)), []))


def _instance(run: Run, model: str, row: Any, texts: list[str]) -> dict[str, Any]:
    preferred = texts[0 if row.value > 0 else 1] if len(texts) > 1 else ""
    return {
        "schema_version": SCHEMA,
        "evaluation_id": _evaluation_id(run, model),
        "model_id": public_name(str(model_facts(run, model).get("name") or model)),
        "evaluation_name": str(row.benchmark),
        "sample_id": str(row.item),
        "interaction_type": "single_turn",
        "input": dict(raw="\n".join(texts), reference=[], choices=texts),  # noqa: C408 (also the name of a family)
        "output": {"raw": [preferred]},
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": preferred,
                "extraction_method": f"likelier by {row.scorer}",
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": float(row.value), "is_correct": bool(row.value <= 0)},
        "metadata": {"scorer": str(row.scorer), str(row.by): str(row.group), "score": "log-probability difference"},
    }


def _texts(items: Any) -> dict[tuple[str, str], list[str]]:
    """Return the texts of each item, the stereotypical one first."""
    columns = [name for name in ROLES if name in items]
    rows = zip(items["benchmark"], items["item"], *(items[name] for name in columns), strict=True)
    return {
        (str(benchmark), str(item)): [text for text in texts if isinstance(text, str)] for benchmark, item, *texts in rows
    }


def _result_id(row: Any) -> str:
    return "/".join(str(row[name]) for name in ("benchmark", "by", "group", "measure", "scorer"))


def _evaluation_id(run: Run, model: str) -> str:
    return f"tiltmeter/{safe_name(model)}/{_stamp(run)}"


def _stamp(run: Run) -> str:
    return str(int(started_at(run).timestamp()))
