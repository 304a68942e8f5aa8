"""Figures and tables for papers, by name: `figure` and `table` of stored runs, with the same numbers in both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter import catalog, figures
from tiltmeter.errors import UsageError, require_known
from tiltmeter.execution.options import DEFAULT_BY
from tiltmeter.families import all_families
from tiltmeter.reporting.draw import draw_estimates
from tiltmeter.reporting.narratives import overall_rows
from tiltmeter.reporting.typeset import FORMATS
from tiltmeter.runs import load_answers, load_run
from tiltmeter.runs.compare import compare
from tiltmeter.runs.details import with_details
from tiltmeter.runs.estimate import estimate_all
from tiltmeter.stats.settings import Settings, stored_settings
from tiltmeter.storage.compression import is_folder
from tiltmeter.storage.keywords import Translate, Translation, accept_old_keywords
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
    return {name: draw for family in families for name, draw in family.FIGURES.items()}


def names(kind: str) -> tuple[str, ...]:
    """Every figure or table: those of estimates, and each study's first by its name (its others are STUDY-NAME)."""
    return (*own(kind), *(catalog.public_name(name) for name in catalog.names("studies")))


def described(name: str) -> str:
    """A caption for a table of a study: its question. Tables of estimates say by themselves what they show."""
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
    raise UsageError(
        f"There is no {kind} called '{name}'. {kind.capitalize()}s: {', '.join(names(kind))}. "
        f"Further {kind}s of a study are STUDY-NAME, such as agreement-{'auc' if kind == 'figure' else 'differences'}.",
        code="unknown-name", kind=kind, name=name, names=list(names(kind)),
    )  # fmt: skip


def _translate(kind: str) -> Translate:
    """Keywords of the earlier version: `measure` and settings for what is made from estimates, else options of a study."""

    def translate(words: tuple[Any, ...], present: Mapping[str, Any], old: Mapping[str, Any]) -> Translation:
        if not old:
            return Translation(present)
        source, _ = parts_of(kind, str(words[0] if words else present["name"]))
        if source not in own(kind):
            spelled = ", ".join(f'"{name}": …' for name in old)
            return Translation({**present, "options": {**(present.get("options") or {}), **old}}, f"options={{{spelled}}}")
        names = [entry.name for entry in fields(Settings)]
        if unknown := [name for name in old if name not in (*names, "measure")]:
            require_known("option", unknown, ["measures", "scorers", "by", "settings", "baseline"])
        settings = {name: old[name] for name in names if name in old}
        new = {"measures": old["measure"]} if "measure" in old else {}
        new |= {"settings": Settings(**settings)} if settings else {}
        return Translation({**present, **new}, " and ".join(f"{name}=…" for name in new))

    return translate


