"""Evidence of a headline's metric from calibration: one sentence beside the number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tiltmeter.display import Statement, number_text, range_text, signed_text
from tiltmeter.families.kit.detection import BOUNDED, DETECTS, UNDECIDED, Detection, detections, rows_about
from tiltmeter.families.kit.primary import benchmark_of, model_of
from tiltmeter.families.kit.story import Story, decimals_of, is_percentage

ABOUT = "docs/calibration.md"
TESTED = "Evidence: {metric} {parts} (planted in {models}; other domains are untested; {sources})."
OTHER_ITEMS = (
    "Evidence: untested. {metric} was tested on all items of {benchmark}; these are others, as with --limit ({about})."
)
UNTESTED = "Evidence: untested. It has not been tested whether {metric} detects a planted bias with these items ({about})."


def facts_of(evaluations: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return, by model and benchmark, the digest of the benchmark's items, and the model's kind."""
    found = {}
    for one in evaluations:
        digest, kind = one.get("benchmark", {}).get("data_sha256", ""), one.get("model", {}).get("kind", "")
        found[model_of(one), benchmark_of(one)] = str(digest), str(kind)
    return found


def with_evidence(story: Story, facts: Mapping[tuple[str, str], tuple[str, str]]) -> Story:
    """Add a sentence about the evidence of the headline's metric, if the items are known."""
    place = facts.get((story.model, story.benchmark))
    if story.head is None or place is None:
        return story
    text = evidence_sentence(*place, str(story.head["scorer"]), str(story.head["measure"]), story.benchmark)
    return replace(story, sentences=(*story.sentences, text))


def evidence_sentence(data: str, kind: str, scorer: str, measure: str, benchmark: str = "") -> str:
    """Say in which domains a metric detected a planted bias, in which it did not, or that it is untested.

    `benchmark`: its name; a metric that was tested on all items of it is untested on some of them.
    """
    rows = [row for row in rows_about(data, kind) if row.metric == (scorer, measure)]
    metric = f"{measure} by {scorer}" if scorer else measure
    if not rows:
        tested = any(row.benchmark == benchmark and row.metric == (scorer, measure) for row in detections())
        return Statement(OTHER_ITEMS if tested else UNTESTED, "untested", metric=metric, about=ABOUT, benchmark=benchmark)
    parts = [
        _part("detected a planted bias of", [_detected(row) for row in rows if row.verdict == DETECTS]),
        _part("did not detect a planted bias of", [_bounded(row) for row in rows if row.verdict == BOUNDED]),
        _part("is undecided for", [row.domain for row in rows if row.verdict == UNDECIDED]),
    ]
    models = ", ".join(dict.fromkeys(row.model for row in rows))
    said = "; ".join(part for part in parts if part)
    sources = ", ".join(dict.fromkeys(row.source for row in rows))
    return Statement(TESTED, "evidence", metric=metric, parts=said, models=models, sources=sources)


def _part(lead: str, domains: Sequence[str]) -> str:
    return f"{lead} {', '.join(domains)}" if domains else ""


def _detected(row: Detection) -> str:
    places, unit = _look(row.measure, row.effect)
    return f"{row.domain} ({signed_text(row.effect, places)}{unit} per dose {range_text(row.low, row.high, places)})"


def _bounded(row: Detection) -> str:
    places, unit = _look(row.measure, row.high)
    return f"{row.domain} (effect below {number_text(max(row.high, 0.0), places)}{unit} per dose)"


def _look(measure: str, effect: float) -> tuple[int, str]:
    """Decimals and unit of an effect.

    >>> _look("bias_score", 17.69), _look("stereotype_gap", 0.557)
    ((1, ' points'), (3, ''))
    """
    return (1, " points") if is_percentage(measure) else (decimals_of(measure, effect), "")
