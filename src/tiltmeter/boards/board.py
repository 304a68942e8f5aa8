"""`leaderboard`: run folders merged into one board, refused where their numbers are unlike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.boards.columns import Column, Filter, columns_of
from tiltmeter.boards.ranks import Compared, Rank, ranks_of
from tiltmeter.display import Statement
from tiltmeter.errors import UsageError
from tiltmeter.families import Answers
from tiltmeter.families.kit.reading import precisions_of
from tiltmeter.runs import Run, load_run
from tiltmeter.runs.comparability import column_facts, refuse_incomparable
from tiltmeter.runs.estimate import by_family, estimate_all
from tiltmeter.stats.settings import Settings

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Board:
    """Models, columns, an estimate for each that has one, and ranks within each column."""

    models: tuple[str, ...]
    columns: tuple[Column, ...]
    cells: dict[tuple[str, Column], Any]
    ranks: dict[Column, dict[str, Rank]]
    settings: Settings
    manifests: tuple[dict[str, Any], ...]
    notices: tuple[str, ...]

    def __repr__(self) -> str:
        """Describe the board in one line."""
        return f"<Board of {', '.join(self.models)}; {len(self.columns):,} columns>"

    def to_pandas(self) -> pd.DataFrame:
        """One row per model and column: the estimate, and its rank."""
        import pandas as pd

        rows = []
        for column in self.columns:
            for model in self.models:
                cell, rank = self.cells.get((model, column)), self.ranks[column].get(model)
                if cell is not None:
                    place = {"rank": rank.place, "rank_best": rank.best, "rank_worst": rank.worst} if rank else {}
                    rows.append({**cell, "asked": column.way, **place})
        table = pd.DataFrame(rows)
        for name in ("rank", "rank_best", "rank_worst"):
            table[name] = table[name].astype("Int64") if name in table else pd.NA
        return table


def leaderboard(
    runs: Sequence[str | Path | Run], only: Filter | None = None, by: Sequence[str] = (), settings: Settings | None = None
) -> Board:
    """Rank the models of stored runs. Numbers are estimated again from the stored answers, all in the same way.

    Args:
        runs: Runs or run folders.
        only: Filters of models, benchmarks, scorers and measures. Without measures, a board has the first of each benchmark.
        by: Columns of items to group by.
        settings: Resampling. Default: that of `estimate`.

    Returns:
        The board: a row per model, a column per benchmark, scorer and measure.

    Raises:
        RunError: Runs are not comparable, or a model occurs more than once.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> import tiltmeter
        >>> with TemporaryDirectory() as folder:
        ...     run = tiltmeter.run("plumb-mlm", "plumb-pairs", "sss", "bias_score", folder, limit=8, cache=False)
        ...     board = tiltmeter.leaderboard([run])
        >>> board.models, [column.measure for column in board.columns]
        (('plumb-mlm',), ['bias_score'])
    """
    import pandas as pd

    if not runs:
        raise UsageError("A leaderboard needs at least one run. Name a run folder.", code="missing-value", name="runs")
    loaded = [run if isinstance(run, Run) else load_run(run) for run in runs]
    refuse_incomparable(loaded)
    only, settings = only or Filter(), settings or Settings()
    answers = by_family([part for run in loaded for part in run.answers.values() if len(part)])
    stored = pd.concat([run.estimates for run in loaded], ignore_index=True)
    if len(stored):
        only.refuse_unknown(stored, "family", "benchmark", "scorer", "model")
    estimates = only.kept(_estimates(answers, stored, only, by, settings))
    facts = {place: of_place for run in loaded for place, of_place in column_facts(run).items()}
    found = columns_of(estimates, facts)
    compared = Compared(answers, settings)
    return Board(
        models=tuple(dict.fromkeys(map(str, estimates["model"]))),
        columns=tuple(found),
        cells={(str(row["model"]), column): dict(row) for column, rows in found.items() for _, row in rows.iterrows()},
        ranks={column: ranks_of(column, rows, compared) for column, rows in found.items()},
        settings=settings,
        manifests=tuple(run.manifest for run in loaded),
        notices=(*_notices(loaded), *_unranked(found)),
    )


def _estimates(
    answers: dict[str, Answers], stored: pd.DataFrame, only: Filter, by: Sequence[str], settings: Settings
) -> pd.DataFrame:
    """Estimates of what the filters leave. Which measure is the first is read off those that the runs stored."""
    wanted = {"benchmark": list(only.benchmarks), "model": list(only.models), "scorer": list(only.scorers)}
    kept = {name: part.where(**{key: names for key, names in wanted.items() if names}) for name, part in answers.items()}
    kept = {name: part for name, part in kept.items() if len(part) and (not only.families or name in only.families)}
    if not kept:
        raise UsageError(
            "No estimate of these runs passes all filters. Remove one of them.", code="empty-selection", kind="estimates"
        )
    if only.measures:
        return estimate_all(kept, list(only.measures), list(by) or "all", settings)
    stored = stored[stored["family"].isin(list(kept))]
    known = stored if len(stored) else estimate_all(kept, None, "all", replace(settings, resamples=100))
    first = replace(only, groups=()).kept(known)
    return estimate_all(kept, list(dict.fromkeys(first["measure"])), list(by) or "all", settings)


def _unranked(columns: Mapping[Column, pd.DataFrame]) -> Iterator[str]:
    """Explain columns of one model, which have no ranks."""
    alone = sum(rows["model"].nunique() < 2 for rows in columns.values())
    if alone:
        yield Statement(
            "Nothing to rank in {alone} of {of} columns: only one model has a value. Add runs of other models of its kind.",
            "unranked-columns", alone=alone, of=len(columns),
        )  # fmt: skip


def _notices(runs: Sequence[Run]) -> Iterator[str]:
    versions = dict.fromkeys(str(run.manifest.get("tiltmeter", "unknown")) for run in runs)
    if len(versions) > 1:
        yield f"These runs were made by different versions of tiltmeter ({', '.join(versions)}), with the same definitions."
    used: dict[str, list[str]] = {}
    for run in runs:
        for part in run.answers.values():
            for (model, _), precision in precisions_of(part.manifests).items():
                used.setdefault(precision, []).append(model)
    if len(used) > 1:
        each = "; ".join(f"{precision}: {', '.join(dict.fromkeys(models))}" for precision, models in used.items())
        yield f"The models ran in different precisions, which shifts scores a little ({each})."
