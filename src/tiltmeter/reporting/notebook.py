"""What a notebook shows: `as_html` (what `_repr_html_` gives) and `show`, which draws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.estimating import ESTIMATE_COLUMNS
from tiltmeter.group_estimating import Settings
from tiltmeter.reporting.papers import draw
from tiltmeter.reporting.slots import slot_sentences
from tiltmeter.reporting.terminal import _cell, value_text
from tiltmeter.reporting.words import HEADLINE, sentences
from tiltmeter.runs import Run, estimate_all
from tiltmeter.slot_tables import Slots, best_matches
from tiltmeter.studies import Finding
from tiltmeter.tables import Scores

if TYPE_CHECKING:
    import pandas as pd

Shown = Run | Scores | Slots | Finding
MOST_ROWS = 60
SHOWN_COLUMNS = ("benchmark", "model", "scorer", "measure", "group", "value (interval)", "neutral", "n", "missing")


def show(what: Shown | pd.DataFrame, *, width: str | float = "one", by: str = "bias_type") -> Any:
    """Draws estimates with their intervals around the neutral point, and gives the matplotlib Figure back.

    Takes scores or slots (estimated on the spot), a run, a table of estimates, or a study's finding.
    """
    if isinstance(what, Finding):
        return _for_notebooks(what.draw(width=width))
    table = _estimates_of(what, by)
    only_slots = set(table["scorer"]) <= {"slots"}
    return _for_notebooks(draw(table, width, slots=only_slots, by=by))


def as_html(what: Shown | pd.DataFrame) -> str:
    """What there is to say, and a compact table; all names and texts are escaped."""
    if isinstance(what, Finding):
        return _page(what.study, what.sentences, list(what.table.columns), what.table.itertuples(index=False))
    if isinstance(what, Scores):
        return _page("Scores", [_scores_said(what)], *_scores_rows(what.frame))
    if isinstance(what, Slots):
        return _page("Slots", [_slots_said(what)], *_slots_rows(what.frame))
    table, top_k = _estimates_of(what, ""), 0
    if isinstance(what, Run):
        top_k = what.manifest.get("asked", {}).get("top_k", 0)
    said = [*sentences(table), *slot_sentences(table, top_k)] if len(table) else ["No estimates are stored."]
    title = f"Run {what.folder}" if isinstance(what, Run) else "Estimates"
    overall = table[table["by"].isin(["all", "group", "gap"])] if isinstance(what, Run) and len(table) else table
    return _page(title, said, SHOWN_COLUMNS, (_estimate_row(row) for _, row in overall.iterrows()))


def _estimates_of(what: Any, by: str) -> pd.DataFrame:
    if isinstance(what, Run):
        return what.estimates
    if isinstance(what, Slots):
        return estimate_all(Scores.none(what.items), what, ["mps", "mnt"], "all", Settings())
    if isinstance(what, Scores):
        return estimate_all(_headline_scores(what), None, _headline_measures(what), by, Settings())
    if set(ESTIMATE_COLUMNS) <= set(getattr(what, "columns", ())):
        return what
    raise TiltmeterError(f"Shown are scores, slots, runs, findings and tables of estimates, not {type(what).__name__}.")


def _headline_scores(scores: Scores) -> Scores:
    """Of each model and benchmark the scores that its headline would speak of: only they are drawn."""
    kept = []
    for (_, benchmark), ours in scores.frame.groupby(["model", "benchmark"], sort=False):
        there = sorted(ours["scorer"].unique())
        wanted = (*HEADLINE["ss" if str(benchmark).startswith("stereoset") else "bias_score"], *there)
        kept.append(ours.index[ours["scorer"] == next(name for name in wanted if name in there)])
    return replace(scores, frame=scores.frame.loc[sorted(at for index in kept for at in index)])


def _headline_measures(scores: Scores) -> list[str]:
    """`ss` averages over targets, which not every benchmark has."""
    return [name for name in HEADLINE if name != "ss" or scores.frame["target"].notna().any()]


def _estimate_row(row: Any) -> list[str]:
    group = "all" if row["by"] == "all" else str(row["group"])
    neutral = "" if row["neutral"] != row["neutral"] else f"{row['neutral']:g}"
    names = [str(row[name]) for name in ("benchmark", "model", "scorer", "measure")]
    return [*names, group, value_text(row), neutral, f"{row['n']:,}", f"{row['n_missing']:,}"]


def _scores_said(scores: Scores) -> str:
    frame = scores.frame
    missing = int(frame["score"].isna().sum())
    return (
        f"{len(frame):,} sentence scores ({missing:,} missing): {_counted(frame, 'model')}, {_counted(frame, 'benchmark')}, "
        f"{_counted(frame, 'scorer')}. tiltmeter.estimate(…) makes measures of them, tiltmeter.show(…) draws."
    )


def _scores_rows(frame: pd.DataFrame) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
    rows = []
    for key, ours in frame.groupby(["benchmark", "model", "scorer"], sort=False):
        missing = ours[ours["score"].isna()]
        why = "; ".join(f"{reason} ({n:,})" for reason, n in missing["reason"].value_counts().items())
        rows.append([*key, ours["item"].nunique(), len(ours) - len(missing), len(missing), float(ours["score"].mean()), why])
    return ("benchmark", "model", "scorer", "items", "scores", "missing", "mean score", "why missing"), rows


def _slots_said(slots: Slots) -> str:
    return (
        f"{len(slots):,} terms in slots: {_counted(slots.frame, 'model')}, {_counted(slots.frame, 'benchmark')}, "
        f"{_counted(slots.frame, 'group')}. tiltmeter.estimate_slots(…) makes measures of them, tiltmeter.show(…) draws."
    )


def _slots_rows(frame: pd.DataFrame) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
    best = best_matches(frame).groupby(["benchmark", "model", "group"], sort=False)
    found = {key: (len(ours), float(ours["probability"].median()), float(ours["rank"].median())) for key, ours in best}
    rows = [
        [*key, ours["item"].nunique(), *found.get(key, (0, float("nan"), float("nan")))]
        for key, ours in frame.groupby(["benchmark", "model", "group"], sort=False)
    ]
    return ("benchmark", "model", "group", "sentences", "with a match", "median probability", "median rank"), rows


def _counted(frame: pd.DataFrame, column: str) -> str:
    names = list(dict.fromkeys(map(str, frame[column])))
    return f"{len(names)} {column}s" if len(names) > 3 else ", ".join(names)


def _page(title: str, said: Iterable[str], heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    rows = list(rows)
    body = "".join(f"<tr>{''.join(map(_td, row))}</tr>" for row in rows[:MOST_ROWS])
    more = f"<p>… and {len(rows) - MOST_ROWS:,} more rows.</p>" if len(rows) > MOST_ROWS else ""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in heads)
    lines = "".join(f"<p>{escape(line)}</p>" for line in said)
    return (
        f"<div><b>{escape(title)}</b>{lines}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>"
    )


def _td(value: Any) -> str:
    right = "" if isinstance(value, str) else ' style="text-align:right"'
    return f"<td{right}>{escape(_cell(value))}</td>"


def _for_notebooks(figure: Any) -> Any:
    """Notebooks draw figures of pyplot, of which ours are none: a picture is given along."""

    def picture() -> bytes:
        from io import BytesIO

        held = BytesIO()
        figure.savefig(held, format="png", dpi=200)
        return held.getvalue()

    figure._repr_png_ = picture
    return figure
