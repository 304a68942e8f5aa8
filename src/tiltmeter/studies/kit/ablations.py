"""Ablations of correlations: r of the same models before and after a change to one metric.

Cao et al. (2022, Section 4): another notion of bias, only the groups that both metrics have, prompts from elsewhere or
without polar ones, another temperature.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import figures
from tiltmeter.display import signed_text
from tiltmeter.errors import RunError, UsageError
from tiltmeter.stats.correlations import LEAST, Floats, correlate, pearson
from tiltmeter.stats.design import Design
from tiltmeter.studies.kit.domain_pairs import Drawing

if TYPE_CHECKING:
    import pandas as pd


def changes_of(
    folders: Sequence[Path],
    points: pd.DataFrame,
    table: pd.DataFrame,
    choices: tuple[bool, Sequence[str], bool],
    how: Drawing,
) -> pd.DataFrame:
    """A row per ablation and pair. `choices`: metrics by the paper's names or not, replacements, shared groups."""
    import pandas as pd

    from tiltmeter.studies.kit.paper_metrics import paper_name
    from tiltmeter.studies.kit.shared_groups import group_scores, over_shared_groups

    paper, replacing, shared = choices
    own = {paper_name(name) or "": name for name in dict.fromkeys(points["metric"])} if paper else {}
    pairs = [(row.domain, own.get(row.a, row.a), own.get(row.b, row.b)) for row in table.itertuples()]
    rows = replaced(points, replacing, pairs, how)
    rows += over_shared_groups(points, group_scores(folders), pairs, how) if shared else []
    if not rows:
        raise RunError(
            "No two metrics of these runs share some of their groups and not all.", code="too-few", kind="metrics"
        )
    told = {name: called for called, name in own.items()}
    return pd.DataFrame([row | {name: told.get(row[name], row[name]) for name in ("a", "b")} for row in rows])


def replaced(
    points: pd.DataFrame, replacements: Sequence[str], pairs: Sequence[tuple[str, str, str]], how: Drawing
) -> list[dict[str, Any]]:
    """For every OLD=NEW (metrics, or beginnings of their names) and every pair (domain, a, b): r with the NEW one."""
    rows = []
    for text in replacements:
        old, sign, new = (part.strip() for part in text.partition("="))
        if not (old and sign and new):
            raise UsageError(
                f"--replace is OLD=NEW, two metrics or what their names begin with, not '{text}'.",
                code="wrong-format",
                option="--replace",
                value=text,
            )
        found = [row for pair in pairs for row in _replaced_row(points, pair, old, new, how)]
        if not found:
            names = ", ".join(dict.fromkeys(points["metric"]))
            raise UsageError(
                f"--replace {text}: no metric that begins with '{old}' has one with '{new}'. Metrics: {names}.",
                code="unknown-name",
                kind="metric",
                names=[old, new],
                option="--replace",
            )
        rows += [{"what": f"{old} → {new}", **row} for row in found]
    return rows


def _replaced_row(
    points: pd.DataFrame, pair: tuple[str, str, str], old: str, new: str, how: Drawing
) -> Iterator[dict[str, Any]]:
    domain, *metrics = pair
    here = points[points["domain"] == domain]
    plain = dict(zip(here["without_temperature"], here["metric"], strict=True))
    for place, metric in enumerate(metrics):
        if metric != old and not metric.startswith(f"{old} "):
            continue
        other = plain.get(new + metric[len(old) :])
        if other is None or other in metrics:
            continue
        wide = here.pivot(index="model", columns="metric", values="value")[[*metrics, other]].dropna()
        after = [other if n == place else name for n, name in enumerate(metrics)]
        columns = [wide[name].to_numpy(dtype=np.float64) for name in (*metrics, *after)]
        yield {"domain": domain, "a": metrics[0], "b": metrics[1], **changed(columns, how)}


