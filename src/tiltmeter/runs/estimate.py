"""`estimate`: answers of any family to measures, each with an interval, counts of what is missing, and a p-value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tiltmeter import catalog
from tiltmeter.benchmarks.kit.items import has_column, require_column
from tiltmeter.catalog import Entry
from tiltmeter.errors import InputError, UsageError
from tiltmeter.execution.options import DEFAULT_BY
from tiltmeter.families import Answers, find_family
from tiltmeter.families.kit.answers import with_unique_names
from tiltmeter.families.kit.primary import with_primary
from tiltmeter.families.kit.protocol import measures_of, spread_bases
from tiltmeter.families.kit.reading import with_cautions
from tiltmeter.stats.estimates import Estimate, estimates_table
from tiltmeter.stats.pooling import with_pooled
from tiltmeter.stats.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

Several = Answers | Sequence[Answers] | Mapping[str, Answers]


def estimate(
    answers: Several,
    measures: Sequence[str] | str | None = None,
    by: str | Sequence[str] = DEFAULT_BY,
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    clusters: bool = True,
) -> pd.DataFrame:
    """Compute measures from stored answers, overall and per group: the rows of estimates.csv. Needs no model.

    The family of a benchmark decides which measures apply, and how their intervals and p-values are computed.

    Args:
        answers: Answers of `ask`, `score` or `load_run`, of one or several families.
        measures: Names of measures. Default: all that apply.
        by: Columns of items to group by.
        resamples: Number of bootstrap resamples and permutations.
        confidence: Level of the intervals.
        seed: Seed of all resampling.
        clusters: Resample whole clusters; False resamples item by item.

    Returns:
        A table with a row per model, benchmark, scorer, measure and group.

    Raises:
        UsageError: A measure or column is unknown or does not apply, or a setting is out of range.
        RunError: Two runs have different models or data under one name, or the same answers twice.

    Example:
        >>> import tiltmeter
        >>> scores = tiltmeter.score("plumb-mlm", tiltmeter.load_benchmark("plumb-pairs", limit=8), "sss", cache=False)
        >>> tiltmeter.estimate(scores, "bias_score", by=())[["measure", "group", "n"]].values.tolist()
        [['bias_score', 'all', 8]]
    """
    return estimate_all(by_family(answers), measures, by, Settings(resamples, confidence, seed, clusters))


def by_family(answers: Several) -> dict[str, Answers]:
    """Sort answers by family, those of one family together. Different models of one name get a part of their digest.

    Raises:
        InputError: An answer occurs twice.
    """
    if isinstance(answers, Mapping):
        return dict(answers)
    if isinstance(answers, Answers):
        return {answers.family: answers}
    parts = with_unique_names(list(answers))
    families = dict.fromkeys(part.family for part in parts)
    together = {name: Answers.concat([part for part in parts if part.family == name]) for name in families}
    for part in together.values():
        _refuse_repeats(part)
    return together


def _refuse_repeats(answers: Answers) -> None:
    """Refuse answers that occur twice: only one of them would count, and which one is undefined."""
    key = list(find_family(answers.family).KEY)
    repeated = answers.table[answers.table.duplicated(key)]
    if len(repeated):
        first = repeated.iloc[0]
        by = f" by {first['scorer']}" if "scorer" in key else ""
        raise InputError(
            f"There are answers of {first['model']} on {first['benchmark']}{by} more than once.",
            code="duplicate-name",
            kind="answers",
            model=first["model"],
            benchmark=first["benchmark"],
        )


@catalog.without_failing
def estimate_all(
    answers: Mapping[str, Answers], measures: Sequence[str] | str | None, by: str | Sequence[str], settings: Settings
) -> pd.DataFrame:
    """The estimates of all families in one table. A measure that was named belongs to one of them."""
    settings.check()
    filled = {name: part for name, part in answers.items() if len(part)}
    wanted = wanted_of(filled, measures, by)
    rows = [row for part in filled.values() for row in rows_of(part, wanted, settings)]
    refuse_lacking(wanted.named, {row.measure for row in rows}, filled)
    return estimates_table(rows)


@dataclass(frozen=True)
class Wanted:
    """Choice of estimates: the measures that were named, if any, those of each family, and the columns it is grouped by."""

    named: Sequence[str] | None
    entries: Mapping[str, Sequence[Entry]]
    columns: Mapping[str, Sequence[str]]


def wanted_of(answers: Mapping[str, Answers], measures: Sequence[str] | str | None, by: str | Sequence[str]) -> Wanted:
    """Plan the families with answers. Of these only the models, benchmarks and columns of items are looked at."""
    names = [measures] if isinstance(measures, str) else list(measures) if measures else None
    columns = [by] if isinstance(by, str) else list(by)
    families = {name: find_family(name) for name in answers}
    bases = {name: _grouped(spread_bases(family, names), answers[name]) for name, family in families.items()}
    own = {name: measures_of(family, names) for name, family in families.items()}
    entries = {name: found for name in answers if (found := [*own[name], *(e for e in bases[name] if e not in own[name])])}
    read = {name: part for name, part in answers.items() if name in entries}
    refuse_columns(read, columns)
    more = {name: [column for entry in bases[name] for column in entry.spec.variance_over] for name in read}
    of_family = {name: columns_of(name, read, list(dict.fromkeys([*columns, *more[name]]))) for name in read}
    return Wanted(names, entries, of_family)


def _grouped(bases: Sequence[Entry], answers: Answers) -> list[Entry]:
    """Measures of a variance over groups whose groups the items of these answers have."""
    items = [table for table in _items(answers) if len(table)]  # without rows nothing is known of their columns yet
    columns = {entry.name: entry.spec.variance_over for entry in bases}
    return [entry for entry in bases if all(has_column(table, name) for name in columns[entry.name] for table in items)]


def rows_of(part: Answers, wanted: Wanted, settings: Settings) -> list[Estimate]:
    """The estimates of one family's answers, or of some of them: an estimate is of one model and one benchmark."""
    entries = wanted.entries.get(part.family)
    if not entries:
        return []
    family = find_family(part.family)
    rows = with_cautions(family.estimate(part, entries, wanted.columns[part.family], settings), part)
    unnamed = {entry.name for entry in entries} - {entry.name for entry in measures_of(family, wanted.named)}
    kept = [row for row in rows if row.measure not in unnamed]
    return with_pooled(with_primary(kept, part, family), settings.confidence)


