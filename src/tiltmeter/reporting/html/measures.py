"""Estimates as tables with bars: the sheets of every family, one table per measure, overall and by group."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from tiltmeter import catalog
from tiltmeter.catalog.declarations import Measure
from tiltmeter.display import p_cell
from tiltmeter.families import find_family
from tiltmeter.families.kit.story import Sheet, capital, is_percentage
from tiltmeter.reporting.columns import CLUSTERS
from tiltmeter.reporting.html.bars import Scale, axis, bar, tone
from tiltmeter.reporting.html.material import Material
from tiltmeter.reporting.terminal import neutral_text
from tiltmeter.stats.estimates import details_of

if TYPE_CHECKING:
    import pandas as pd

MOST_NAMED = 4
DIFFERENCE = "|difference|"


@dataclass(frozen=True)
class Line:
    """One estimate as text, with its bar."""

    model: str
    scorer: str
    group: str
    value: str
    interval: str
    n: str
    missing: str
    ties: str
    p: str
    bar: Markup
    tone: str
    note: str


@dataclass(frozen=True)
class Block:
    """A table of lines on one axis. `where` selects its rows among the embedded estimates, for download."""

    title: str
    about: str
    neutral: str
    lines: Sequence[Line]
    axis: Markup
    where: dict[str, Any] = field(default_factory=dict)
    columns: Sequence[str] = ("scorer", "model")
    notes: Sequence[str] = ()

    @property
    def where_json(self) -> str:
        """Conditions for the download button."""
        return json.dumps(self.where, ensure_ascii=False)


@dataclass(frozen=True)
class Overall:
    """Overall estimates: a table per measure. The first ones are unfolded."""

    title: str
    about: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Part:
    """Estimates by a column: first the headline of each model, and any other on request."""

    title: str
    about: str
    by: str
    block: Block
    first: str

    @property
    def where_json(self) -> str:
        """Conditions for the button that downloads the rows of all scorers and measures."""
        return json.dumps({"benchmark": self.block.where["benchmark"], "by": self.by}, ensure_ascii=False)


@dataclass(frozen=True)
class Place:
    """One benchmark: overall estimates, and estimates by group."""

    benchmark: str
    overall: tuple[Overall, ...]
    parts: tuple[Part, ...]

    @property
    def unfolded(self) -> int:
        """How many tables of overall estimates are unfolded."""
        return 1 if self.parts else 2


@dataclass(frozen=True)
class Section:
    """The section of one family."""

    name: str
    title: str
    lead: str
    places: tuple[Place, ...]

    @property
    def id(self) -> str:
        """The section's id: a family of another package may be called as a section of the page is."""
        return f"family-{self.name}" if self.name in taken_ids() else self.name

    @property
    def short(self) -> str:
        """A short name for the list of sections."""
        return self.name.replace("_", " ").capitalize()


@cache
def taken_ids() -> frozenset[str]:
    """The ids that the templates of the page give themselves."""
    templates = [path for path in (resources("tiltmeter.reporting.html") / "templates").iterdir() if path.is_file()]
    return frozenset(found for path in templates for found in re.findall(r'\bid="([\w-]+)"', path.read_text("utf-8")))


def sections(material: Material) -> list[Section]:
    """The families of the page, in the order of the run."""
    made = []
    for name, rows in material.estimates.groupby("family", sort=False):
        family = find_family(str(name))
        sheets = list(family.sheets(rows))
        places = tuple(_place(benchmark, sheets) for benchmark in dict.fromkeys(sheet.benchmark for sheet in sheets))
        made.append(Section(str(name), family.TITLE, _lead(inspect.getdoc(family) or ""), places))
    return made


def _lead(text: str) -> str:
    """The docstring of a family, without its name.

    >>> _lead("Pairs: two sentences. Which of them?\\n\\nA scorer turns them into numbers.\\n")
    'Two sentences. Which of them? A scorer turns them into numbers.'
    """
    words = " ".join(text.split())
    return capital(words.partition(": ")[2] or words)


def _place(benchmark: str, sheets: Sequence[Sheet]) -> Place:
    of_benchmark = [sheet for sheet in sheets if sheet.benchmark == benchmark]
    whole = [sheet for sheet in of_benchmark if sheet.overall and len(sheet.rows)]
    overall = tuple(Overall(sheet.title if sheet.pivot else "", sheet.about, tuple(_blocks(sheet))) for sheet in whole)
    return Place(benchmark, overall, tuple(_part(sheet) for sheet in of_benchmark if not sheet.overall and len(sheet.rows)))


EACH_HEADLINE = "the headline of each model"


def _part(sheet: Sheet) -> Part:
    """One table with the headline measure of each model."""
    shown = sheet.rows[["measure", "scorer"]].drop_duplicates().to_numpy()
    first = f"first shown: {' by '.join(shown[0])}" if len(shown) == 1 else EACH_HEADLINE
    return Part(sheet.title, sheet.about, sheet.by, _block(sheet, _by_mean(sheet.rows), str(shown[0][0])), first)


def _blocks(sheet: Sheet) -> Iterator[Block]:
    """One table per measure; also per scorer where rows are groups, because these rows do not name the scorer."""
    keys = ["measure"] if sheet.rows_are == "scorer" else ["measure", "scorer"]
    several = sheet.rows["scorer"].nunique() > 1 and "scorer" in keys
    for (measure, *scorer), rows in sheet.rows.groupby(keys, sort=False, dropna=False):
        title = str(measure) if sheet.pivot else sheet.title
        yield _block(sheet, rows, f"{title} · {scorer[0]}" if several else title)