def changed(columns: Sequence[Floats], how: Drawing) -> dict[str, Any]:
    """r of the first two columns and of the last two, over the same models; the interval of the difference draws models."""
    x, y, other_x, other_y = columns
    before, after = (correlate(*both, resamples=how.resamples, seed=how.seed) for both in ((x, y), (other_x, other_y)))
    if np.isnan([before.r, after.r]).any():
        why = f"fewer than {LEAST} models" if len(x) < LEAST else "a metric is the same for all models"
        return not_compared(len(x), why)
    difference = after.r - before.r
    low, high = _interval(columns, difference, how)
    told = {"r": before.r, "p": before.p, "r_after": after.r, "p_after": after.p, "difference": difference}
    return {"n": len(x), **told, "low": low, "high": high, "note": ""}


def not_compared(n: int, why: str) -> dict[str, Any]:
    """A row without numbers."""
    nothing = dict.fromkeys(("r", "p", "r_after", "p_after", "difference", "low", "high"), float("nan"))
    return {"n": n, **nothing, "note": f"not computed: {why}"}


def _interval(columns: Sequence[Floats], difference: float, how: Drawing) -> tuple[float, float]:
    """Models drawn with replacement, around the difference, widened by √(n / (n − 3)) as the interval of r is.

    Where nothing changes, plain percentiles of ten models leave out 0 in 6 to 9 % of the cases, and these in 3 to 5 %.
    """
    x, y, other_x, other_y = columns
    n = len(x)
    drawn = np.concatenate(list(Design.independent(n).indices(how.resamples, np.random.default_rng(how.seed))))
    draws = pearson(other_x[drawn], other_y[drawn]) - pearson(x[drawn], y[drawn])
    tails = np.nanquantile(draws, [(1 - how.confidence) / 2, (1 + how.confidence) / 2]) - np.nanmedian(draws)
    low, high = np.clip(difference + tails * sqrt(n / (n - 3)), -2.0, 2.0)
    return float(low), float(high)


def spoken(changes: pd.DataFrame) -> Iterator[str]:
    """Summarise each ablation: how many correlations rose, and how many changes are significant."""
    for what, rows in changes.groupby("what", sort=False):
        known = rows[rows["difference"].notna()]
        if not len(known):
            yield f"{what}: no correlation can be compared."
            continue
        risen, sure = int((known["difference"] > 0).sum()), known[(known["low"] > 0) | (known["high"] < 0)]
        yield (
            f"{what}: r rises in {risen} of {len(known)} pairs, by {signed_text(known['difference'].median(), 2)} "
            "(median); in "
            f"{len(sure)} the interval of the change leaves out zero (not corrected for {len(known)} looks)."
        )


def draw_changes(changes: pd.DataFrame) -> Any:
    """A line per pair, from r before (open) to r after (filled), a panel per ablation."""
    known = changes[changes["difference"].notna()]
    panels = list(known.groupby("what", sort=False))
    heights = [0.9 + 0.26 * len(rows) for _, rows in panels]
    ratios = {"height_ratios": heights}
    figure, axes = figures.canvas(len(panels), height=sum(heights) / len(panels), gridspec_kw=ratios)
    for axis, (what, rows) in zip(axes[:, 0], panels, strict=True):
        at = np.arange(len(rows))[::-1]
        axis.hlines(at, rows["r"], rows["r_after"], color=figures.GREY, linewidth=0.9)
        axis.scatter(rows["r"], at, s=12, facecolor="white", edgecolor=figures.COLOURS[0], zorder=3, label="before")
        axis.scatter(rows["r_after"], at, s=12, color=figures.COLOURS[0], zorder=3, label="after")
        axis.axvline(0, color=figures.GREY, linewidth=0.6)
        axis.set_yticks(at, [figures.wrapped(f"{row.domain}: {row.a} × {row.b}", 40) for row in rows.itertuples()])
        axis.set_xlim(-1.05, 1.05)
        figures.head(axis, figures.wrapped(f"{what}; n = {rows['n'].min()} models", 34))
    axes[-1, 0].set_xlabel("Pearson's r over models")
    axes[0, 0].legend(loc="best")
    return figure
