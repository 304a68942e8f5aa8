"""What options are called and say of themselves, for the commands that share them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Names = list[str] | None
Models = Annotated[Names, typer.Option("-m", "--model", help="Hub id, folder, .gguf file or embedded name; repeatable.")]
Benchmarks = Annotated[Names, typer.Option("-b", "--benchmark", help="Benchmark name or your own file; repeatable.")]
Scorers = Annotated[Names, typer.Option("-s", "--scorer", help="Scorer; repeatable. Default: all that apply.")]
Measures = Annotated[Names, typer.Option("--measure", help="Measure; repeatable. Default: all that apply.")]
By = Annotated[Names, typer.Option("--by", help="Group by bias_type, direction, target or a column of yours.")]
Json = Annotated[bool, typer.Option("--json", help="Print the estimates as JSON instead of tables.")]
Seed = Annotated[int, typer.Option(help="Seed of all resampling.")]
Resamples = Annotated[int, typer.Option(help="Bootstrap resamples.")]
Confidence = Annotated[float, typer.Option(help="Confidence of the intervals.")]
Columns = Annotated[str | None, typer.Option(help="Your column names, e.g. stereo=a,anti=b,bias_type=kind.")]
DataDir = Annotated[Path | None, typer.Option(help="Folder with the datasets (or TILTMETER_DATA).")]
Encoding = Annotated[str | None, typer.Option(help="Encoding of your file, if it cannot be told.")]
Tests = Annotated[Names, typer.Option("--test", help="seat, ceat: a test, a domain (gender, race …) or all; repeatable.")]
Corpus = Annotated[list[Path] | None, typer.Option("--corpus", help="ceat: text with contexts (plain, gz, xz); repeatable.")]
Words = Annotated[Path | None, typer.Option("--words", help="ceat, ilps: your own word sets (docs/associations.md).")]
Attributes = Annotated[list[Path] | None, typer.Option("--attributes", help="ilps: a list, one word a line; repeatable.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Run folder. Default: runs/<date>.")]
RunFolder = Annotated[list[Path], typer.Argument(help="Run folders.")]


class Precision(StrEnum):
    """How a model computes."""

    auto = "auto"
    fp32 = "fp32"
    tf32 = "tf32"
    bf16 = "bf16"
    fp16 = "fp16"


class Kind(StrEnum):
    """Which kind of language model."""

    masked = "masked"
    causal = "causal"


class Listed(StrEnum):
    """What can be listed."""

    scorers = "scorers"
    measures = "measures"
    benchmarks = "benchmarks"
    models = "models"
    views = "views"
    studies = "studies"