def columns_of(family: str, answers: Mapping[str, Answers], columns: Sequence[str]) -> list[str]:
    """The columns that a family is grouped by: a column of one need not be one of another, but must be one of some."""
    fits = {
        name: [column for column in columns if all(has_column(items, column) for items in _items(part))]
        for name, part in answers.items()
    }
    return [column for column in columns if column in fits[family] or not any(column in fit for fit in fits.values())]


def refuse_columns(answers: Mapping[str, Answers], columns: Sequence[str]) -> None:
    """Refuses a column that no family's items can be grouped by, unless it is one of a family's answers."""
    for column in columns:
        if not any(column in part.table for part in answers.values()):
            require_column([_items(part) for part in answers.values()], column)


def _items(answers: Answers) -> list[pd.DataFrame]:
    return [answers.items[answers.items["benchmark"] == name] for name in answers.benchmarks]


def refuse_lacking(names: Sequence[str] | None, there: set[str], answers: Mapping[str, Answers]) -> None:
    """Refuse a measure that was requested by name and that cannot be computed from these answers."""
    for name in names or ():
        measure = catalog.find("measures", name)
        if measure.name not in there:
            benchmarks = ", ".join(dict.fromkeys(name for part in answers.values() for name in part.benchmarks))
            lacking = f"{benchmarks} has no such scores or labels" if benchmarks else "nothing here has them"
            raise UsageError(
                f"{name} reads {', '.join(measure.parameters)}, and {lacking}.",
                code="inapplicable-option",
                measure=name,
                needs=list(measure.parameters),
            )
