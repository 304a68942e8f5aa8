"""What goes into a paper, by name: `figure` and `table` of stored runs, the same numbers in both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter import catalog, figures
from tiltmeter.comparing import compare
from tiltmeter.errors import TiltmeterError
from tiltmeter.group_estimating import Settings
from tiltmeter.reporting.drawing import draw_estimates, draw_slots
from tiltmeter.reporting.typesetting import FORMATS
from tiltmeter.runs import estimate_all, load_run, load_scores, load_slots
from tiltmeter.studies import study

if TYPE_CHECKING:
    import pandas as pd

Runs = str | Path | Sequence[str | Path]
OWN = {"figure": ("estimates", "slots"), "table": ("estimates", "comparison")}
"""What is made of estimates; all other figures and tables come out of a study."""

WHOLE = ("all", "group", "gap", "test", "family", "attributes", "domain")
"""What a row can be about that is no part of another: all pairs, groups of terms, association tests."""


def names(kind: str) -> tuple[str, ...]:
    """Every figure or table there is: ours, and the studies by name (their first; others are called STUDY-NAME)."""
    return (*OWN[kind], *(catalog.public_name(name) for name in catalog.names("studies")))


def parts_of(kind: str, name: str) -> tuple[str, str]:
    """(study, its figure or table) that a name means; ours are a study of their own.

    >>> parts_of("figure", "agreement-auc"), parts_of("figure", "pll_gap"), parts_of("table", "estimates")
    (('agreement', 'auc'), ('pll-gap', ''), ('estimates', ''))
    """
    wanted = name.strip().lower().replace("_", "-")
    for known in names(kind):
        if wanted == known:
            return known, ""
        if wanted.startswith(f"{known}-") and known not in OWN[kind]:
            return known, wanted.removeprefix(f"{known}-")
    raise TiltmeterError(
        f"There is no {kind} called '{name}'. {kind.capitalize()}s: {', '.join(names(kind))}; "
        f"a study's others as STUDY-NAME, such as agreement-{'auc' if kind == 'figure' else 'differences'}."
    )


def figure(name: str, runs: Runs, *, width: str | float = "one", **options: Any) -> Any:
    """A figure of stored runs as a matplotlib Figure: `estimates`, `slots`, a study (`robustness`), or one of its others
    (`agreement-auc`). `width`: one or two columns, or inches. The options are those of `stored_estimates` or of the study.
    """
    source, part = parts_of("figure", name)
    figures.inches(width)
    if source in OWN["figure"]:
        return draw(stored_estimates(runs, **options), width, slots=source == "slots", by=options.get("by"))
    finding = study(source, runs, **options)
    return finding.draw(_called(part, finding.figures, "figure", source) if part else None, width)


def table(name: str, runs: Runs, **options: Any) -> pd.DataFrame:
    """A table of stored runs: `estimates`, `comparison`, a study's main table, or another one (`agreement-differences`)."""
    source, part = parts_of("table", name)
    if source == "estimates":
        found = stored_estimates(runs, **options)
        return found[found["by"].isin([*WHOLE, *([options["by"]] if options.get("by") else [])])]
    if source == "comparison":
        scores = load_scores(_folders(runs), options.pop("scorers", None))
        return compare(scores, measures=options.pop("measure", None), **{"by": "all", **options})
    finding = study(source, runs, **options)
    return finding.tables[_called(part, finding.tables, "table", source)] if part else finding.table


def write(text: str, path: str | Path) -> Path:
    """Writes a table that was typeset."""
    from tiltmeter.store import write_text

    write_text(Path(path), text)
    return Path(path)


def form_of(path: str | Path | None, form: str | None) -> str:
    """latex or markdown: as asked for, else by the file's suffix, else Markdown, which reads well in a terminal."""
    if path is not None and Path(path).is_dir():
        raise TiltmeterError(f"{path} is a folder; name a file.")
    if form:
        return form
    if path is None:
        return "markdown"
    for known, suffix in FORMATS.items():
        if Path(path).suffix.lower() == suffix:
            return known
    raise TiltmeterError(f"{path}: a table is written as {', '.join(FORMATS.values())}; name such a file, or give --format.")


def draw(estimates: pd.DataFrame, width: str | float = "one", *, slots: bool = False, by: str | None = None) -> Any:
    """A figure of estimates in our style."""
    with figures.house_style(width):
        drawn = draw_slots(estimates) if slots else draw_estimates(estimates, by or "bias_type")
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
    """The estimates as the runs stored them, so that figures and tables say what the runs said.

    Computed anew only for other settings, or for a grouping that a run did not have.
    """
    import pandas as pd

    folders = _folders(runs)
    load_scores(folders), load_slots(folders)  # refuses runs that do not go together
    stored = [load_run(folder).estimates for folder in folders]
    if settings is None and all(len(one) and (by is None or by in set(one["by"])) for one in stored):
        return _only(_only(pd.concat(stored, ignore_index=True), "measure", measure), "scorer", scorers)
    slots = None if scorers else load_slots(folders)
    return estimate_all(load_scores(folders, scorers), slots, measure, by or "bias_type", settings or Settings())


def _only(rows: pd.DataFrame, column: str, wanted: Sequence[str] | None) -> pd.DataFrame:
    if not wanted:
        return rows
    kept = rows[rows[column].isin([one.replace("-", "_") for one in wanted])]
    if not len(kept):
        there = ", ".join(dict.fromkeys(rows[column]))
        raise TiltmeterError(f"No estimates with {column} {', '.join(wanted)} in these runs. There are: {there}.")
    return kept


def _called(part: str, there: Any, kind: str, study_name: str) -> str:
    """The name as the study writes it; hyphens and underscores are the same."""
    for known in there:
        if known.lower().replace("_", "-") == part:
            return str(known)
    listed = ", ".join(f"{study_name}-{known}" for known in there if known.replace("_", "-") != study_name)
    raise TiltmeterError(
        f"{study_name} has no other {kind} '{part}' here. It has {study_name}{f', {listed}' if listed else ''}."
    )


def _folders(runs: Runs) -> list[str | Path]:
    return [runs] if isinstance(runs, str | Path) else list(runs)
