"""Figures and tables for papers, by name: `figure` and `table` of stored runs, with the same numbers in both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter import catalog, figures
from tiltmeter.errors import TiltmeterError
from tiltmeter.families import all_families
from tiltmeter.reporting.draw import draw_estimates
from tiltmeter.reporting.told import overall_rows
from tiltmeter.reporting.typeset import FORMATS
from tiltmeter.runs import load_answers, load_run
from tiltmeter.runs.compare import compare
from tiltmeter.runs.estimate import estimate_all
from tiltmeter.runs.options import DEFAULT_BY
from tiltmeter.stats.settings import Settings
from tiltmeter.storage.packed import is_folder
from tiltmeter.studies import study

if TYPE_CHECKING:
    import pandas as pd

Runs = str | Path | Sequence[str | Path]
ESTIMATES, COMPARISON = "estimates", "comparison"


def own(kind: str) -> dict[str, str]:
    """The figures or tables made from estimates, with a line about each; all others come from a study."""
    if kind == "table":
        return {
            ESTIMATES: "Estimates as the runs stored them: a row per model, scorer and group, a column per measure.",
            COMPARISON: "Paired differences between models, with intervals and p.",
        }
    drawn = {ESTIMATES: "Estimates with intervals around the neutral point, per model and group, as the runs stored them."}
    return drawn | {name: (draw.__doc__ or "").split("\n")[0] for name, draw in _family_figures().items()}


def _family_figures() -> dict[str, Callable[[Any], Any]]:
    families = all_families(lambda _: None).values()
    return {name: draw for family in families for name, draw in getattr(family, "FIGURES", {}).items()}


def names(kind: str) -> tuple[str, ...]:
    """Every figure or table: those of estimates, and each study's first by its name (its others are STUDY-NAME)."""
    return (*own(kind), *(catalog.public_name(name) for name in catalog.names("studies")))


def described(name: str) -> str:
    """A caption for a table of a study: what it asks. Tables of estimates say by themselves what they show."""
    source, _ = parts_of("table", name)
    return "" if source in own("table") else catalog.find("studies", source).summary


def parts_of(kind: str, name: str) -> tuple[str, str]:
    """The (study, its figure or table) that a name means; for those of estimates, (name, "").

    >>> parts_of("figure", "agreement-auc"), parts_of("figure", "pll_gap"), parts_of("table", "estimates")
    (('agreement', 'auc'), ('pll-gap', ''), ('estimates', ''))
    """
    wanted = name.strip().lower().replace("_", "-")
    for known in names(kind):
        if wanted == known:
            return known, ""
        if wanted.startswith(f"{known}-") and known not in own(kind):
            return known, wanted.removeprefix(f"{known}-")
    raise TiltmeterError(
        f"There is no {kind} called '{name}'. {kind.capitalize()}s: {', '.join(names(kind))}. "
        f"Further {kind}s of a study are STUDY-NAME, such as agreement-{'auc' if kind == 'figure' else 'differences'}."
    )


def figure(name: str, runs: Runs, *, width: str | float = "one", **options: Any) -> Any:
    """A figure of stored runs as a matplotlib Figure: `estimates`, one of a family's (`slots`), a study (`robustness`), or
    one of its others (`agreement-auc`). `width`: one or two columns, or inches. The options are those of
    `stored_estimates` or of the study.
    """
    source, part = parts_of("figure", name)
    figures.inches(width)
    if source in own("figure"):
        return draw(stored_estimates(runs, **options), width, named=source, by=options.get("by"))
    finding = study(source, runs, **options)
    return finding.draw(_called(part, finding.figures, "figure", source) if part else None, width)


def table(name: str, runs: Runs, **options: Any) -> pd.DataFrame:
    """A table of stored runs: `estimates`, `comparison`, a study's main table, or another one (`agreement-differences`)."""
    source, part = parts_of("table", name)
    if source == ESTIMATES:
        stored = stored_estimates(runs, **options)
        shown = set(overall_rows(stored).index) | set(stored.index[stored["by"] == options.get("by")])
        return stored.loc[sorted(shown)]
    if source == COMPARISON:
        answers = load_answers(_folders(runs), options.pop("scorers", None))
        return compare(answers, measures=options.pop("measure", None), **{"by": "all", **options})
    finding = study(source, runs, **options)
    return finding.tables[_called(part, finding.tables, "table", source)] if part else finding.table


def write(text: str, path: str | Path) -> Path:
    """Writes a typeset table to a file."""
    from tiltmeter.storage.files import write_text

    write_text(Path(path), text)
    return Path(path)


def form_of(path: str | Path | None, form: str | None) -> str:
    """latex or markdown: as requested, else by the file's suffix, else markdown."""
    if path is not None and is_folder(Path(path)):
        raise TiltmeterError(f"{path} is a folder. Give a file name.")
    if form:
        return form
    if path is None:
        return "markdown"
    for known, suffix in FORMATS.items():
        if Path(path).suffix.lower() == suffix:
            return known
    suffixes = " or ".join(FORMATS.values())
    raise TiltmeterError(f"{path}: a table can be written as {suffixes}. Give such a file name, or use --format.")


def draw(estimates: pd.DataFrame, width: str | float = "one", *, named: str = ESTIMATES, by: str | None = None) -> Any:
    """A figure of estimates in tiltmeter's style."""
    with figures.house_style(width):
        drawn = draw_estimates(estimates, by or "bias_type") if named == ESTIMATES else _family_figures()[named](estimates)
        drawn.draw_without_rendering()
    return drawn


def stored_estimates(
    runs: Runs,
    *,
    measure: Sequence[str] | None = None,
    scorers: Sequence[str] | None = None,
    by: str | None = None,
    settings: Settings | None = None,
) -> pd.DataFrame:
    """The estimates as the runs stored them, so that figures and tables show the same numbers as the runs.

    They are computed again only for other settings, or for a grouping that a run does not have.
    """
    import pandas as pd

    folders = _folders(runs)
    answers = load_answers(folders)  # raises an error for runs that cannot be combined
    stored = [load_run(folder).estimates for folder in folders]
    if settings is None and all(len(table) and (by is None or by in set(table["by"])) for table in stored):
        return _only(_only(pd.concat(stored, ignore_index=True), "measure", measure), "scorer", scorers)
    chosen = load_answers(folders, scorers) if scorers else answers
    return estimate_all(chosen, measure, by or DEFAULT_BY, settings or Settings())


def _only(rows: pd.DataFrame, column: str, wanted: Sequence[str] | None) -> pd.DataFrame:
    if not wanted:
        return rows
    kept = rows[rows[column].isin([name.replace("-", "_") for name in wanted])]
    if not len(kept):
        there = ", ".join(dict.fromkeys(rows[column]))
        raise TiltmeterError(f"These runs have no estimates with {column} {', '.join(wanted)}. There are: {there}.")
    return kept


def _called(part: str, there: Any, kind: str, study_name: str) -> str:
    """The name as the study writes it; hyphens and underscores are the same."""
    for known in there:
        if known.lower().replace("_", "-") == part:
            return str(known)
    listed = ", ".join(f"{study_name}-{known}" for known in there if known.replace("_", "-") != study_name)
    raise TiltmeterError(
        f"{study_name} has no {kind} '{part}' here. {kind.capitalize()}s: {study_name}{f', {listed}' if listed else ''}."
    )


def _folders(runs: Runs) -> list[str | Path]:
    return [runs] if isinstance(runs, str | Path) else list(runs)
