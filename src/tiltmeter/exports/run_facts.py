"""Facts of a run that every export needs: its models, when it started, and names that may be published."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from tiltmeter.runs import Run


def model_facts(run: Run, model: str) -> dict[str, Any]:
    """Return what the manifest says of a model."""
    named = (one.get("model", {}) for one in run.manifest.get("evaluations", ()))
    return next((facts for facts in named if facts.get("shown_as") == model), {})


def started_at(run: Run) -> datetime:
    """Return when the run started, in UTC; the epoch for answers that were saved from Python."""
    try:
        return datetime.fromisoformat(str(run.manifest.get("started"))).astimezone(UTC).replace(tzinfo=None)
    except ValueError:
        return datetime.fromtimestamp(0, UTC).replace(tzinfo=None)


def safe_name(model: str) -> str:
    """Return a model's name as lm-evaluation-harness spells it in paths."""
    return re.sub(r"[\"<>:/\|\\?\*\[\]]+", "__", model)


def public_name(path: str) -> str:
    """Return a hub id as it is, and only the last part of a path."""
    return path if path.count("/") == 1 and not path.startswith((".", "/", "~")) else re.split(r"[/\\]", path)[-1]
