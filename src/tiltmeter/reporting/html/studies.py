"""The studies in a run's folder: their sentences, figures and tables."""

from __future__ import annotations

import base64
import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter import catalog
from tiltmeter.display import significant_text
from tiltmeter.errors import TiltmeterError
from tiltmeter.reporting.html.material import Material
from tiltmeter.reporting.html.measures import without_name
from tiltmeter.storage.seals import is_added, read_seal
from tiltmeter.storage.spreadsheet import bare

MOST_ROWS = 12
MOST_FIGURE_BYTES = 400_000
"""A larger SVG (every point is drawn) is replaced by the PNG."""


@dataclass(frozen=True)
class Figure:
    """A picture as a data URL: no script in it can run, and its ids cannot clash with those of another picture."""

    name: str
    source: str
    alt: str


@dataclass(frozen=True)
class Table:
    """The first rows of a table; the whole table can be downloaded."""

    name: str
    file: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    total: int


@dataclass(frozen=True)
class Study:
    """One study of a run."""

    name: str
    run: str
    summary: str
    sentences: tuple[str, ...]
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]
    citation: str
    note: str = ""


def studies(material: Material, files: dict[str, str]) -> list[Study]:
    """Every study of every run; the text of its tables is put into `files` for download."""
    made = []
    for source in material.sources:
        folder = source.folder and source.folder / "studies"
        for path in sorted(folder.iterdir()) if folder and folder.is_dir() else ():
            if path.is_dir() and any(path.glob("*.csv")):
                made.append(_study(path, source.label, files) if _is_sealed(path) else _changed(path, source.label))
    return made


CHANGED = "Files of this study are not as the study wrote them, so none is shown. Run the study again."
NO_SENTENCES = "finding.json is missing or damaged, so the sentences of this study are not shown. Run the study again."


def _is_sealed(folder: Path) -> bool:
    """Return True if every file of a study is unchanged."""
    run = folder.parent.parent
    manifest = read_seal(run)
    return all(is_added(run, manifest, path) for path in folder.rglob("*") if path.is_file())


def _changed(folder: Path, run: str) -> Study:
    return Study(folder.name, run, _summary(folder.name), (), (), (), "", CHANGED)


def _study(folder: Path, run: str, files: dict[str, str]) -> Study:
    facts, note = _facts(folder)
    sentences = tuple(map(str, facts.get("sentences", ())))
    name = str(facts.get("study", folder.name)).replace("_", "-")
    stems = {path.stem for path in (*folder.glob("*.svg"), *folder.glob("*.png"))}
    figures = tuple(_figure(folder, stem, name) for stem in sorted(stems, key=lambda stem: (stem != name, stem)))
    paths = sorted(folder.glob("*.csv"), key=lambda path: (path.stem != name, path.stem))
    tables = tuple(_table(path, f"{run}-{folder.name}-{path.name}", files) for path in paths)
    return Study(name, run, _summary(name), sentences, figures, tables, str(facts.get("citation", "")), note)


def _facts(folder: Path) -> tuple[dict[str, Any], str]:
    try:
        return json.loads((folder / "finding.json").read_text(encoding="utf-8")), ""
    except (OSError, ValueError):
        return {}, NO_SENTENCES


def _summary(name: str) -> str:
    try:
        return without_name(catalog.find("studies", name).summary, name)
    except TiltmeterError:
        return ""


def _figure(folder: Path, stem: str, study: str) -> Figure:
    drawing, picture = folder / f"{stem}.svg", folder / f"{stem}.png"
    small = drawing.is_file() and (drawing.stat().st_size <= MOST_FIGURE_BYTES or not picture.is_file())
    path, kind = (drawing, "svg+xml") if small else (picture, "png")
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    what = study if stem == study else f"{study}, {stem.replace('-', ' ')}"
    return Figure(
        stem, f"data:image/{kind};base64,{data}", f"Figure of the study {what}; its numbers are in the tables below."
    )


def _table(path: Path, file: str, files: dict[str, str]) -> Table:
    text = path.read_bytes().decode("utf-8")
    files[file] = text
    rows = [[bare(cell) for cell in row] for row in csv.reader(io.StringIO(text, newline=""))]
    head, body = (rows[0], rows[1:]) if rows else ([], [])
    shown = [tuple(_cell(cell) for cell in row) for row in body[:MOST_ROWS]]
    numeric = tuple(all(_is_number(row[n]) for row in body[:MOST_ROWS]) for n in range(len(head)))
    return Table(path.stem, file, tuple(head), tuple(shown), numeric, len(body))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _cell(text: str) -> str:
    """A cell as text, with long numbers shortened; the download has them in full."""
    if _is_number(text) and "." in text:
        return significant_text(float(text), 4).replace("-", "−")
    return text
