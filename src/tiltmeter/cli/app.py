"""The commands. Each reads its words, makes one call, and prints what came back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tiltmeter import __version__
from tiltmeter.cli.building import build_app
from tiltmeter.cli.console import errors, progress_bar, results
from tiltmeter.cli.listing import listing
from tiltmeter.cli.options import (
    Attributes,
    Benchmarks,
    By,
    Columns,
    Confidence,
    Corpus,
    DataDir,
    Encoding,
    Json,
    Kind,
    Listed,
    Measures,
    Models,
    Names,
    Output,
    Precision,
    Resamples,
    RunFolder,
    Scorers,
    Seed,
    Tests,
    Words,
)
from tiltmeter.cli.papers import FigureGroup, TableGroup
from tiltmeter.cli.printing import print_run, print_table
from tiltmeter.cli.reporting import NAME, report, write
from tiltmeter.cli.studying import StudyGroup
from tiltmeter.errors import TiltmeterError

app = typer.Typer(
    name="tiltmeter",
    help="Measures how far a language model leans: social biases by every published metric, with intervals.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)
app.add_typer(typer.Typer(cls=StudyGroup, no_args_is_help=True, rich_markup_mode=None), name="study")
app.add_typer(build_app, name="build")
for _name, _group, _what in (
    ("figure", FigureGroup, "Draw a figure of stored runs."),
    ("table", TableGroup, "Write a table of stored runs."),
):
    app.add_typer(typer.Typer(cls=_group, no_args_is_help=True, rich_markup_mode=None, help=_what), name=_name)
app.command()(report)


@app.command()
def run(
    model: Models = None,
    benchmark: Benchmarks = None,
    scorer: Scorers = None,
    measure: Measures = None,
    output: Output = None,
    by: By = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N items of each benchmark.")] = None,
    seed: Seed = 0,
    resamples: Resamples = 1000,
    confidence: Confidence = 0.95,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps …")] = "auto",
    precision: Annotated[Precision, typer.Option(help="auto is fp32 on a CPU.")] = Precision.auto,
    batch_tokens: Annotated[str, typer.Option(help="Tokens per batch, or auto.")] = "auto",
    kind: Annotated[Kind | None, typer.Option(help="Overrides what the model's configuration says.")] = None,
    alignment: Annotated[str, typer.Option(help="auto, or difflib also where a context marks the fill.")] = "auto",
    data_dir: DataDir = None,
    columns: Columns = None,
    encoding: Encoding = None,
    cache: Annotated[bool, typer.Option(help="Keep observations, so that a later run reuses them.")] = True,
    trust_remote_code: Annotated[bool, typer.Option(help="Run model code that is not part of transformers.")] = False,
    terms: Annotated[Path | None, typer.Option(help="Words of each group that fill slots (JSONL, CSV, JSON).")] = None,
    top_k: Annotated[int, typer.Option(help="Predictions among which a term counts as a match.")] = 100,
    test: Tests = None,
    pooling: Annotated[str, typer.Option(help="seat, ceat: how a vector is made (mean, cls, last, word_mean …).")] = "auto",
    layer: Annotated[int, typer.Option(help="seat, ceat: which layer; −1 is the last, 0 the input embeddings.")] = -1,
    corpus: Corpus = None,
    contexts: Annotated[int, typer.Option(help="ceat: sentences taken for each word, at most 1,000.")] = 200,
    draws: Annotated[int, typer.Option(help="ceat: draws of contexts (10,000 as published).")] = 1000,
    words: Words = None,
    attributes: Attributes = None,
    report: Annotated[bool, typer.Option(help="End with an HTML page in the run folder.")] = True,
    as_json: Json = False,
) -> None:
    """Score models on benchmarks and write a run folder. Without arguments: the embedded models and benchmarks."""
    from tiltmeter import run as do_run
    from tiltmeter.associating import Asking
    from tiltmeter.estimating import DEFAULT_BY
    from tiltmeter.evaluating import Options
    from tiltmeter.group_estimating import Settings
    from tiltmeter.running import DEFAULT_MODELS

    options = Options(
        by=by or DEFAULT_BY,
        limit=limit,
        settings=Settings(resamples, confidence, seed),
        kind=kind.value if kind else None,
        device=device,
        precision=precision.value,
        batch_tokens=batch_tokens,
        alignment=alignment,
        cache=cache,
        data_dir=data_dir,
        columns=_mapping(columns),
        encoding=encoding,
        trust_remote_code=trust_remote_code,
        terms=terms,
        top_k=top_k,
        asking=Asking(test or (), pooling, layer, words, attributes or (), corpus or (), contexts, draws),
    )
    finished = do_run(
        model or DEFAULT_MODELS,
        benchmark,
        scorer,
        measure,
        output,
        options,
        progress_bar,
    )
    print_run(finished, as_json)
    if report:
        write(finished, finished.folder / NAME)


@app.command("list")
def list_(what: Annotated[Listed, typer.Argument(help="What to list.")], as_json: Json = False) -> None:
    """List scorers, measures, benchmarks, embedded models, views or studies."""
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
    """Measures of stored scores, grouped as you like. Needs no model."""
    from tiltmeter.estimating import DEFAULT_BY
    from tiltmeter.group_estimating import Settings
    from tiltmeter.reporting.terminal import long_table
    from tiltmeter.runs import estimate_all, load_slots

    settings = Settings(resamples, confidence, seed)
    slots = None if scorer else load_slots(runs)
    table = estimate_all(_scores(runs, scorer), slots, measure, by or DEFAULT_BY, settings)
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
    from tiltmeter.reporting.terminal import comparison
    from tiltmeter.reporting.words import too_close

    table = do_compare(
        _scores(runs, scorer),
        baseline,
        measure,
        by or "all",
        resamples=resamples,
        confidence=confidence,
        seed=seed,
    )
    print_table(table, comparison(table), as_json)
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
    from tiltmeter.runs import import_run

    finished = import_run(
        file,
        output,
        model=model,
        scorer=scorer,
        data_dir=data_dir,
        columns=_mapping(columns),
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


def _scores(folders: list[Path], scorers: Names) -> Any:
    from tiltmeter.runs import load_scores

    return load_scores(folders, scorers)


def _mapping(text: str | None) -> dict[str, str] | None:
    if not text:
        return None
    pairs = [part.split("=", 1) for part in text.split(",")]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise TiltmeterError(f"--columns is a list like stereo=a,anti=b, not '{text}'.")
    return {ours.strip(): theirs.strip() for ours, theirs in pairs}
