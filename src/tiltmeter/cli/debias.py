"""`tiltmeter debias METHOD -m MODEL -o FOLDER`: one command per method, its options read off the method's own signature."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tiltmeter import catalog
from tiltmeter.cli.console import note, progress_bar, say
from tiltmeter.cli.help import App, Group
from tiltmeter.cli.signature import parameter, study_options, with_signature
from tiltmeter.display import number_text, significant_text

Model = Annotated[str, typer.Option("-m", "--model", help="Hub id, folder or embedded name.")]
Output = Annotated[Path, typer.Option("-o", "--output", help="Folder to write; it must not exist.")]
Reference = Annotated[
    bool, typer.Option("--reference-settings", help="Settings of the authors' code, where you give none yourself.")
]
NO_OPTIONS = ("output", "watch")


class DebiasGroup(Group):
    """The methods as subcommands; a method's module is imported on demand."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Every method there is, ours and others'."""
        return [catalog.public_name(name) for name in catalog.names("debias")]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of one method."""
        single = App()
        single.command(cmd_name)(_command(catalog.find("debias", cmd_name)))
        return typer.main.get_command(single)


def _command(entry: catalog.Entry) -> Any:
    """A function with the common options and those of the method, for typer to read."""

    def command(ctx: typer.Context, model: str, output: Path, reference_settings: bool, **options: Any) -> None:
        from tiltmeter.debias import make

        typed = {name: value for name, value in options.items() if _is_set(ctx, name)}
        chosen = typed if reference_settings else options
        folder = make(entry.name, model, output=output, watch=progress_bar, reference_settings=reference_settings, **chosen)
        _report(folder, model)

    command.__doc__ = f"{entry.summary}\n\n{inspect.getdoc(entry.function)}\n\n{entry.citation}"
    common = [
        parameter("ctx", typer.Context),
        parameter("model", Model),
        parameter("output", Output),
        parameter("reference_settings", Reference, False),
    ]
    return with_signature(command, [*common, *study_options(entry, NO_OPTIONS)])


def _is_set(ctx: typer.Context, name: str) -> bool:
    """Return True if an option was typed, even with its default."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _report(folder: Path, model: str) -> None:
    """Report the training and the folder of the new model."""
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    trained = manifest.get("training")
    if trained and trained["first_loss"] is not None:
        early = trained["stopped"] == "early"
        ended = f", stopped early with the weights of step {trained['weights_of_step']}" if early else ""
        say(f"{trained['steps']:,} steps in {number_text(trained['seconds'], 0)} s{ended}")
        say(f"loss: {number_text(trained['first_loss'], 3)} → {number_text(trained['last_loss'], 3)}")
        if len(looks := trained["held_out"]) > 1:
            name = manifest.get("looks", "held-out loss")
            say(f"{name}: {significant_text(looks[0]['loss'], 4)} → {significant_text(looks[-1]['loss'], 4)}")
    note(f"Model: {folder}")
    note(f"Measure the change: tiltmeter run -m {model} -m {folder}")
