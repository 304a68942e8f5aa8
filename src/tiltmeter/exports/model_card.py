"""A snippet for a model card of the Hugging Face hub: the model-index of its front matter, and a table to read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tiltmeter import __version__
from tiltmeter.display import interval_text, number_text, range_text
from tiltmeter.errors import RunError, UsageError
from tiltmeter.exports.run_facts import model_facts
from tiltmeter.families.kit.story import decimals_of
from tiltmeter.reporting.narratives import stories_of
from tiltmeter.runs import Run

TASKS = {"masked": ("fill-mask", "Masked language modelling"), "causal": ("text-generation", "Text generation")}
OTHER = ("feature-extraction", "Text representation")


def model_card(run: Run, model: str | None = None) -> str:
    """The front matter (YAML between dashes) and a section in Markdown, for one model of a run."""
    name = _model(run, model)
    rows = _rows(run, name)
    return f"---\n{_yaml(model_index(run, name))}---\n\n{_section(run, rows)}"


def model_index(run: Run, model: str | None = None) -> dict[str, Any]:
    """The metadata: every overall number as a result of its dataset."""
    name = _model(run, model)
    task, title = TASKS.get(_kind(run, name), OTHER)
    results, confidence = [], _confidence(run)
    for benchmark, rows in _rows(run, name).groupby("benchmark", sort=False):
        metrics = [
            {
                "type": str(row["measure"]),
                "value": round(float(row["value"]), 6),
                "name": _metric(row, confidence),
                "verified": False,
            }
            for _, row in rows.iterrows()
        ]
        data = {"type": str(benchmark), "name": str(benchmark), "revision": _digest(run, str(benchmark))}
        about = {"task": {"type": task, "name": title}, "dataset": {key: text for key, text in data.items() if text}}
        results.append(about | {"metrics": metrics})
    return {"model-index": [{"name": name, "results": results}]}


def _model(run: Run, wanted: str | None) -> str:
    models = list(dict.fromkeys(map(str, run.estimates["model"])))
    if wanted is None and len(models) == 1:
        return models[0]
    if wanted not in models:
        which = f"has no model '{wanted}'" if wanted else "has several models; say which with --model"
        message = f"The run {run.folder} {which}. Models: {', '.join(models)}."
        code = "unknown-name" if wanted else "missing-value"
        raise UsageError(message, code=code, kind="model", name=wanted, names=list(models))
    return str(wanted)


def _rows(run: Run, model: str) -> Any:
    """The numbers of a card: overall ones, or those that a family gives instead; without what is missing."""
    rows = run.estimates[(run.estimates["model"] == model) & run.estimates["value"].map(math.isfinite)]
    overall = set(rows[rows["by"] == "all"]["benchmark"])
    kept = rows[(rows["by"] == "all") | (~rows["benchmark"].isin(overall) & ~rows["by"].str.contains(" × "))]
    if not len(kept):
        message = f"The run {run.folder} has no estimate of {model} for a card."
        raise RunError(message, code="empty-selection", run=run.folder, model=model)
    return kept


def _metric(row: Any, confidence: float) -> str:
    """Name a number and its interval: the layout has no field for intervals."""
    places = decimals_of(row["measure"], row["value"], row["low"], row["high"])
    group = "" if row["by"] == "all" else f", {row['group']}"
    neutral = f"neutral {row['neutral']:g}" if math.isfinite(row["neutral"]) else ""
    interval = interval_text(row["low"], row["high"], confidence=confidence, places=places)
    facts = ", ".join(filter(None, [interval, f"n = {row['n']:,}", neutral]))
    return f"{row['measure']} by {row['scorer']}{group} ({facts})"


def _confidence(run: Run) -> float:
    return float(run.manifest.get("asked", {}).get("confidence", 0.95))


def _kind(run: Run, model: str) -> str:
    named = (one.get("model", {}) for one in run.manifest.get("evaluations", ()))
    return next((str(facts.get("kind", "")) for facts in named if facts.get("shown_as") == model), "")


def _digest(run: Run, benchmark: str) -> str:
    named = (one.get("benchmark", {}) for one in run.manifest.get("evaluations", ()))
    return next((str(facts.get("data_sha256", "")) for facts in named if facts.get("name") == benchmark), "")


def _yaml(value: dict[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1000))


def _section(run: Run, rows: Any) -> str:
    confidence = _confidence(run)
    lines = [
        "## Social biases",
        "",
        f"Measured by tiltmeter {run.manifest.get('tiltmeter', __version__)}, with {100 * confidence:g} % intervals. A "
        "number near neutral does not show that a model is fair: it says that this benchmark detected no lean.",
        *_loaded(run, str(rows["model"].iloc[0])),
        "",
        "| benchmark | measure | value | interval | neutral | n |",
        "|---|---|---|---|---|---|",
    ]
    for _, row in rows.iterrows():
        places = decimals_of(row["measure"], row["value"], row["low"], row["high"])
        group = "" if row["by"] == "all" else f", {row['group']}"
        ends = range_text(row["low"], row["high"], places) or "–"
        neutral = f"{row['neutral']:g}" if math.isfinite(row["neutral"]) else "–"
        cells = [
            row["benchmark"],
            f"{row['measure']} by {row['scorer']}{group}",
            number_text(row["value"], places),
            ends,
            neutral,
        ]
        lines.append(f"| {' | '.join(_cell(str(cell)) for cell in cells)} | {row['n']:,} |")
    return "\n".join([*lines, *_worst(run, str(rows["model"].iloc[0]))]) + "\n"


def _loaded(run: Run, model: str) -> Iterator[str]:
    """How the model was loaded: another precision or quantisation gives other numbers."""
    facts = model_facts(run, model)
    adapter = facts.get("adapter") or {}
    said = {
        "precision": facts.get("precision"),
        "quantisation": facts.get("quantization"),
        "adapter to": adapter.get("base") if isinstance(adapter, dict) else None,
    }
    if any(said.values()):
        yield f"Loaded with {', '.join(f'{name} {_cell(str(value))}' for name, value in said.items() if value)}."


def _worst(run: Run, model: str) -> Iterator[str]:
    """The worst groups of each benchmark, which the means above hide, and the evidence for its metric."""
    stories = stories_of(run.estimates[run.estimates["model"] == model], run.manifest.get("evaluations", ()))
    for story in stories:
        evidence = [text for text in story.sentences[-1:] if text.startswith("Evidence: ")]
        if said := " ".join(filter(None, [story.worst, *evidence])):
            yield f"\n**{_cell(story.benchmark)}.** {_cell(said)}"


def _cell(text: str) -> str:
    return "".join(f"\\{sign}" if sign in "\\|*_`<>[]" else sign for sign in " ".join(text.split()))
