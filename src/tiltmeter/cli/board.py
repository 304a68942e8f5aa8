"""`tiltmeter leaderboard RUNS… -o board.html -o board.csv`: any number of runs as one board."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.console import note, say
from tiltmeter.cli.options import Confidence, Resamples, RunFolder, Seed

Names = list[str] | None
Outputs = Annotated[
    list[Path] | None,
    typer.Option("-o", "--output", help="File: .html, .csv, .md or .tex; repeatable. Default: leaderboard.html."),
]
Families = Annotated[Names, typer.Option("--family", help="Only this family; repeatable.")]
Benchmarks = Annotated[Names, typer.Option("-b", "--benchmark", help="Only this benchmark; repeatable.")]
Measures = Annotated[Names, typer.Option("--measure", help="Measure; repeatable. Default: the first of each benchmark.")]
Scorers = Annotated[Names, typer.Option("-s", "--scorer", help="Only this scorer; repeatable.")]
Groups = Annotated[Names, typer.Option("--group", help="Only this group; repeatable.")]
Models = Annotated[Names, typer.Option("-m", "--model", help="Only this model; repeatable.")]
By = Annotated[
    Names, typer.Option("--by", help="Also a column for each group of bias_type, direction or a column of yours.")
]


def leaderboard(
    runs: RunFolder,
    output: Outputs = None,
    family: Families = None,
    benchmark: Benchmarks = None,
    measure: Measures = None,
    scorer: Scorers = None,
    group: Groups = None,
    model: Models = None,
    by: By = None,
    seed: Seed = 0,
    resamples: Resamples = 1000,
    confidence: Confidence = 0.95,
) -> None:
    """Merge runs into one table of models and measures, with ranks. Rejects runs that are not comparable. Needs no model."""
    from tiltmeter.boards import leaderboard as merge
    from tiltmeter.boards.columns import Filter
    from tiltmeter.reporting.board_tables import as_lines, check_forms, write_boards
    from tiltmeter.stats.settings import Settings

    paths = output or [Path("leaderboard.html")]
    check_forms(paths)
    only = Filter(*(tuple(names or ()) for names in (family, benchmark, measure, scorer, group, model)))
    board = merge(runs, only, by or (), Settings(resamples, confidence, seed))
    write_boards(board, paths)
    for line in as_lines(board):
        say(line)
    for notice in board.notices:
        note(notice)
    for path in paths:
        note(f"Leaderboard: {path}")
