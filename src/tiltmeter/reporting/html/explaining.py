"""Method notes: for each number on the page its formula and its citation, as they stand beside the code."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tiltmeter import catalog
from tiltmeter.associating import associate
from tiltmeter.comparing import compare
from tiltmeter.errors import TiltmeterError
from tiltmeter.estimating import estimate
from tiltmeter.probes import VIEWS
from tiltmeter.reporting.html.gathering import Material
from tiltmeter.reporting.html.tabulating import of_others, pair_rows, pair_scorers, without_name
from tiltmeter.resampling import bounded_interval
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
    weighted = " Overall: the mean of the bias types, weighted by their pairs." if entry.constant("WEIGHTED", False) else ""
    view = VIEWS.get(entry.constant("VIEW", ""))
    return Note(
        name=name,
        summary=_plain(without_name(entry.summary, name)),
        formula=_plain(_before_examples(inspect.getdoc(entry.function) or "")) + weighted,
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


def _plain(text: str) -> str:
    """Without the marks of Markdown, which a page would show as they are."""
    return re.sub(r"[`*](\S(?:.*?\S)?)[`*]", r"\1", text)


def resampling_notes(material: Material) -> list[str]:
    """How intervals and p-values were made: what the functions that made them say of themselves."""
    used: list[Callable[..., Any]] = [estimate] if len(material.scores) else []
    used += [estimate_slots] if material.slots is not None else []
    used += [compare] if len(material.models) > 1 and len(material.scores) else []
    used += [associate] if len(of_others(material)) else []
    notes = [_paragraph(one, 1) for one in used]
    if any(_entry_says(name, "BOUNDED") for name in set(pair_rows(material)["measure"])):
        notes.insert(1, f"{_paragraph(bounded_interval, 0)} {_paragraph(bounded_interval, 1)}")
    return notes


def _paragraph(function: Callable[..., Any], number: int) -> str:
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[number].split())


def _entry_says(measure: str, constant: str) -> bool:
    try:
        return bool(catalog.find("measures", measure).constant(constant, False))
    except TiltmeterError:
        return False


def benchmark_notes(material: Material) -> Iterable[tuple[str, str]]:
    """The benchmarks with their citation."""
    found = {}
    for source in material.sources:
        for one in source.evaluations():
            name = source.benchmarks.get(one["benchmark"]["name"], one["benchmark"]["name"])
            found[name] = str(one["benchmark"].get("citation") or "no citation given")
    return found.items()
