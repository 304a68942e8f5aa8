"""`tiltmeter train classifier CONSTRUCT -m MODEL -o FOLDER`: judges and heads of one's own, with their errors measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.console import errors, progress_bar, results
from tiltmeter.cli.help import App
from tiltmeter.cli.options import DataDir
from tiltmeter.display import number_text, range_text
from tiltmeter.errors import UsageError

train_app = App(no_args_is_help=True, help="Train classifiers that judge texts, and heads that choose answers.")


@train_app.callback()
def group() -> None:
    """Train classifiers that judge texts, and heads that choose answers."""


@train_app.command()
def classifier(
    notion: Annotated[
        str,
        typer.Argument(
            metavar="CONSTRUCT", help="Construct: toxicity, regard, stereotype, your table's subject; or choices (a head)."
        ),
    ],
    model: Annotated[str, typer.Option("-m", "--model", help="Model to start from: hub id, folder or embedded name.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write; it must not exist.")],
    data: Annotated[
        Path | None,
        typer.Option(
            help="The dataset's folder, a labelled benchmark by name, or a table with text and label; choices: a benchmark."
        ),
    ] = None,
    add: Annotated[
        Path | None, typer.Option(help="A table with text and label whose rows are added to the dataset's.")
    ] = None,
    intersentence: Annotated[
        str | None,
        typer.Option(help="stereotype: StereoSet's intersentence items behind their context (default), none, or alone."),
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(help="choices: category to exclude from training, for evaluation; repeatable, at least one."),
    ] = None,
    data_dir: DataDir = None,
    epochs: Annotated[float, typer.Option(help="Passes over all texts. Default: the paper's.")] = 0.0,
    rate: Annotated[
        float, typer.Option(help="Learning rate. Default: the paper's, which is for models of BERT's size.")
    ] = 0.0,
    warmup: Annotated[
        float | None, typer.Option(help="Share of the steps in which the rate rises; a larger rate needs some.")
    ] = None,
    rows: Annotated[int, typer.Option(help="Texts per step.")] = 16,
    limit: Annotated[int | None, typer.Option(help="Train on this many texts only.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the new head and of the order.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda …")] = "auto",
) -> None:
    """Train a classifier on labelled texts, measure its errors on texts that it never saw, and store it with them."""
    from tiltmeter.families import all_families
    from tiltmeter.judges.kit.error_rates import FILE, errors_text
    from tiltmeter.judges.kit.training import TrainingOptions, train_judge

    options = TrainingOptions(epochs, rate, rows, seed, limit, device, warmup, intersentence)
    if family := all_families().get(notion):
        sources = {"data": data, "data_dir": data_dir, "leave_out": tuple(leave_out or ())}
        trained = family.train_head(model, output, **sources, options=options, watch=progress_bar)
        if trained is not None:
            results().print(trained[1], markup=False, soft_wrap=True)
            errors().print(f"Classifier: {trained[0]}", markup=False, soft_wrap=True)
            return
    if leave_out:
        raise UsageError(
            f"--leave-out applies only to heads that choose answers, not to a classifier of {notion}.",
            code="inapplicable-option", option="--leave-out",
        )  # fmt: skip
    folder = train_judge(notion, model, output, data=data, data_dir=data_dir, add=add, options=options, watch=progress_bar)
    measured = json.loads((folder / FILE).read_text("utf-8"))
    accuracy = measured["accuracy"]
    results().print(f"{errors_text(measured)[:1].upper()}{errors_text(measured)[1:]}.", markup=False, soft_wrap=True)
    results().print(
        f"Accuracy {number_text(accuracy['share'], 3)} {range_text(accuracy['low'], accuracy['high'], 3)} on "
        f"{accuracy['n']:,} texts.",
        markup=False,
    )
    errors().print(f"Classifier: {folder}", markup=False, soft_wrap=True)
    errors().print(f"Use it: tiltmeter run -b plumb-prompts --judge {notion}={folder}", markup=False, soft_wrap=True)
