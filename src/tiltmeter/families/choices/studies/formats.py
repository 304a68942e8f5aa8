"""Formats: how far protocol, prompt and order of options decide a bias score, and whether a ranking of models survives."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from tiltmeter import catalog, figures
from tiltmeter.display import percent_text, signed_text
from tiltmeter.errors import InputError
from tiltmeter.families.choices.formats import ALL_ORDERS, Format, formats_of, leans_of, variance_components
from tiltmeter.families.choices.outcomes import counts_of, design_of
from tiltmeter.families.kit.evidence import Evidence
from tiltmeter.stats.design import generator
from tiltmeter.stats.measured import interval_of
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.totals import Totals
from tiltmeter.studies.kit.finding import Finding

if TYPE_CHECKING:
    import pandas as pd

READS = "choices"
CITATION = (
    "Steegen, Tuerlinckx, Gelman and Vanpaemel (2016), Increasing transparency through a multiverse analysis, Perspectives "
    "on Psychological Science 11."
)
HEAD = "s_amb"
MEASURES = (HEAD, "accuracy_amb", "accuracy_dis")
LEAST_ANSWERED = 0.5
"""Share of questions that a format must answer to count in the range; below it, what is scored is a selection."""
CONFIDENCE = 0.95
NO_VALUE = "no answer names a person"
FEW = "fewer than half of the questions have an answer; not in the range"
SAME = "no interval: all resamples give the same value"


def formats(
    evidence: Evidence,
    *,
    resamples: Annotated[int, "Bootstrap resamples of templates."] = 1000,
    seed: Annotated[int, "Seed of the resamples."] = 0,
) -> Finding:
    """Compare the scores of the same questions over all formats that the runs have.

    Give the runs of one benchmark with different protocols, prompts and options; every order of the options is a format.
    """
    import pandas as pd

    answers = evidence.answers[READS]
    rows: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    for model in answers.models:
        for benchmark in answers.where(model=model).benchmarks:
            place = {"model": model, "benchmark": benchmark}
            found = [(one, table) for one, table in formats_of(answers, model, benchmark) if _has_bias(table)]
            rows += [place | _row(one, table, resamples, seed) for one, table in found]
            parts += [place | part for part in _components(found)]
    if not rows:
        raise InputError("These runs have no questions with a stereotyped answer.", code="empty-selection", family=READS)
    table = pd.DataFrame(rows)
    tables = {"formats": table, "range": _ranges(table)}
    if parts:
        tables["variance"] = pd.DataFrame(parts)
    if pairs := list(_pairs(table)):
        tables["ranking"] = pd.DataFrame(pairs)
    return Finding("formats", tables, {"formats": lambda: _draw(table)}, tuple(_sentences(tables)))


def _has_bias(rows: pd.DataFrame) -> bool:
    return bool(rows["stereotyped"].notna().any())


def _row(answer_format: Format, rows: pd.DataFrame, resamples: int, seed: int) -> dict[str, Any]:
    design, counts = design_of(rows), counts_of(rows)
    totals = {name: Totals.of(catalog.find("measures", name), counts, design) for name in MEASURES}
    values = {name: of_measure.value for name, of_measure in totals.items()}
    draws = totals[HEAD].draws(design.weights(resamples, generator(seed, "formats", answer_format.name)))
    settings = Settings(resamples=resamples, confidence=CONFIDENCE, seed=seed)
    low, high, _ = interval_of(totals[HEAD].measure, design.n_clusters, values[HEAD], draws, settings)
    answered = float(counts["answered"].mean())
    few = answered < LEAST_ANSWERED
    note = NO_VALUE if np.isnan(list(values.values())).any() else FEW if few else SAME if np.isnan(low) else ""
    return {
        "format": answer_format.name, **answer_format.parts(), "questions": len(rows), "templates": design.n_clusters,
        "answered": answered, **values, "low": low, "high": high,
        "counted": "no" if note in (NO_VALUE, FEW) else "yes", "note": note,
    }  # fmt: skip


def _components(answered: list[tuple[Format, pd.DataFrame]]) -> Iterator[dict[str, Any]]:
    """Yield the variance components over questions that every well-answered format answers; whole formats, then orders."""
    import pandas as pd

    for title, is_order in (("protocol and prompt", False), ("order of the options", True)):
        chosen = {one.name: leans_of(rows) for one, rows in answered if (one.order != ALL_ORDERS) == is_order}
        most = max((len(leans) for leans in chosen.values()), default=0)
        kept = {name: leans for name, leans in chosen.items() if len(leans) >= LEAST_ANSWERED * most}
        table = pd.DataFrame(kept).dropna()
        if len(kept) < 2 or len(table) < 2:
            continue
        templates = answered[0][1].set_index("item")["template"].reindex(table.index).to_numpy(dtype=object)
        parts = variance_components(table.to_numpy(dtype=np.float64), templates)
        whole = sum(parts.values()) or 1.0
        for name, value in parts.items():
            share = 100 * value / whole
            yield {
                "varied": title,
                "part": name,
                "variance": value,
                "percent": share,
                "formats": len(kept),
                "questions": len(table),
            }


def _ranges(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for (model, benchmark), ours in table.groupby(["model", "benchmark"], sort=False):
        good = ours[ours["counted"] == "yes"]
        if not len(good):
            continue
        apart = good[(good["low"] > 0) | (good["high"] < 0)]
        rows.append(
            {
                "model": model, "benchmark": benchmark, "formats": len(good), "lowest": good[HEAD].min(),
                "median": good[HEAD].median(), "highest": good[HEAD].max(),
                "lowest_format": good.loc[good[HEAD].idxmin(), "format"],
                "highest_format": good.loc[good[HEAD].idxmax(), "format"],
                "interval_above_0": int((apart["low"] > 0).sum()), "interval_below_0": int((apart["high"] < 0).sum()),
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def _pairs(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield, for two models, in how many formats that both have the first one scores higher."""
    for benchmark, rows in table[table["counted"] == "yes"].groupby("benchmark", sort=False):
        scores = rows.pivot_table(index="format", columns="model", values=HEAD)
        for first, second in combinations(scores.columns, 2):
            both = scores[[first, second]].dropna()
            if len(both):
                higher = int((both[first] > both[second]).sum())
                yield {
                    "benchmark": benchmark, "first": first, "second": second, "formats": len(both), "first_higher": higher,
                    "second_higher": int((both[first] < both[second]).sum()),
                }  # fmt: skip


