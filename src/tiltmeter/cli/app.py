"""The commands. Each reads its words, makes one call, and prints what came back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tiltmeter import __version__
from tiltmeter.cli.build import build_app
from tiltmeter.cli.by_name import FigureGroup, TableGroup
from tiltmeter.cli.check import check
from tiltmeter.cli.console import errors, progress_bar, results
from tiltmeter.cli.debias import DebiasGroup
from tiltmeter.cli.list import listing
from tiltmeter.cli.options import (
    By,
    Columns,
    Confidence,
    DataDir,
    Encoding,
    Json,
    Listed,
    Measures,
    Resamples,
    RunFolder,
    Scorers,
    Seed,
    mapping,
)
from tiltmeter.cli.report import report
from tiltmeter.cli.show import print_run, print_table
from tiltmeter.cli.study import StudyGroup

ABOUT = "Measures how far a language model leans: its social biases, by published metrics, with intervals."


class Commands(TyperGroup):
    """The commands in their order of use. `run` is made when it is asked for: it reads the options of every family."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Running first."""
        return ["run", *(name for name in super().list_commands(ctx) if name != "run")]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of one name."""
        if cmd_name != "run":
            return super().get_command(ctx, cmd_name)
        from tiltmeter.cli.run import run_command

        single = typer.Typer(add_completion=False, rich_markup_mode="rich")
        single.command("run")(run_command())
        return typer.main.get_command(single)


app = typer.Typer(
    name="tiltmeter",
    cls=Commands,
    help=ABOUT,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)
app.add_typer(
    typer.Typer(cls=StudyGroup, no_args_is_help=True, rich_markup_mode=None, help="Study which measure to trust."),
    name="study",
)
app.add_typer(
    typer.Typer(cls=DebiasGroup, no_args_is_help=True, rich_markup_mode=None, help="Make a less biased model of a model."),
    name="debias",
)
app.add_typer(build_app, name="build")
for _name, _group, _what in (
    ("figure", FigureGroup, "Draw a figure of stored runs."),
    ("table", TableGroup, "Write a table of stored runs."),
):
    app.add_typer(typer.Typer(cls=_group, no_args_is_help=True, rich_markup_mode=None, help=_what), name=_name)
app.command()(report)
app.command()(check)


@app.command("list")
def list_(what: Annotated[Listed, typer.Argument(help="What to list.")], as_json: Json = False) -> None:
    """List families, scorers, measures, benchmarks, embedded models, views, studies or methods of debiasing."""
    rows = listing(what.value)
    if as_json:
        results().print_json(json.dumps(rows, ensure_ascii=False))
        return
    from rich.table import Table

    table = Table(*rows[0], box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row.values())
    results().print(table)


@app.command()
def estimate(
    runs: RunFolder,
    measure: Measures = None,
    scorer: Scorers = None,
    by: By = None,
    seed: Seed = 0,
    resamples: Resamples = 1000,
    confidence: Confidence = 0.95,
    as_json: Json = False,
) -> None:
    """Measures of stored answers, grouped as you like. Needs no model."""
    from tiltmeter import estimate as do_estimate
    from tiltmeter.reporting.terminal import long_table
    from tiltmeter.runs import load_answers
    from tiltmeter.runs.options import DEFAULT_BY
    from tiltmeter.storage.progress import showing

    with showing(progress_bar):
        table = do_estimate(
            load_answers(runs, scorer),
            measure,
            by or DEFAULT_BY,
            resamples=resamples,
            confidence=confidence,
            seed=seed,
        )
    print_table(table, long_table(table, "estimates"), as_json)


@app.command()
def compare(
    runs: RunFolder,
    baseline: Annotated[str | None, typer.Option(help="Model to compare with. Default: the first.")] = None,
    measure: Measures = None,
    scorer: Scorers = None,
    by: By = None,
    seed: Seed = 0,
    resamples: Resamples = 1000,
    confidence: Confidence = 0.95,
    as_json: Json = False,
) -> None:
    """Paired differences between models, with intervals and p. Needs no model."""
    from tiltmeter import compare as do_compare
    from tiltmeter.reporting.closeness import too_close
    from tiltmeter.reporting.terminal import comparison
    from tiltmeter.runs import load_answers

    table = do_compare(
        load_answers(runs, scorer),
        baseline,
        measure,
        by or "all",
        resamples=resamples,
        confidence=confidence,
        seed=seed,
    )
    print_table(table, comparison(table), as_json)
    for note in dict.fromkeys(note for note in table["note"] if note):
        errors().print(f"Note: {note}.", markup=False, soft_wrap=True)
    for warning in too_close(table, confidence):
        errors().print(f"Warning: {warning}", markup=False, soft_wrap=True)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A per-pair score table, or StereoSet's predictions JSON.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Run folder to write.")],
    model: Annotated[str | None, typer.Option("-m", "--model", help="Name of the model that was scored.")] = None,
    scorer: Annotated[str, typer.Option("-s", "--scorer", help="Name of the score.")] = "imported",
    data_dir: DataDir = None,
    columns: Columns = None,
    encoding: Encoding = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Take in per-sentence scores that others published, and estimate from them."""
    from tiltmeter.runs.published import import_run

    finished = import_run(
        file,
        output,
        model=model,
        scorer=scorer,
        data_dir=data_dir,
        columns=mapping(columns),
        encoding=encoding,
        seed=seed,
    )
    print_run(finished, as_json)


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Options of the program itself."""
    if show:
        results().print(f"tiltmeter {__version__}")
        raise typer.Exit