@accept_old_keywords(_translate("figure"))
def figure(  # noqa: PLR0913 (shared by all figures, by name)
    name: str,
    runs: Runs,
    *,
    width: str | float = "one",
    scorers: Sequence[str] | None = None,
    without: Sequence[str] | str = (),
    measures: Sequence[str] | None = None,
    by: str | None = None,
    settings: Settings | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """A figure of stored runs as a matplotlib Figure.

    Args:
        name: `estimates`, one of a family's (`slots`), a study (`robustness`), or one of its others (`agreement-auc`).
        runs: A run folder, or several.
        width: One or two columns, or inches.
        scorers: Only these scorers. Without scorers and measures, `estimates` draws those of the headline.
        without: Leave out these bias types; of a study.
        measures: Only these measures; of estimates.
        by: Group by this column; of estimates.
        settings: Compute the intervals again by these settings; of estimates.
        options: Options of a study by name.

    Returns:
        A matplotlib Figure.

    Raises:
        UsageError: There is no such figure, or the runs have nothing to draw in it.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> import tiltmeter
        >>> with TemporaryDirectory() as folder:
        ...     _ = tiltmeter.run("plumb-mlm", "plumb-pairs", "sss", "bias_score", folder, limit=8, cache=False)
        ...     len(tiltmeter.figure("estimates", folder).axes)
        1
    """
    source, part = parts_of("figure", name)
    figures.inches(width)
    if source in own("figure"):
        _refuse_foreign(source, {"without": without, "options": options})
        chosen = stored_estimates(runs, measure=measures, scorers=scorers, by=by, settings=settings)
        named = bool(measures or scorers)
        level = settings.confidence if settings else stored_confidence(runs)
        return draw(chosen, width, named=source, by=by, all_metrics=named, confidence=level)
    _refuse_foreign(source, {"measures": measures, "by": by, "settings": settings})
    finding = study(source, runs, scorers=scorers, without=without, options=options)
    return finding.draw(_called(part, finding.figures, "figure", source) if part else None, width)


@accept_old_keywords(_translate("table"))
def table(  # noqa: PLR0913 (shared by all tables, by name)
    name: str,
    runs: Runs,
    *,
    scorers: Sequence[str] | None = None,
    without: Sequence[str] | str = (),
    measures: Sequence[str] | None = None,
    by: str | None = None,
    baseline: str | None = None,
    settings: Settings | None = None,
    options: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """A table of stored runs.

    Args:
        name: `estimates`, `comparison`, a study's main table, or another one (`agreement-differences`).
        runs: A run folder, or several.
        scorers: Only these scorers.
        without: Leave out these bias types; of a study.
        measures: Only these measures; of estimates and comparisons.
        by: Group by this column; of estimates and comparisons.
        baseline: The model to compare with; of comparisons.
        settings: Compute the intervals by these settings; of estimates and comparisons.
        options: Options of a study by name.

    Returns:
        The table, as pandas has it.

    Raises:
        UsageError: There is no such table, or the runs have nothing for it.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> import tiltmeter
        >>> with TemporaryDirectory() as folder:
        ...     _ = tiltmeter.run("plumb-mlm", "plumb-pairs", "sss", "bias_score", folder, limit=8, cache=False)
        ...     tiltmeter.table("estimates", folder)[["model", "measure", "n"]].values.tolist()
        [['plumb-mlm', 'bias_score', 8]]
    """
    source, part = parts_of("table", name)
    if source in own("table"):
        _refuse_foreign(source, {"without": without, "options": options})
    if source == ESTIMATES:
        _refuse_foreign(source, {"baseline": baseline})
        stored = stored_estimates(runs, measure=measures, scorers=scorers, by=by, settings=settings)
        shown = set(overall_rows(stored).index) | set(stored.index[stored["by"] == by])
        return stored.loc[sorted(shown)]
    if source == COMPARISON:
        answers = load_answers(_folders(runs), scorers)
        return compare(answers, baseline, measures, by or "all", **vars(settings or Settings()))
    _refuse_foreign(source, {"measures": measures, "by": by, "settings": settings, "baseline": baseline})
    finding = study(source, runs, scorers=scorers, without=without, options=options)
    return finding.tables[_called(part, finding.tables, "table", source)] if part else finding.table


def stored_confidence(runs: Runs) -> float | None:
    """The level of the intervals that runs stored; None where they differ."""
    levels = {stored_settings(load_run(folder).manifest.get("asked", {})).confidence for folder in _folders(runs)}
    return levels.pop() if len(levels) == 1 else None


def _refuse_foreign(source: str, options: Mapping[str, Any]) -> None:
    """Raise an error for a parameter that means nothing here."""
    for name, value in options.items():
        if value is not None and value != ():
            raise UsageError(f"'{name}' does not apply to {source}.", code="inapplicable-option", option=name, name=source)


def write(text: str, path: str | Path) -> Path:
    """Writes a typeset table to a file."""
    from tiltmeter.storage.files import write_text

    write_text(Path(path), text)
    return Path(path)


def form_of(path: str | Path | None, form: str | None) -> str:
    """latex or markdown: as requested, else by the file's suffix, else markdown."""
    if path is not None and is_folder(Path(path)):
        raise UsageError(f"{path} is a folder. Give a file name.", code="not-a-file", file=path)
    if form:
        return form
    if path is None:
        return "markdown"
    for known, suffix in FORMATS.items():
        if Path(path).suffix.lower() == suffix:
            return known
    suffixes = " or ".join(FORMATS.values())
    message = f"{path}: a table can be written as {suffixes}. Give such a file name, or use --format."
    raise UsageError(message, code="wrong-format", file=path)


def draw(
    estimates: pd.DataFrame,
    width: str | float = "one",
    *,
    named: str = ESTIMATES,
    by: str | None = None,
    all_metrics: bool = False,
    confidence: float | None = None,
) -> Any:
    """A figure of estimates in tiltmeter's style."""
    with figures.house_style(width):
        if named == ESTIMATES:
            drawn = draw_estimates(estimates, by or "bias_type", all_metrics=all_metrics, confidence=confidence)
        else:
            drawn = _family_figures()[named](estimates)
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

    They are computed again only for other settings, or for a grouping or a measure that a run does not have.
    """
    import pandas as pd

    folders = _folders(runs)
    answers = load_answers(folders)  # raises an error for runs that cannot be combined
    stored = [with_details(load_run(folder)).estimates for folder in folders]
    if settings is None and all(len(table) and (by is None or by in set(table["by"])) for table in stored):
        rows = pd.concat(stored, ignore_index=True)
        if _names("measure", measure) <= set(rows["measure"]):
            return _only(_only(rows, "measure", measure), "scorer", scorers)
    chosen = load_answers(folders, scorers) if scorers else answers
    return estimate_all(chosen, measure, by or DEFAULT_BY, settings or _settings_of(folders))


def _settings_of(folders: Sequence[str | Path]) -> Settings:
    """The settings that all runs were estimated by; the default where they differ."""
    several = {stored_settings(load_run(folder).manifest.get("asked", {})) for folder in folders}
    return several.pop() if len(several) == 1 else Settings()


def _names(column: str, wanted: Sequence[str] | None) -> set[str]:
    """Names as tables have them; those in files of the user's are loaded."""
    return {catalog.name_of(f"{column}s", name).replace("-", "_") for name in wanted or ()}


def _only(rows: pd.DataFrame, column: str, wanted: Sequence[str] | None) -> pd.DataFrame:
    if not wanted:
        return rows
    names = _names(column, wanted)
    if lacking := sorted(names - set(rows[column])):
        there = ", ".join(dict.fromkeys(rows[column]))
        message = f"These runs have no estimates with {column} {', '.join(lacking)}. There are: {there}."
        raise UsageError(message, code="empty-selection", column=column, names=list(wanted))
    return rows[rows[column].isin(names)]


def _called(part: str, there: Any, kind: str, study_name: str) -> str:
    """The name as the study writes it; hyphens and underscores are the same."""
    for known in there:
        if known.lower().replace("_", "-") == part:
            return str(known)
    listed = ", ".join(f"{study_name}-{known}" for known in there if known.replace("_", "-") != study_name)
    raise UsageError(
        f"{study_name} has no {kind} '{part}' here. {kind.capitalize()}s: {study_name}{f', {listed}' if listed else ''}.",
        code="unknown-name", kind=kind, name=part, study=study_name,
    )  # fmt: skip


def _folders(runs: Runs) -> list[str | Path]:
    return [runs] if isinstance(runs, str | Path) else list(runs)
