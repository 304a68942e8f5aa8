"""Output for notebooks: `as_html` (which `_repr_html_` returns) and `show`, which draws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape as escaped
from typing import TYPE_CHECKING, Any

from tiltmeter.display import visible
from tiltmeter.errors import UsageError
from tiltmeter.families import Answers, find_family
from tiltmeter.families.kit.story import value_text
from tiltmeter.reporting.by_name import ESTIMATES, draw
from tiltmeter.reporting.difference_figure import draw_differences, is_differences
from tiltmeter.reporting.narratives import overall_rows, stories_of
from tiltmeter.reporting.terminal import cell_text
from tiltmeter.runs import Run
from tiltmeter.runs.details import with_details
from tiltmeter.runs.estimate import estimate_all
from tiltmeter.stats.estimates import is_estimates
from tiltmeter.stats.settings import Settings
from tiltmeter.studies import Finding

if TYPE_CHECKING:
    import pandas as pd

Showable = Run | Answers | Finding
MOST_ROWS = 60
SHOWN_COLUMNS = ("benchmark", "model", "scorer", "measure", "group", "value (interval)", "neutral", "n", "missing")


def show(what: Showable | pd.DataFrame, *, width: str | float = "one", by: str = "bias_type") -> Any:
    """Draw estimates with their intervals around the neutral point.

    Args:
        what: Answers (which are estimated first), a run, a table of estimates or of `compare`, or a study's finding.
        width: One or two columns, or inches.
        by: Column of the groups that are drawn.

    Returns:
        A matplotlib Figure.

    Raises:
        UsageError: There is nothing to draw.

    Example:
        >>> import tiltmeter
        >>> scores = tiltmeter.score("plumb-mlm", tiltmeter.load_benchmark("plumb-pairs", limit=8), "sss", cache=False)
        >>> tiltmeter.show(tiltmeter.estimate(scores, "bias_score", by=())).axes[0].get_xlabel()
        'bias_score (%) by sss, with\\ninterval'
    """
    if isinstance(what, Finding):
        return _for_notebooks(what.draw(width=width))
    if is_differences(what):
        return _for_notebooks(draw_differences(what, width))
    table = _estimates_of(what, by)
    return _for_notebooks(draw(table, width, named=_figure_for(table, by), by=by))


def _figure_for(table: pd.DataFrame, by: str) -> str:
    """The name of a family's own figure, if all estimates are of that family and the common figure would be empty."""
    families = list(dict.fromkeys(table["family"]))
    own = find_family(families[0]).FIGURES if len(families) == 1 else {}
    return next(iter(own)) if own and not table["by"].isin(["all", by]).any() else ESTIMATES


def as_html(what: Showable | pd.DataFrame) -> str:
    """Format the sentences and a compact table as HTML; all names and texts are escaped.

    Args:
        what: Answers, a run, a table of estimates or of `compare`, or a study's finding.

    Returns:
        HTML for a notebook.

    Raises:
        UsageError: There is nothing to format: `what` is of another type.

    Example:
        >>> import tiltmeter
        >>> scores = tiltmeter.score("plumb-mlm", tiltmeter.load_benchmark("plumb-pairs", limit=8), "sss", cache=False)
        >>> tiltmeter.as_html(scores)[:20]
        '<div><b>Scores</b><p'
    """
    if isinstance(what, Finding):
        return _page(what.study, what.sentences, list(what.table.columns), what.table.itertuples(index=False))
    if isinstance(what, Answers):
        about = find_family(what.family).describe(what)
        hint = "tiltmeter.estimate(…) computes measures, tiltmeter.show(…) draws them."
        return _page(about.title, [f"{about.sentence} {hint}"], about.heads, about.rows)
    table = _estimates_of(what, "")
    asked = what.manifest.get("evaluations", ()) if isinstance(what, Run) else ()
    sentences = [story.text for story in stories_of(table, asked)] if len(table) else ["No estimates are stored."]
    title = f"Run {what.folder}" if isinstance(what, Run) else "Estimates"
    shown = overall_rows(table) if isinstance(what, Run) and len(table) else table
    return _page(title, sentences, SHOWN_COLUMNS, (_estimate_row(row) for _, row in shown.iterrows()))


def _estimates_of(what: Any, by: str) -> pd.DataFrame:
    if isinstance(what, Run):
        return with_details(what).estimates
    if isinstance(what, Answers):
        answers, measures = find_family(what.family).brief(what)
        return estimate_all({what.family: answers}, measures, by, Settings())
    if is_estimates(what):
        return what
    message = f"show needs answers, a run, a finding or a table of estimates, not {type(what).__name__}."
    raise UsageError(message, code="wrong-type", type=type(what).__name__)


def _estimate_row(row: Any) -> list[str]:
    group = "all" if row["by"] == "all" else str(row["group"])
    neutral = "" if row["neutral"] != row["neutral"] else f"{row['neutral']:g}"
    names = [str(row[name]) for name in ("benchmark", "model", "scorer", "measure")]
    return [*names, group, value_text(row), neutral, f"{row['n']:,}", f"{row['n_missing']:,}"]


def escape(text: str) -> str:
    """Text of others for HTML."""
    return escaped(visible(text))


def _page(title: str, sentences: Iterable[str], heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    rows = list(rows)
    body = "".join(f"<tr>{''.join(map(_td, row))}</tr>" for row in rows[:MOST_ROWS])
    more = f"<p>… and {len(rows) - MOST_ROWS:,} more rows.</p>" if len(rows) > MOST_ROWS else ""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in heads)
    lines = "".join(f"<p>{escape(line)}</p>" for line in sentences)
    return (
        f"<div><b>{escape(title)}</b>{lines}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>"
    )


def _td(value: Any) -> str:
    right = "" if isinstance(value, str) else ' style="text-align:right"'
    return f"<td{right}>{escape(cell_text(value))}</td>"


def _for_notebooks(figure: Any) -> Any:
    """Adds a PNG to the figure: notebooks show only pyplot figures by themselves, and ours are not."""

    def picture() -> bytes:
        from io import BytesIO

        held = BytesIO()
        figure.savefig(held, format="png", dpi=200)
        return held.getvalue()

    figure._repr_png_ = picture
    return figure
