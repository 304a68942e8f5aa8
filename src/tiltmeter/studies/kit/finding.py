"""The result of a study: tidy tables, figures that can be drawn, and sentences computed from the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter import figures
from tiltmeter.display import Shown
from tiltmeter.errors import RunError, UsageError, require_known
from tiltmeter.storage.files import write_json, write_table, write_text
from tiltmeter.storage.seals import adding
from tiltmeter.storage.spreadsheet import csv_text

if TYPE_CHECKING:
    import pandas as pd

Draw = Callable[[], Any]


@dataclass(frozen=True, repr=False)
class Finding(Shown):
    """The result of one study. The first table is the main one; figures are drawn on request."""

    study: str
    tables: Mapping[str, pd.DataFrame]
    figures: Mapping[str, Draw]
    sentences: Sequence[str]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, table in self.tables.items():
            refuse_gaps(self.study, name, table)

    def __repr__(self) -> str:
        """Describe the finding in one line."""
        figures = f"; figures {', '.join(self.figures)}" if self.figures else ""
        return f"<Finding of {self.study}: tables {', '.join(self.tables)}{figures}>"

    @property
    def table(self) -> pd.DataFrame:
        """The main table."""
        return next(iter(self.tables.values()))

    def draw(self, name: str | None = None, width: str | float = "one") -> Any:
        """A figure by name (default: the first) as a matplotlib Figure, one or two columns, or a number of inches, wide."""
        if not name and not self.figures:
            raise UsageError(
                f"{self.study} has no figure for these runs, only the tables {', '.join(self.tables)}.",
                code="unknown-name",
                kind="figure",
                study=self.study,
            )
        name = name or next(iter(self.figures))
        require_known("figure", name, self.figures, place=self.study, study=self.study)
        with figures.house_style(width):
            figure = self.figures[name]()
            figure.draw_without_rendering()  # ticks are made late, and would look different outside this style
        return figure

    def save(self, folder: str | Path) -> list[Path]:
        """Write every table as CSV and Parquet, every figure as PNG, SVG and PDF, and the sentences with the settings.

        In `studies/` of a run folder, they are sealed with the run.
        """
        with adding(Path(folder)):
            return self._write(Path(folder))

    def _write(self, folder: Path) -> list[Path]:
        import pyarrow as pa

        from tiltmeter import __version__

        written = []
        for name, table in self.tables.items():
            write_text(folder / f"{name}.csv", csv_text(table))
            write_table(folder / f"{name}.parquet", pa.Table.from_pandas(table, preserve_index=False))
            written += [folder / f"{name}.csv", folder / f"{name}.parquet"]
        for name in self.figures:
            written += figures.save(self.draw(name), folder / f"{name}")
        facts = {"study": self.study, "tiltmeter": __version__, **self.facts, "sentences": list(self.sentences)}
        write_json(folder / "finding.json", facts)
        return [*written, folder / "finding.json"]


def refuse_gaps(study: str, name: str, table: pd.DataFrame) -> None:
    """Raises an error for a table with missing values, which readers could overlook, unless the row's `note` says why."""
    if not len(table):
        raise RunError(
            f"{study}: the table '{name}' would be empty, because these runs have nothing to study.",
            code="too-few",
            study=study,
            table=name,
        )
    holes = table[table["note"] == ""].isna() if "note" in table else table.isna()
    if holes.to_numpy().any():
        column = str(holes.any().idxmax())
        row = table.loc[holes.index[holes[column]][0]]
        where = ", ".join(str(value) for key, value in row.items() if isinstance(value, str) and key != column)
        raise RunError(
            f"{study}: '{column}' cannot be computed for {where}: the scores are constant or too few.",
            code="undefined-result",
            study=study,
            column=column,
        )
