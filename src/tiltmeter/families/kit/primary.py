"""The primary test of a benchmark: one scorer and measure, fixed by the evidence before inference, tested apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING, Any, TypeVar

from tiltmeter import catalog
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.detection import DETECTS, ranked, rows_about, verdict_on
from tiltmeter.families.kit.protocol import Family
from tiltmeter.families.kit.story import SIGNIFICANT
from tiltmeter.stats.direction import best_of, distance
from tiltmeter.stats.estimates import Difference, Estimate, correct_rest, details_of

if TYPE_CHECKING:
    import pandas as pd

PRIMARY = "primary"
"""The detail that marks the overall row of the primary scorer and measure."""
CLOSER, FURTHER, SAME = "closer", "further", "same"
Row = TypeVar("Row", Estimate, Difference)
Place = tuple[str, ...]


def primary_metric(
    family: Family, benchmark: str, metrics: Sequence[tuple[str, str]], data: str, kind: str
) -> tuple[str, str] | None:
    """Return the scorer and measure that speak for a benchmark: those with evidence first, else the family's own choice.

    Args:
        family: The family of the benchmark.
        benchmark: Its name.
        metrics: Scorers and measures that there are numbers of.
        data: The digest of the benchmark's items.
        kind: The kind of model; empty if it is unknown.

    Returns:
        None where the family names no primary measure, or none of them was computed.
    """
    measures = [name for name in family.primary_measures(benchmark) if any(name == one for _, one in metrics)]
    rows = rows_about(data, kind)
    tested = [
        name for name in measures if any(verdict_on(rows, *metric) == DETECTS for metric in metrics if metric[1] == name)
    ]
    for measure in (tested or measures)[:1]:
        there = [scorer for scorer, name in dict.fromkeys(metrics) if name == measure]
        own = family.first_scorer(measure, there)
        return ranked([own, *(name for name in there if name != own)], measure, data, kind)[0], measure
    return None


def with_primary(rows: Sequence[Row], answers: Answers, family: Family) -> list[Row]:
    """Mark the primary row of each model and benchmark and correct the overall tests: it alone, and all others together."""
    facts = {(model_of(one), benchmark_of(one)): one for one in answers.manifests}
    places: dict[Place, list[int]] = {}
    for at, row in enumerate(rows):
        if row.by == "all":
            places.setdefault(_place(row), []).append(at)
    found = list(rows)
    for (model, benchmark, *_), own in places.items():
        chosen = _chosen(family, benchmark, [rows[at] for at in own], facts.get((model, benchmark), {}))
        first = [at for at in own if (rows[at].scorer, rows[at].measure) == chosen]
        for at in first:
            found[at] = replace(rows[at], details={**rows[at].details, PRIMARY: 1})
        _correct(found, first, [at for at in own if at not in first])
    return found


def _correct(rows: list[Row], first: Sequence[int], others: Sequence[int]) -> None:
    correct_rest(rows, first, "primary")
    correct_rest(rows, others, "secondary, overall" if first else "overall")


def _place(row: Row) -> Place:
    return (row.model, row.benchmark) if isinstance(row, Estimate) else (row.model, row.benchmark, row.baseline)


def _chosen(family: Family, benchmark: str, rows: Sequence[Row], manifest: Mapping[str, Any]) -> tuple[str, str] | None:
    data, kind = str(manifest.get("benchmark", {}).get("data_sha256", "")), str(manifest.get("model", {}).get("kind", ""))
    return primary_metric(family, benchmark, [(row.scorer, row.measure) for row in rows if not isnan(row.value)], data, kind)


def with_change(rows: Sequence[Difference]) -> list[Difference]:
    """Say of each difference that is significant whether it leads closer to the neutral or ideal value, or further."""
    return [
        replace(row, change=change_of(row.measure, row.value, row.baseline_value)) if _is_significant(row) else row
        for row in rows
    ]


def _is_significant(row: Difference) -> bool:
    return (row.p if isnan(row.p_holm) else row.p_holm) < SIGNIFICANT


def change_of(measure: str, value: float, baseline: float) -> str:
    """Compare two values by their distance from the best one.

    >>> change_of("bias_score", 50.0, 35.0), change_of("bias_score", 45.0, 52.0)
    ('closer', 'further')
    """
    entry = catalog.find("measures", measure) if measure in catalog.names("measures") else None
    if entry is None or isnan(best_of(entry)) or isnan(value) or isnan(baseline):
        return ""
    away = distance(entry, value) - distance(entry, baseline)
    return CLOSER if away < 0 else FURTHER if away > 0 else SAME


def is_primary(row: Mapping[str, Any] | pd.Series) -> bool:
    """Return whether a row of a table is marked as primary."""
    return bool(details_of(row).get(PRIMARY))


def model_of(manifest: Mapping[str, Any]) -> str:
    """Return the name that a cell's model is shown as."""
    model = manifest.get("model", {})
    return str(model.get("shown_as", model.get("name", "")))


def benchmark_of(manifest: Mapping[str, Any]) -> str:
    """Return the name of a cell's benchmark."""
    return str(manifest.get("benchmark", {}).get("name", ""))
