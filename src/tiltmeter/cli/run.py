"""`tiltmeter run`: the options of a run, and those of every family in a help panel of their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from tiltmeter.cli.console import fail, note, progress_bar
from tiltmeter.cli.layers import HelpAll
from tiltmeter.cli.options import (
    All,
    Benchmarks,
    By,
    Clusters,
    Columns,
    Confidence,
    DataDir,
    Encoding,
    FirstToken,
    Headers,
    Json,
    Kind,
    MaxRequests,
    Measures,
    Models,
    Output,
    Precision,
    Quantize,
    Resamples,
    Seed,
    mapping,
)
from tiltmeter.cli.report import NAME, write
from tiltmeter.cli.show import print_run, short
from tiltmeter.cli.signature import in_panel, parameter, with_signature
from tiltmeter.errors import TiltmeterError

COMMON: dict[str, tuple[Any, Any]] = {
    "model": (Models, None),
    "benchmark": (Benchmarks, None),
    "measure": (Measures, None),
    "output": (Output, None),
    "by": (By, None),
    "limit": (Annotated[int | None, typer.Option(help="Only the first N items of each benchmark.")], None),
    "groups": (Annotated[list[str] | None, typer.Option(help="Only items about this group; repeatable.")], None),
    "seed": (Seed, 0),
    "resamples": (Resamples, 1000),
    "confidence": (Confidence, 0.95),
    "clusters": (Clusters, True),
    "device": (Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps …")], "auto"),
    "precision": (
        Annotated[Precision, typer.Option(help="auto is fp32 on a CPU, saved is the checkpoint's.")],
        Precision.auto,
    ),
    "device_map": (
        Annotated[str | None, typer.Option(help="Spread a model over devices: auto, balanced, sequential or a JSON file.")],
        None,
    ),
    "quantize": (Annotated[Quantize | None, typer.Option(help="Quantise the weights while loading; another model.")], None),
    "batch_tokens": (Annotated[str, typer.Option(help="Tokens per batch, or auto.")], "auto"),
    "kind": (Annotated[Kind | None, typer.Option(help="Kind of model, instead of the one in its configuration.")], None),
    "data_dir": (DataDir, None),
    "columns": (Columns, None),
    "encoding": (Encoding, None),
    "cache": (Annotated[bool, typer.Option(help="Store answers, so that a later run reuses them.")], True),
    "trust_remote_code": (
        Annotated[bool, typer.Option(help="Run model code that is not part of transformers.")],
        False,
    ),
    "max_requests": (MaxRequests, None),
    "max_cost": (Annotated[float | None, typer.Option(help="Stop before the cost exceeds this; needs --price.")], None),
    "price": (Annotated[str | None, typer.Option(help="Per million tokens: of prompts, of answers, e.g. 2.5,10.")], None),
    "timeout": (Annotated[float, typer.Option(help="Seconds after which a request counts as failed.")], 120.0),
    "retries": (Annotated[int, typer.Option(help="Retries of a failed request.")], 6),
    "concurrency": (
        Annotated[int, typer.Option(help="Highest number of parallel requests; fewer if the server is slow.")],
        64,
    ),
    "header": (Headers, None),
    "first_token": (FirstToken, None),
    "overwrite": (
        Annotated[bool, typer.Option("--overwrite", help="Replace a finished run that has other options.")],
        False,
    ),
    "report": (Annotated[bool, typer.Option(help="Write an HTML report into the run folder.")], True),
    "timings": (Annotated[bool, typer.Option("--timings", help="Print how long each step took.")], False),
    "as_json": (Json, False),
    "whole": (All, False),
}

SERVER = ("max_requests", "max_cost", "price", "timeout", "retries", "concurrency", "header", "first_token")
PANEL = {
    name: panel
    for panel, names in (
        ("Estimates", ("measure", "by", "seed", "resamples", "confidence", "clusters")),
        ("Your files", ("data_dir", "columns", "encoding")),
        ("Served models", SERVER),
        (
            "Computing",
            ("device", "device_map", "precision", "quantize", "batch_tokens", "kind", "cache", "trust_remote_code"),
        ),
    )
    for name in names
}


def run_command() -> Any:
    """The command as typer reads it. A family of another package that cannot be used is named, and left out."""
    from tiltmeter.cli.family_options import family_options
    from tiltmeter.families import all_families

    def warn(error: TiltmeterError) -> None:
        fail(f"Warning: {error}")

    families = all_families(warn).values()
    common = [parameter(name, in_panel(hint, PANEL.get(name, "")), default) for name, (hint, default) in COMMON.items()]
    own = {option.name: option for family in families for option in family_options(family)}
    return with_signature(run, [*common, *own.values(), parameter("help_all", HelpAll, False)])


def run(
    model: Any, benchmark: Any, measure: Any, output: Any, report: bool, timings: bool, as_json: bool, **words: Any
) -> None:
    """Measure the social bias of language models on benchmarks; write a run folder and its report.

    Without arguments: the two small models and the benchmarks that tiltmeter contains.
    """
    from tiltmeter import Options, Settings
    from tiltmeter.execution.options import DEFAULT_BY, FamilyOptions
    from tiltmeter.models.memory import memory_text
    from tiltmeter.models.served.options import ServerOptions
    from tiltmeter.runs.run import DEFAULT_MODELS, run_with
    from tiltmeter.storage.places import at_home
    from tiltmeter.storage.seals import MANIFEST, amend_run
    from tiltmeter.storage.timings import in_words, recording, since_import, timed

    words.pop("help_all", None)
    common = {name: words.pop(name) for name in COMMON if name in words}
    by, whole = common.pop("by") or (), common.pop("whole")
    settings = Settings(*(common.pop(name) for name in ("resamples", "confidence", "seed", "clusters")))
    kind, precision, quantize = (common.pop(name) for name in ("kind", "precision", "quantize"))
    server = {name: common.pop(name) for name in SERVER}
    options = Options(
        by=by or DEFAULT_BY,
        groups=common.pop("groups") or (),
        settings=settings,
        kind=kind.value if kind else None,
        precision=precision.value,
        quantize=quantize.value if quantize else None,
        columns=mapping(common.pop("columns")),
        server=ServerOptions(headers=tuple(server.pop("header") or ()), **server),
        command=sys.argv,
        **common,
    )
    chosen = {name: value for name, value in words.items() if value is not None}
    replaces = output is not None and (at_home(output) / MANIFEST).is_file()
    for line in filter(None, (memory_text(str(name), options.loading) for name in model or ())):
        note(line)
    with recording() as parts:
        parts.add("import", since_import())
        family_options_read = FamilyOptions.read(chosen)
        finished = run_with(model or DEFAULT_MODELS, benchmark, measure, output, options, family_options_read, progress_bar)
        with timed("report"):
            print_run(finished, as_json, by=by, whole=whole)
            if report:
                write(finished, finished.folder / NAME)
    amend_run(finished.folder, timings=parts.rounded())
    if timings:
        note(f"Time: {in_words(parts.seconds)}.")
    if replaces:
        note("Overwrote the existing run.")
    for line in next_steps(finished, report):
        note(line)


def next_steps(finished: Any, report: bool) -> Iterator[str]:
    """The two commands that are useful after a run."""
    name = short(finished.folder)
    yield f"Next: tiltmeter {'open' if report else 'report'} {name}"
    alike = finished.estimates.groupby(["benchmark", "scorer", "measure"])["model"].nunique()
    yield f"      tiltmeter {'compare' if (alike > 1).any() else 'estimate'} {name}"
