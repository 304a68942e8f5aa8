"""The figures of labels: false-positive rates of groups, and how their range depends on the threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import figures
from tiltmeter.benchmarks.kit.groups import DOMAIN_OF
from tiltmeter.errors import RunError
from tiltmeter.families.labels.estimate import EQUAL, HALF
from tiltmeter.stats.estimates import details_of

if TYPE_CHECKING:
    import pandas as pd

SHOWN = {HALF: "false-positive rate at 0.5", EQUAL: "false-positive rate at 10 % overall"}
NOTHING = "These runs have no labels of texts. Run plumb-labels or hatexplain first to draw this figure."

NO_THRESHOLDS = "These runs do not say at which thresholds rates were computed. Run them again: answers are in the cache."


def group_rates(table: pd.DataFrame) -> Any:
    """Draw the false-positive rate of each group, with intervals; the line is that of all texts."""
    rows = table[(table["family"] == "labels") & (table["measure"] == "fpr") & table["scorer"].isin(list(SHOWN))]
    groups = rows[(rows["by"] == "group") & rows["value"].notna()]
    if not len(groups):
        raise RunError(NOTHING, code="empty-selection", family="labels")
    names = [name for name in dict.fromkeys(groups["group"]) if name in DOMAIN_OF] or list(dict.fromkeys(groups["group"]))
    groups = groups[groups["group"].isin(names)]
    places = [(scorer, str(one)) for one in dict.fromkeys(groups["benchmark"]) for scorer in SHOWN]
    models = list(dict.fromkeys(groups["model"]))
    figure, axes = figures.grid(len(places), each=2, height=0.6 + 0.16 * len(names) * max(1, len(models) / 2))
    for axis, (scorer, benchmark) in zip(axes, places, strict=True):
        here = groups[(groups["scorer"] == scorer) & (groups["benchmark"] == benchmark)]
        for number, model in enumerate(models):
            ours = here[here["model"] == model]
            shift = figures.beside(number, len(models), min(0.2, 0.8 / len(models)))
            at = [names.index(name) + shift for name in ours["group"]]
            axis.errorbar(ours["value"], at, xerr=figures.reach(ours), label=figures.short(model, 24), **figures.dot(number))
        whole = rows[(rows["by"] == "all") & (rows["scorer"] == scorer) & (rows["benchmark"] == benchmark)]["value"]
        figures.neutral_line(axis, float(whole.mean()))
        counts = here.drop_duplicates("group").set_index("group")["n"]
        figures.name_rows(axis, [f"{name} ({counts.get(name, 0)})" for name in names])
        figures.label_x(axis, SHOWN[scorer])
        figures.head(axis, benchmark)
        axis.set_xlim(0, 1)
    figures.legend_below(figure, axes, 3)
    return figure


def threshold(table: pd.DataFrame) -> Any:
    """The range of false-positive rates over a domain's groups, against the threshold from which a text is called toxic."""
    rows = table[(table["family"] == "labels") & (table["by"] == "threshold") & table["value"].notna()]
    if not len(rows):
        raise RunError(NOTHING, code="empty-selection", family="labels")
    details = [details_of(row) for row in rows.to_dict("records")]
    if not all("threshold" in one for one in details):
        raise RunError(NO_THRESHOLDS, code="missing-value", name="threshold")
    rows = rows.assign(at=[one["threshold"] for one in details], domain=[one["domain"] for one in details])
    places = [key for key, _ in rows.groupby(["benchmark", "domain"], sort=False)]
    models = list(dict.fromkeys(rows["model"]))
    figure, axes = figures.grid(len(places), each=2, height=1.6)
    for axis, (benchmark, domain) in zip(axes, places, strict=True):
        here = rows[(rows["benchmark"] == benchmark) & (rows["domain"] == domain)]
        for number, model in enumerate(models):
            ours = here[here["model"] == model].sort_values("at")
            look = figures.look(number)
            axis.plot(ours["at"], ours["value"], label=figures.short(model, 24), **look | {"markersize": 2})
            known = ours[np.isfinite(ours["low"]) & np.isfinite(ours["high"])]
            axis.fill_between(known["at"], known["low"], known["high"], color=look["color"], alpha=0.15, linewidth=0)
        figures.neutral_line(axis, 0.5)
        figures.head(axis, f"{benchmark}, {domain}, n = {int(here['n'].max())}")
        figures.label_x(axis, "threshold")
        axis.set_ylim(0, 1)
    for axis in figures.leftmost(axes):
        axis.set_ylabel("range of rates")
    figures.legend_below(figure, axes, 3)
    return figure
