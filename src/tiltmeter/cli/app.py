"""The commands. Each reads its words, makes one call, and prints what came back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tiltmeter.cli.audit import audit
from tiltmeter.cli.board import leaderboard
from tiltmeter.cli.build import build_app
from tiltmeter.cli.by_name import FigureGroup, TableGroup
from tiltmeter.cli.cache import cache_app
from tiltmeter.cli.check import check
from tiltmeter.cli.console import note, print_data, progress_bar, say, working
from tiltmeter.cli.debias import DebiasGroup
from tiltmeter.cli.experiment import experiment_app
from tiltmeter.cli.export import bundle, cite, export, verify
from tiltmeter.cli.help import App, OrderedGroup, in_order_of_use
from tiltmeter.cli.list import folded, listing
from tiltmeter.cli.options import (
    All,
    By,
    Clusters,
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
from tiltmeter.cli.probe import probe
from tiltmeter.cli.report import open_, report
from tiltmeter.cli.show import print_grids, print_run, print_table
from tiltmeter.cli.study import StudyGroup
from tiltmeter.cli.train import train_app
from tiltmeter.cli.welcome import FIRST_STEPS, versions

KINDS = f"One of: {', '.join(kind for kind in Listed if kind != Listed.classifiers)}."
ABOUT = "Measures how far a language model leans: its social biases, by published metrics, with intervals."


class Commands(OrderedGroup):
    """All commands. `run` is created on demand: it reads the options of every family."""

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order of use."""
        return in_order_of_use(["run", *self.commands])

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of one name."""
        if cmd_name != "run":
            return super().get_command(ctx, cmd_name)
        from tiltmeter.cli.layers import LayeredCommand
        from tiltmeter.cli.run import run_command

        single = App()
        single.command("run", cls=LayeredCommand)(run_command())
        return typer.main.get_command(single)

    def summary(self, ctx: Any, name: str) -> str:
        """First sentence of a command. That of `run` needs no family, whose import takes longer than all the rest."""
        if name != "run":
            return super().summary(ctx, name)
        from tiltmeter.cli.run import run

        return (run.__doc__ or "").partition("\n")[0]


app = App(name="tiltmeter", cls=Commands, help=ABOUT, add_completion=True)
app.add_typer(experiment_app, name="experiment")
app.add_typer(App(cls=StudyGroup, no_args_is_help=True, help="Study which measure to trust."), name="study")
app.add_typer(App(cls=DebiasGroup, no_args_is_help=True, help="Write a debiased copy of a model."), name="debias")
app.add_typer(build_app, name="build")
app.add_typer(train_app, name="train")
app.add_typer(cache_app, name="cache")
for _name, _group, _what in (
    ("figure", FigureGroup, "Draw a figure of stored runs."),
    ("table", TableGroup, "Write a table of stored runs."),
):
    app.add_typer(App(cls=_group, no_args_is_help=True, help=_what), name=_name)
app.command()(report)
app.command("open")(open_)
app.command()(probe)
app.command()(audit)
app.command()(check)
app.command()(leaderboard)
app.command()(export)
app.command()(cite)
app.command()(bundle)
app.command()(verify)


@app.command("list")
def list_(what: Annotated[Listed | None, typer.Argument(help=KINDS)] = None, as_json: Json = False) -> None:
    """List benchmarks, models, scorers, measures and more."""
    if what is None:
        say(f"Name what to list, such as `tiltmeter list benchmarks`. {KINDS}")
        return
    rows = listing(what.value)
    if as_json:
        print_data(json.dumps(rows, ensure_ascii=False))
        return
    from tiltmeter.reporting.terminal import listed

    print_grids([listed(folded(rows))])


@app.command()
def estimate(
    runs: RunFolder,
    measure: Measures = None,
    scorer: Scorers = None,
    by: By = None,
    seed: Seed = 0,
    resamples: Resamples = 1000,
    confidence: Confidence = 0.95,
    clusters: Clusters = True,
    as_json: Json = False,
) -> None:
    """Compute measures from stored answers, by any grouping. Needs no model."""
    from tiltmeter import estimate as do_estimate
    from tiltmeter.execution.options import DEFAULT_BY
    from tiltmeter.reporting.terminal import long_tables
    from tiltmeter.runs import load_answers
    from tiltmeter.runs.file_measures import name_files, refuse_without_file
    from tiltmeter.storage.progress import showing

    refuse_without_file(runs, measure)
    with showing(progress_bar):
        table = do_estimate(
            load_answers(runs, scorer),
            measure,
            by or DEFAULT_BY,
            resamples=resamples,
            confidence=confidence,
            seed=seed,
            clusters=clusters,
        )
    print_table(table, long_tables(table), as_json)
    for remark in name_files(runs, measure):
        note(remark)


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
    clusters: Clusters = True,
    as_json: Json = False,
) -> None:
    """Compare models pairwise, with confidence intervals and p-values. Needs no model."""
    from tiltmeter import compare as do_compare
    from tiltmeter.reporting.comparison_text import summaries, too_close
    from tiltmeter.reporting.terminal import comparisons
    from tiltmeter.runs import load_answers
    from tiltmeter.runs.file_measures import name_files, refuse_without_file

    refuse_without_file(runs, measure)
    with working("Comparing"):
        table = do_compare(
            load_answers(runs, scorer),
            baseline,
            measure,
            by or "all",
            resamples=resamples,
            confidence=confidence,
            seed=seed,
            clusters=clusters,
        )
    if not as_json:
        for sentence in summaries(table, confidence):
            say(sentence)
        say("")
    print_table(table, comparisons(table), as_json)
    for remark in dict.fromkeys(remark for remark in table["note"] if remark):
        note(f"Note: {remark}.")
    for warning in too_close(table, confidence):
        note(f"Warning: {warning}")
    for remark in name_files(runs, measure):
        note(remark)


@app.command("import")
def import_(
    file: Annotated[
        Path,
        typer.Argument(
            help="A per-pair score table, predictions of StereoSet, GEST or BBQ, SafeNLP's perplexities, or texts."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Run folder to write.")],
    model: Annotated[str | None, typer.Option("-m", "--model", help="Name of the model that was scored.")] = None,
    scorer: Annotated[str, typer.Option("-s", "--scorer", help="Name of the score.")] = "imported",
    data_dir: DataDir = None,
    columns: Columns = None,
    encoding: Encoding = None,
    judge: Annotated[list[str] | None, typer.Option(help="CONSTRUCT=CLASSIFIER that judges texts; repeatable.")] = None,
    benchmark: Annotated[
        str | None, typer.Option("-b", "--benchmark", help="The benchmark that predictions answer.")
    ] = None,
    category: Annotated[list[str] | None, typer.Option(help="Category of that benchmark; repeatable.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a finished run of something else.")] = False,
    seed: Seed = 0,
    as_json: Json = False,
    whole: All = False,
) -> None:
    """Import published scores or predictions, or generated texts."""
    from tiltmeter import import_scores
    from tiltmeter.runs.published import import_run

    answers = import_scores(
        file,
        model=model,
        scorer=scorer,
        data_dir=data_dir,
        columns=mapping(columns),
        encoding=encoding,
        judges=tuple(judge or ()),
        benchmark=benchmark,
        category=tuple(category or ()),
    )
    finished = import_run(answers, output, seed=seed, overwrite=overwrite)
    print_run(finished, as_json, whole=whole)


@app.callback(invoke_without_command=True)
def program(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the versions and exit.")] = False,
) -> None:
    """Options of the program itself."""
    if version:
        say(versions())
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        say(FIRST_STEPS)
