"""Names and help of the options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.completion import complete_benchmark, complete_measure, complete_model, complete_run, complete_scorer
from tiltmeter.cli.folders import run_folders
from tiltmeter.errors import UsageError

Names = list[str] | None
Models = Annotated[
    Names,
    typer.Option(
        "-m",
        "--model",
        help="Hub id, folder, .gguf file, embedded name or URL#NAME; repeatable.",
        autocompletion=complete_model,
    ),
]
Benchmarks = Annotated[
    Names,
    typer.Option(
        "-b", "--benchmark", help="Benchmark name or your own file; repeatable.", autocompletion=complete_benchmark
    ),
]
Scorers = Annotated[
    Names,
    typer.Option("-s", "--scorer", help="Scorer; repeatable. Default: all that apply.", autocompletion=complete_scorer),
]
Measures = Annotated[
    Names, typer.Option("--measure", help="Measure; repeatable. Default: all that apply.", autocompletion=complete_measure)
]
By = Annotated[Names, typer.Option("--by", help="Group by bias_type, direction, target or a column of your file.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON instead of tables.")]
All = Annotated[bool, typer.Option("--all", help="Print all numbers and sentences, not only the most important ones.")]
Seed = Annotated[int, typer.Option(help="Seed of all resampling.")]
Resamples = Annotated[int, typer.Option(help="Bootstrap resamples.")]
Clusters = Annotated[
    bool, typer.Option(help="Resample whole clusters, such as the prompts of one article, or single items.")
]
Confidence = Annotated[float, typer.Option(help="Confidence level of the intervals.")]
Columns = Annotated[str | None, typer.Option(help="Your column names, e.g. stereo=a,anti=b,bias_type=kind.")]
MaxRequests = Annotated[int | None, typer.Option(help="Stop after N requests; answers are kept.")]
Headers = Annotated[list[str] | None, typer.Option(help="NAME=VARIABLE, a header and the variable with it; repeatable.")]
FirstToken = Annotated[str | None, typer.Option(help="Token to put before every text, if the server adds none.")]
DataDir = Annotated[Path | None, typer.Option(help="Folder with the datasets (or TILTMETER_DATA).")]
Encoding = Annotated[str | None, typer.Option(help="Encoding of your file, if it cannot be detected.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Run folder. Default: runs/<date>.")]
RunFolder = Annotated[
    list[Path],
    typer.Argument(
        help="Run folders, the last parts of their names, or last.", callback=run_folders, autocompletion=complete_run
    ),
]


class Precision(StrEnum):
    """Number format of a model's computations."""

    auto = "auto"
    saved = "saved"
    fp32 = "fp32"
    tf32 = "tf32"
    bf16 = "bf16"
    fp16 = "fp16"


class Quantize(StrEnum):
    """Quantisation while a model is loaded."""

    eight = "8bit"
    four = "4bit"


class Kind(StrEnum):
    """Kind of a language model."""

    masked = "masked"
    causal = "causal"


class Listed(StrEnum):
    """Kinds of things that `tiltmeter list` shows."""

    families = "families"
    scorers = "scorers"
    measures = "measures"
    benchmarks = "benchmarks"
    models = "models"
    views = "views"
    studies = "studies"
    debias = "debias"
    judges = "judges"
    classifiers = "classifiers"  # the former name of judges


def mapping(text: str | None) -> dict[str, str] | None:
    """--columns as it is written: ours=theirs, separated by commas."""
    if not text:
        return None
    pairs = [part.split("=", 1) for part in text.split(",")]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        message = f"--columns is a list like stereo=a,anti=b, not '{text}'."
        raise UsageError(message, code="wrong-format", option="--columns", value=text)
    names = [ours.strip() for ours, _ in pairs]
    if repeated := [name for name in names if names.count(name) > 1]:
        message = f"--columns names {repeated[0]} more than once: '{text}'."
        raise UsageError(message, code="duplicate-name", option="--columns", name=repeated[0])
    return {ours.strip(): theirs.strip() for ours, theirs in pairs}
