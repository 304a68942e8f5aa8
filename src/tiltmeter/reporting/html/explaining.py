"""Method notes: for each number on the page its formula and its citation, as they stand beside the code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tiltmeter import catalog
from tiltmeter.comparing import compare
from tiltmeter.errors import TiltmeterError
from tiltmeter.estimating import estimate
from tiltmeter.probes import VIEWS
from tiltmeter.reporting.html.gathering import Material
from tiltmeter.reporting.html.tabulating import pair_scorers, without_name
from tiltmeter.slot_estimating import estimate_slots


@dataclass(frozen=True)
class Note:
    """One measure or score."""

    name: str
    summary: str
    formula: str
    neutral: str
    asked: str
    citation: str


def measure_notes(material: Material) -> list[Note]:
    """The measures on the page."""
    return [_note("measures", name) for name in dict.fromkeys(material.estimates["measure"])]


def scorer_notes(material: Material) -> list[Note]:
    """The sentence scores on the page."""
    return [_note("scorers", name) for name in sorted(pair_scorers(material))]


def _note(kind: str, name: str) -> Note:
    try:
        entry = catalog.find(kind, name)
    except TiltmeterError:
        return Note(name, "Not a part of this version of tiltmeter: imported, or added by another package.", "", "", "", "")
    neutral = entry.constant("NEUTRAL")
    view = VIEWS.get(entry.constant("VIEW", ""))
    return Note(
        name=name,
        summary=without_name(entry.summary, name),
        formula=_before_examples(inspect.getdoc(entry.function) or ""),
        neutral="" if neutral is None else f"{neutral:g}",
        asked=(inspect.getdoc(view.ask) or "").split("\n", 1)[0] if view else "",
        citation=str(entry.constant("CITATION", "")),
    )


def _before_examples(text: str) -> str:
    """The words of a docstring, without its doctest.

    >>> _before_examples("Mean of x.\\n\\n>>> 1\\n1")
    'Mean of x.'
    """
    return " ".join(text.split(">>>", 1)[0].split())


def resampling_notes(material: Material) -> list[str]:
    """How intervals and p-values were made: what the functions that made them say of themselves."""
    used: list[Callable[..., Any]] = [estimate] if len(material.scores) else []
    used += [estimate_slots] if material.slots is not None else []
    used += [compare] if len(material.models) > 1 and len(material.scores) else []
    return [" ".join((inspect.getdoc(one) or "").split("\n\n")[1].split()) for one in used]


def benchmark_notes(material: Material) -> Iterable[tuple[str, str]]:
    """The benchmarks with their citation."""
    found = {}
    for source in material.sources:
        for one in source.evaluations():
            name = source.benchmarks.get(one["benchmark"]["name"], one["benchmark"]["name"])
            found[name] = str(one["benchmark"].get("citation") or "no citation given")
    return found.items()
