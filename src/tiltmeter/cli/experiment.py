"""`tiltmeter experiment run FILE` and `tiltmeter experiment status FILE`: many models and benchmarks by one file."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from tiltmeter.cli.console import fail, note, progress_bar, say
from tiltmeter.cli.help import App
from tiltmeter.cli.show import print_grids, print_json
from tiltmeter.display import counted, number_text

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="Experiment file (TOML), or one that comes with tiltmeter: cao-2022.")
]
EngineName = Annotated[str, typer.Option("--engine", help="What makes the cells: local (processes of this machine) or ray.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Workers at a time. Default: one for each core; one with a GPU.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads of each worker. Default: its share of the cores; ray: 1.")]
Address = Annotated[str | None, typer.Option(help="Ray cluster to join: auto, or host:port. Default: start one here.")]
Gpus = Annotated[
    float | None, typer.Option(help="GPUs of each worker on a Ray cluster, e.g. 0.5. Default: 1 if there are any.")
]
Retries = Annotated[int, typer.Option(min=0, help="How often a worker that died is started again.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the plan and the time it would take; compute nothing.")]
Only = Annotated[list[str] | None, typer.Option("-m", "--model", help="Only this model of the experiment; repeatable.")]
CellsOnly = Annotated[
    bool, typer.Option("--cells-only", help="Compute cells without a run folder; a later call collects them.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the cells as JSON.")]


def run(
    file: File,
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
    """Run every model of an experiment file on every benchmark; write one run folder. Resumable.

    Finished cells are not computed again. A cell that fails does not stop the others; the next call retries it. The exit
    code is 1 if a cell failed. With `--model`, no run folder is written, as with `--cells-only`.
    """
    from tiltmeter.execution import Engine
    from tiltmeter.runs.experiment import make_cells, run_experiment

    if dry_run:
        _print_plan(file)
        return
    how = Engine(engine, workers, threads, gpus, address, retries)
    if model or cells_only:
        now = make_cells(file, models=model or (), engine=how, watch=progress_bar)
        _print_counts(now)
    else:
        made, now = run_experiment(file, engine=how, watch=progress_bar)
        _print_counts(now)
        note(f"Run folder: {made.folder}")
    lost = 0 if model or cells_only else now.counts["waiting"]  # answers that were there when they were made
    if now.counts["failed"] or lost:
        raise typer.Exit(1)


def status(file: File, as_json: Json = False) -> None:
    """Show the progress of an experiment from its storage, even while another machine runs it."""
    from tiltmeter.execution import status as read

    now = read(file)
    if as_json:
        print_json(now.table())
        return
    _print_counts(now)


def _print_counts(now: object) -> None:
    from tiltmeter.execution import Status

    assert isinstance(now, Status)
    counts = ", ".join(f"{count} {name}" for name, count in now.counts.items() if count)
    rest = f"; about {_spoken(now.eta)} of work left" if now.eta else ""
    say(f"{counted(len(now.states), 'cell')}: {counts}{rest}")
    for cell, state in zip(now.plan.cells, now.states, strict=True):
        if state.status in ("failed", "refused"):
            say(f"{state.status}: {cell.model} × {cell.benchmark}: {state.error}")


def _print_plan(file: Path) -> None:
    from tiltmeter.execution.forecast import forecast
    from tiltmeter.reporting.terminal import plain_table

    seen = forecast(file, watch=progress_bar)
    for line in seen.sentences:
        say(line)
    say("")
    figures = seen.table.drop(columns="note").dropna(axis=1, how="all")
    print_grids([plain_table(figures, "plan", None)])
    for note_, cells in seen.table[seen.table["note"] != ""].groupby("note", sort=False):
        say(f"{', '.join(dict.fromkeys(cells['benchmark']))} ({counted(len(cells), 'cell')}): {note_}")


def _spoken(seconds: float) -> str:
    if seconds < 90:
        return f"{number_text(seconds, 0)} s"
    return f"{number_text(seconds / 60, 0)} min" if seconds < 5400 else f"{number_text(seconds / 3600)} h"


COMMANDS: dict[str, Callable[..., None]] = {"run": run, "status": status}

experiment_app = App(no_args_is_help=True, help="Run many models and benchmarks described in one file.")
for _name, _command in COMMANDS.items():
    experiment_app.command(_name)(_command)


def old_command(name: str) -> Callable[..., None]:
    """`study run` or `study status`, the names of the earlier version."""
    command = COMMANDS[name]

    @wraps(command)
    def renamed(**words: Any) -> None:
        fail(f"Warning: `tiltmeter study {name}` will be removed in the next version. Use `tiltmeter experiment {name}`.")
        command(**words)

    return renamed
