"""Method notes: the formula and citation of each number on the page, from the code's docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from tiltmeter import catalog
from tiltmeter.families import find_family
from tiltmeter.probes import VIEWS
from tiltmeter.reporting.html.material import Material
from tiltmeter.reporting.html.measures import is_one_sided, without_name
from tiltmeter.stats.intervals import bounded_interval

WEIGHTED = "Overall: the mean of the bias types, weighted by their n."


@dataclass(frozen=True)
class Note:
    """One measure or score."""

    name: str
    summary: str
    formula: str
    neutral: str
    view: str
    citation: str


def measure_notes(material: Material) -> list[Note]:
    """The measures on the page."""
    return notes_of("measures", material.estimates["measure"])


def notes_of(kind: str, names: Iterable[Any]) -> list[Note]:
    """A note on each of these measures or scorers, once."""
    return [_note(kind, name) for name in dict.fromkeys(map(str, names))]


def scorer_notes(material: Material) -> list[Note]:
    """The scorers on the page that have estimates over all items."""
    rows = material.estimates
    return [_note("scorers", str(name)) for name in sorted(rows[rows["by"] == "all"]["scorer"].unique()) if name]


def _note(kind: str, name: str) -> Note:
    if name not in catalog.names(kind):
        return Note(name, "Not part of this version of tiltmeter: imported, or added by another package.", "", "", "", "")
    entry = catalog.find(kind, name)
    spec = entry.spec if kind == "measures" else None
    neutral = spec.neutral if spec else None
    weighted = f" {WEIGHTED}" if spec and spec.weighted else ""
    view = VIEWS.get(entry.scorer.view) if kind == "scorers" else None
    return Note(
        name=name,
        summary=_marked(without_name(entry.summary, name)),
        formula=_marked(_before_examples(inspect.getdoc(entry.function) or "")) + weighted,
        neutral="" if neutral is None else f"{neutral:g}",
        view=(inspect.getdoc(view.ask) or "").split("\n", 1)[0] if view else "",
        citation=entry.citation,
    )


def _before_examples(text: str) -> str:
    """The text of a docstring, without its doctest.

    >>> _before_examples("Mean of x.\\n\\n>>> 1\\n1")
    'Mean of x.'
    """
    return " ".join(text.split(">>>", 1)[0].split())


def _marked(text: str) -> Markup:
    """The text with its Markdown marks as the page shows them: `code` and *stress*.

    >>> _marked("Columns in `by` are taken *apart* (a < b).")
    Markup('Columns in <code>by</code> are taken <em>apart</em> (a &lt; b).')
    """
    shown = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    return Markup(re.sub(r"(?<!\w)\*(\S(?:[^*]*\S)?)\*(?!\w)", r"<em>\1</em>", shown))


def resampling_notes(material: Material) -> list[tuple[str, str]]:
    """How intervals and p-values were computed, from the docstrings of the functions that did it."""
    families = [find_family(name) for name, answers in material.answers.items() if len(answers)]
    notes = [(family.TITLE, _paragraph(family.estimate, 1)) for family in families]
    if any(is_one_sided(name) for name in set(material.estimates["measure"])):
        notes.append(("Near the end of a range", f"{_paragraph(bounded_interval, 0)} {_paragraph(bounded_interval, 1)}"))
    if len(material.models) > 1:
        notes += [(f"Two models: {family.TITLE}", _paragraph(family.compare, 1)) for family in families]
    return [(title, note) for title, note in notes if note]


def _paragraph(function: Callable[..., Any], number: int) -> str:
    parts = (inspect.getdoc(function) or "").split("\n\n")
    return _marked(" ".join(parts[number].split())) if len(parts) > number else ""


def benchmark_notes(material: Material) -> Iterable[tuple[str, str]]:
    """The benchmarks with their citation."""
    citations = {}
    for source in material.sources:
        for evaluation in source.evaluations():
            name = source.benchmarks.get(evaluation["benchmark"]["name"], evaluation["benchmark"]["name"])
            citations[name] = str(evaluation["benchmark"].get("citation") or "no citation given")
    return citations.items()
