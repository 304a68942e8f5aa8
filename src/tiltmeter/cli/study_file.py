"""`tiltmeter study run STUDY.toml` and `tiltmeter study status STUDY.toml`: many models and benchmarks by one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.console import note, progress_bar, say
from tiltmeter.cli.show import print_grids, print_json

Study = Annotated[Path, typer.Argument(help="Study file (TOML), or a study that comes with tiltmeter: cao-2022.")]
EngineName = Annotated[str, typer.Option("--engine", help="What makes the cells: local (processes of this machine) or ray.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Workers at a time. Default: one for each core; one with a GPU.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads of each worker. Default: its share of the cores; ray: 1.")]
Address = Annotated[str | None, typer.Option(help="Ray cluster to join: auto, or host:port. Default: start one here.")]
Gpus = Annotated[
    float | None, typer.Option(help="GPUs of each worker on a Ray cluster, e.g. 0.5. Default: 1 if there are any.")
]
Retries = Annotated[int, typer.Option(min=0, help="How often a worker that died is started again.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and how long it would take; do nothing.")]
Only = Annotated[list[str] | None, typer.Option("-m", "--model", help="Only this model of the study; repeatable.")]
CellsOnly = Annotated[bool, typer.Option("--cells-only", help="Make cells and no run folder; a later call gathers them.")]
Json = Annotated[bool, typer.Option("--json", help="Print the cells as JSON.")]


def run(
    study: Study,
    engine: EngineName = "local",
    workers: Workers = None,
    threads: Threads = None,
    address: Address = None,
    gpus: Gpus = None,
    retries: Retries = 2,
    dry_run: DryRun = False,
    model: Only = None,
    cells_only: CellsOnly = False,
) -> None:
    """Make what a study file asks for: every model × every benchmark, resumable, then one run folder.

    What is there is not made again. A model or benchmark that fails stops no other; it is tried again by the next call. The
    exit code is 1 if a cell failed. With `--model` only cells are made, as with `--cells-only`.
    """
    from tiltmeter.plans import Engine, make_cells, run_study

    if dry_run:
        _print_plan(study)
        return
    how = Engine(engine, workers, threads, gpus, address, retries)
    if model or cells_only:
        now = make_cells(study, models=model or (), engine=how, watch=progress_bar)
        _print_counts(now)
    else:
        made, now = run_study(study, engine=how, watch=progress_bar)
        _print_counts(now)
        note(f"Run folder: {made.folder}")
    lost = 0 if model or cells_only else now.counts["waiting"]  # answers that were there when they were made
    if now.counts["failed"] or lost:
        raise typer.Exit(1)


def status(study: Study, as_json: Json = False) -> None:
    """How far a study is, from its storage, also while it is worked on elsewhere."""
    from tiltmeter.plans import status as read

    now = read(study)
    if as_json:
        print_json(now.table())
        return
    _print_counts(now)


def _print_counts(now: object) -> None:
    from tiltmeter.plans import Status

    assert isinstance(now, Status)
    counts = ", ".join(f"{count} {name}" for name, count in now.counts.items() if count)
    rest = f"; about {_spoken(now.eta)} of work left" if now.eta else ""
    say(f"{len(now.states)} cells: {counts}{rest}")
    for cell, state in zip(now.plan.cells, now.states, strict=True):
        if state.status in ("failed", "refused"):
            say(f"{state.status}: {cell.model} × {cell.benchmark}: {state.error}")


def _print_plan(study: Path) -> None:
    from tiltmeter.plans.forecast import forecast
    from tiltmeter.reporting.terminal import plain_table

    seen = forecast(study, watch=progress_bar)
    for line in seen.sentences:
        say(line)
    say("")
    figures = seen.table.drop(columns="note").dropna(axis=1, how="all")
    print_grids([plain_table(figures, "plan", None)])
    for note_, cells in seen.table[seen.table["note"] != ""].groupby("note", sort=False):
        say(f"{', '.join(dict.fromkeys(cells['benchmark']))} ({len(cells)} cells): {note_}")


def _spoken(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


COMMANDS = {"run": run, "status": status}
"""Names that no study may have."""
