"""`tiltmeter build NAME`: benchmarks and texts made on your machine from what cannot be passed on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.console import note, say
from tiltmeter.cli.help import App
from tiltmeter.cli.options import mapping
from tiltmeter.errors import UsageError
from tiltmeter.storage.compression import is_folder

build_app = App(no_args_is_help=True, help="Build a benchmark or a text.")
Source = Annotated[list[Path], typer.Option("--source", help="Labelled corpus (CSV, TSV, JSON, JSONL); repeatable.")]
Output = Annotated[Path, typer.Option("-o", "--output", help="File to write (JSONL), or a folder for sexism.jsonl.")]


@build_app.callback()
def builders() -> None:
    """Build a benchmark from labelled corpora, or a text from a text."""


@build_app.command()
def sexism(
    source: Source,
    output: Output,
    dropped: Annotated[Path | None, typer.Option(help="Also write what was dropped, where and why (JSONL).")] = None,
    rules: Annotated[Path | None, typer.Option(help="Your own rule list (TOML).")] = None,
    columns: Annotated[str | None, typer.Option(help="Your column names, e.g. text=tweet,label=class,id=key.")] = None,
    positive: Annotated[list[str] | None, typer.Option(help="Label that means sexist; repeatable.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of your file, if it cannot be detected.")] = None,
) -> None:
    """Sexist sentences with their one gendered word masked and pronouns made neutral (Doughman et al., 2023)."""
    from tiltmeter.builders import build_sexism
    from tiltmeter.builders.sexism import PAPER_LENGTH

    built = build_sexism(source, rules=rules, columns=mapping(columns), positive=positive or (), encoding=encoding)
    target = output / "sexism.jsonl" if is_folder(output) or not output.suffix else output
    say(f"{'here':>8}  {'paper':>8}  left after")
    for stage in built.stages:
        paper = "" if stage.paper is None else f"{stage.paper:,}"
        say(f"{stage.count:>8,}  {paper:>8}  {stage.name}")
    say(f"{built.mean_length:>8.2f}  {PAPER_LENGTH:>8.2f}  words in a sentence, on average")
    _write(target, built.rows())
    if dropped:
        _write(dropped, (vars(one) for one in built.dropped))
    note(f"{len(built.sentences):,} sentences: {target}")


@build_app.command()
def counterfactual(
    text: Annotated[Path, typer.Option(help="UTF-8 text, a sentence or paragraph a line; .xz and .gz too.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write, a line each.")],
    terms: Annotated[
        list[str] | None, typer.Option(help="gender (default), or a file of aligned terms; repeatable.")
    ] = None,
    names: Annotated[str | None, typer.Option(help="Swap first names too: `ours` (embedded), or a file of pairs.")] = None,
    sides: Annotated[str, typer.Option(help="two: lines and their counterfactuals; one: these alone.")] = "two",
    neutral: Annotated[bool, typer.Option(help="Keep lines without any such term, too.")] = False,
) -> None:
    """Lines with every word of one group turned into its counterpart (Zmigrod et al., 2019; Webster et al., 2020)."""
    from tiltmeter.builders.counterfactual import write_counterfactuals

    written, kept = write_counterfactuals(text, output, terms, names, sides=sides, neutral=neutral)
    note(f"{written:,} lines, from {kept:,}: {output}")


@build_app.command()
def calibration(
    model: Annotated[str, typer.Option("-m", "--model", help="Hub id, folder or embedded name.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write; it must not exist.")] = Path(
        "calibration"
    ),
    doses: Annotated[
        str, typer.Option(help="Strengths from −1, against the stereotype, to 1; 0 is always included.")
    ] = "-1,-0.5,0.5,1",
    seeds: Annotated[str, typer.Option(help="Training seeds; one model for each dose and seed.")] = "0,1,2",
    domains: Annotated[str, typer.Option(help="Domains of the bias. Default: gender,race,religion.")] = "",
    names: Annotated[str, typer.Option(help="Domains with another arm, in which groups have first names only.")] = "",
    benchmark: Annotated[
        list[str] | None, typer.Option("-b", "--benchmark", help="Benchmark for the trained models.")
    ] = None,
    words: Annotated[Path | None, typer.Option(help="Your own groups, attributes and frames (TOML).")] = None,
    text: Annotated[
        Path | None, typer.Option(help="Natural text (UTF-8; .xz, .gz) whose sentences are resampled, instead of frames.")
    ] = None,
    sentences: Annotated[int, typer.Option(min=1, help="Number of sentences for each domain.")] = 2000,
    debias: Annotated[list[str] | None, typer.Option(help="Then debias the models by this method; repeatable.")] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Training steps of each model. Default: 250 for each domain, of 128 sentences.")
    ] = None,
) -> None:
    """Texts with a planted bias of known strength, and an experiment file that trains and measures models on them."""
    from tiltmeter.execution.calibration_file import BENCHMARKS, Calibration, write_calibration

    parts = [part.strip() for part in seeds.split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        message = f"--seeds are whole numbers from 0 on, such as 0,1,2, not '{seeds}'."
        raise UsageError(message, code="wrong-format", option="--seeds", value=seeds)
    wanted = Calibration(
        model, _numbers(doses), [int(part) for part in parts], _listed(domains), _listed(names),
        benchmark or BENCHMARKS, words, sentences, {method: {} for method in debias or ()},
        {"steps": steps} if steps else None, text,
    )  # fmt: skip
    file = write_calibration(wanted, output)
    if len(parts) == 1:
        note("One seed cannot separate the dose from training noise: there will be slopes, but no sensitivity.")
    note(f"Texts and experiment file: {file.parent}")
    note(f"Train and read: tiltmeter experiment run {file}")
    note(f"Then: tiltmeter study calibration {file.parent / 'study' / 'run'}")


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _numbers(text: str) -> list[float]:
    try:
        return [float(part.replace("−", "-")) for part in _listed(text)]
    except ValueError:
        message = f"--doses are numbers from −1 to 1, such as -1,-0.5,0.5,1, not '{text}'."
        raise UsageError(message, code="wrong-format", option="--doses", value=text) from None


def _write(path: Path, rows: Iterable[dict[str, str]]) -> None:
    from tiltmeter.storage.files import write_text

    if is_folder(path):
        raise UsageError(f"{path} is a folder; name a file.", code="not-a-file", file=path)
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