def _block(sheet: Sheet, rows: pd.DataFrame, title: str) -> Block:
    measure, columns = str(rows["measure"].iloc[0]), (sheet.rows_are, "model")
    where = {"benchmark": sheet.benchmark, "measure": measure}
    where |= {name: str(rows[name].iloc[0]) for name in ("by", "scorer") if rows[name].nunique() == 1}
    rows = rows.iloc[np.argsort(rows[columns[0]].factorize()[0], kind="stable")]  # rows to compare become neighbours
    scale = scale_of(rows, measure)
    lines = [line(row, scale, leaning=leans(measure)) for _, row in rows.iterrows()]
    neutral = f"neutral {scale.neutral:g}" if math.isfinite(scale.neutral) else neutral_text(measure) or "no neutral point"
    notes = remarks((shown.note, ", ".join(getattr(shown, name) for name in columns)) for shown in lines)
    return Block(title, about(measure), neutral, lines, axis(scale), where, columns, notes)


def _by_mean(rows: pd.DataFrame) -> pd.DataFrame:
    """Groups by their mean over models, the highest first; a difference between groups comes last."""
    mean = rows.groupby("group")["value"].transform("mean").fillna(-math.inf)
    return rows.assign(_last=rows["group"] == DIFFERENCE, _mean=mean).sort_values(
        ["_last", "_mean", "group"], ascending=[True, False, True], kind="stable"
    )


def remarks(notes: Iterable[tuple[str, str]]) -> list[str]:
    """Each note once, with the rows that it is about."""
    about_rows: dict[str, list[str]] = {}
    for note, row in notes:
        if note:
            about_rows.setdefault(note, []).append(row)
    return [
        f"{'; '.join(rows[:MOST_NAMED])}{f' and {len(rows) - MOST_NAMED} more' if len(rows) > MOST_NAMED else ''}: {note}."
        for note, rows in about_rows.items()
    ]


def spec_of(measure: str) -> Measure | None:
    """Declaration of a measure; None for a measure that this version does not know."""
    return catalog.find("measures", measure).spec if measure in catalog.names("measures") else None


def leans(measure: str) -> bool:
    """Return True if a measure gives a direction: above the neutral point is towards the stereotypes."""
    spec = spec_of(measure)
    return spec is not None and spec.leans


def is_one_sided(measure: str) -> bool:
    """Return True if the neutral point of a measure is an end of its range."""
    spec = spec_of(measure)
    return spec is not None and spec.is_one_sided


def has_neutral(measure: str) -> bool:
    """Return True if a measure has a neutral point."""
    spec = spec_of(measure)
    return spec is not None and spec.neutral is not None


def bounds_of(measure: str) -> tuple[float, float] | None:
    """The limits of the axis for a percentage; None for other measures."""
    return (0.0, 100.0) if is_percentage(measure) else None


def scale_of(rows: pd.DataFrame, measure: str) -> Scale:
    """One axis for all rows except the difference of groups, which has its own neutral point."""
    own = rows[rows["group"] != DIFFERENCE] if (rows["group"] != DIFFERENCE).any() else rows
    neutral = own["neutral"].dropna()
    values = own[["value", "low", "high"]].to_numpy(dtype=np.float64).ravel()
    return Scale.around(values, float(neutral.iloc[0]) if len(neutral) else math.nan, bounds_of(measure))


def line(row: Any, scale: Scale, *, leaning: bool) -> Line:
    """An estimate as text."""
    gap = row["group"] == DIFFERENCE
    colour = "plain" if gap else tone(row, leaning)
    p = row["p"] if not np.isfinite(row["p_holm"]) else row["p_holm"]
    places = scale.decimals_for(row["low"], row["high"])
    interval = f"{scale.text(row['low'], places)} to {scale.text(row['high'], places)}" if np.isfinite(row["low"]) else "–"
    note = row["note"] if isinstance(row["note"], str) else ""
    return Line(
        model=str(row["model"]),
        scorer=str(row["scorer"]),
        group="all" if row["by"] == "all" else str(row["group"]),
        value=scale.text(row["value"], places),
        interval=interval,
        n=_count(row["n"]) + _clusters(row),
        **{name: _count(row[column]) for name, column in (("missing", "n_missing"), ("ties", "n_ties"))},
        p=p_cell(p, "–"),
        bar=Markup("") if gap else bar(row, scale, colour),
        tone=colour,
        note=note,
    )


def _clusters(row: Any) -> str:
    """The number of independent clusters, where it differs from n."""
    details = details_of(row)
    found = [
        f" ({int(details[name]):,} {word})" for word, name in CLUSTERS.items() if details.get(name, row["n"]) != row["n"]
    ]
    return found[0] if found else ""


def _count(value: Any) -> str:
    return f"{int(value):,}" if np.isfinite(value) else "–"


def about(measure: str) -> str:
    """One line about a measure; empty for a measure that this version does not know."""
    if measure not in catalog.names("measures"):
        return ""
    return without_name(catalog.find("measures", measure).summary, measure)


def without_name(summary: str, name: str) -> str:
    """A summary without the name at its start, because the page shows the name already.

    >>> without_name("Bias score: the percentage of pairs", "bias_score")
    'The percentage of pairs'
    """
    first, _, rest = summary.partition(": ")
    same = first.lower().replace(" ", "_").replace("-", "_") == name.replace("-", "_")
    return rest[:1].upper() + rest[1:] if same and rest else summary
