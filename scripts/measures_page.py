"""Writes docs/measures.md, measures and scorers by family, from their declarations: `python scripts/measures_page.py`
(`--check` compares)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from generated_page import ROOT, write_or_check

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.catalog.declarations import EVERYWHERE, Measure, Scorer
from tiltmeter.families import all_families
from tiltmeter.families.kit.protocol import measures_of

PAGE = ROOT / "docs" / "measures.md"
HEAD = """# Measures and scorers

*Reference · look up. Every measure and scorer by family, from its declaration.*

A **scorer** gives each sentence a score; a **measure** makes one number of many answers, with an interval. *Neutral* is the
value that means no lean; measures without one describe quality, cost or a part of another measure. A *variant* replicates
published code that differs from the paper, and is computed only when it is named. `tiltmeter list measures` prints this too.
[Choose a metric](choose.md) says which one to use, and [Faithful to the papers](faithful.md) what each was checked against.
"""
COLUMNS = "| measure | gives | role | neutral | range | unit | source |\n|---|---|---|---|---|---|---|"


def page() -> str:
    """Text of the page: a section for each family, then the scorers."""
    parts = [HEAD]
    for name, family in all_families().items():
        entries = sorted(measures_of(family), key=lambda entry: entry.name)
        parts.append(f"## {family.TITLE}\n\nFamily `{name}`; n counts {family.UNIT}.\n")
        parts.append("\n".join([COLUMNS, *(measure_row(entry) for entry in entries if not entry.variant_of)]) + "\n")
        if variants := [entry for entry in entries if entry.variant_of]:
            parts.append("\n".join(variant_rows(variants)) + "\n")
    parts += ["\n".join(rows) + "\n" for rows in (scorer_rows(), field_rows())]
    return "\n".join(parts)


def measure_row(entry: Entry) -> str:
    """Describe one measure."""
    spec = entry.spec
    cells = (f"`{entry.name}`", _about(entry), spec.role, _number(spec.neutral), _range(spec), spec.unit, spec.cites)
    return _row(cells)


def variant_rows(entries: list[Entry]) -> Iterator[str]:
    """Describe the variants of a family's measures."""
    yield "| variant | of | gives | source |\n|---|---|---|---|"
    for entry in entries:
        yield _row((f"`{entry.name}`", f"`{entry.variant_of}`", _about(entry), entry.citation))


def scorer_rows() -> Iterator[str]:
    """Describe all scorers."""
    yield "## Scorers\n\nScorers of pairs read one *view* of a sentence: how its tokens are masked.\n"
    yield "| scorer | gives | view | variant of | version | source |\n|---|---|---|---|---|---|"
    for entry in catalog.entries("scorers"):
        spec = entry.declaration
        assert isinstance(spec, Scorer)
        variant = f"`{entry.variant_of}`" if entry.variant_of else ""
        yield _row((f"`{entry.name}`", _about(entry), spec.view, variant, str(spec.version), spec.cites))


def field_rows() -> Iterator[str]:
    """Describe the fields of a declaration, from its docstring."""
    yield "## Fields of a measure\n"
    yield "`MEASURE` in a measure's file declares how its number is treated ([Add your own](extend.md#a-measure)).\n"
    yield "| field | meaning |\n|---|---|"
    attributes = (inspect.getdoc(Measure) or "").partition("Attributes:\n")[2].partition("\n\nRaises:")[0]
    for name, meaning in re.findall(r"^    (\w+): ((?:.|\n {8})+)", attributes, re.M):
        yield _row((f"`{name}`", " ".join(meaning.split())))


def _about(entry: Entry) -> str:
    """Take the first sentence of the docstring, without the name."""
    text = " ".join((entry.module.__doc__ or "").strip().split("\n\n")[0].split())
    return text.removeprefix(f"{entry.name}: ").removeprefix(f"{entry.name.upper()}: ")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _range(spec: Measure) -> str:
    low, high = spec.range
    return "" if spec.range == EVERYWHERE else f"{low:g} to {high:g}".replace("-", "−").replace("inf", "∞")


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    write_or_check(PAGE, page())