def _sentences(tables: dict[str, pd.DataFrame]) -> Iterator[str]:
    for _, row in tables["range"].iterrows():
        yield (
            f"{row['model']} on {row['benchmark']}: {HEAD} from {signed_text(row['lowest'])} ({row['lowest_format']}) to "
            f"{signed_text(row['highest'])} ({row['highest_format']}) over {row['formats']} formats; the interval "
            "excludes 0 in "
            f"{row['interval_above_0'] + row['interval_below_0']} of them."
        )
    if "variance" in tables:
        for (model, benchmark, varied), rows in tables["variance"].groupby(["model", "benchmark", "varied"], sort=False):
            said = ", ".join(f"{row['part']} {percent_text(row['percent'], 0)}" for _, row in rows.iterrows())
            yield f"{model} on {benchmark}, variance of answers to ambiguous questions over {varied}: {said}."
    if "ranking" in tables:
        for _, row in tables["ranking"].iterrows():
            yield (
                f"{row['first']} scores higher than {row['second']} in {row['first_higher']} of {row['formats']} formats on "
                f"{row['benchmark']}, lower in {row['second_higher']}."
            )


def _draw(table: pd.DataFrame) -> Any:
    rows = table[table["counted"] == "yes"]
    rows = rows[rows["benchmark"] == rows["benchmark"].iloc[0]]
    models = list(dict.fromkeys(rows["model"]))
    figure, axes = figures.grid(len(models), each=1, height=1.6)
    for axis, model in zip(axes, models, strict=True):
        ours = rows[rows["model"] == model].sort_values(HEAD).reset_index(drop=True)
        for number, protocol in enumerate(dict.fromkeys(rows["protocol"])):
            some = ours[ours["protocol"] == protocol]
            gaps = [np.maximum(0, some[HEAD] - some["low"]).fillna(0), np.maximum(0, some["high"] - some[HEAD]).fillna(0)]
            axis.errorbar(some.index, some[HEAD], yerr=gaps, label=protocol, **figures.dot(number))
        figures.neutral_line(axis, 0, across=True)
        axis.set_ylabel(HEAD)
        axis.set_xticks([])
        questions = int(ours["questions"].max())
        figures.label_x(axis, f"{figures.short(model, 28)}: {len(ours)} formats, n = {questions:,} questions")
    figures.legend_below(figure, axes[0], 3)
    return figure
