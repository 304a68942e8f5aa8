"""`tiltmeter study NAME RUN…`: one command per study, its options read off the study's own signature."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from tiltmeter import catalog
from tiltmeter.cli.console import note, progress_bar, say
from tiltmeter.cli.help import App, Group
from tiltmeter.cli.options import RunFolder
from tiltmeter.cli.show import print_grids, print_json
from tiltmeter.cli.signature import parameter, study_options, with_signature
from tiltmeter.cli.study_file import COMMANDS
from tiltmeter.errors import TiltmeterError
from tiltmeter.storage.packed import is_folder, is_there

Output = Annotated[Path | None, typer.Option("-o", "--output", help="Folder to write. Default: RUN/studies/NAME.")]
Scorers = Annotated[list[str] | None, typer.Option("-s", "--scorer", help="Scorer; repeatable.")]
Without = Annotated[list[str] | None, typer.Option(help="Leave out this bias type; repeatable.")]
Json = Annotated[bool, typer.Option("--json", help="Print the main table as JSON.")]
All = Annotated[bool, typer.Option("--all", help="Print every row of the main table, not the first 40.")]


class StudyGroup(Group):
    """The studies as subcommands; a study's module is imported when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Every study there is, ours and others'."""
        return [*COMMANDS, *(catalog.public_name(name) for name in catalog.names("studies") if name not in COMMANDS)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of one study."""
        single = App()
        command: Any = COMMANDS.get(cmd_name) or _command(catalog.find("studies", cmd_name))
        single.command(cmd_name)(command)
        return typer.main.get_command(single)


def _command(entry: catalog.Entry) -> Any:
    """A function with the common options and those of the study, for typer to read."""

    def command(
        runs: Any, output: Path | None, scorer: Any, without: Any, as_json: bool, whole: bool, **options: Any
    ) -> None:
        from tiltmeter import study

        given = {name: value for name, value in options.items() if value is not None}
        finding = study(entry.name, runs, scorers=scorer, without=without or (), watch=progress_bar, **given)
        folder = output or runs[0] / "studies" / catalog.public_name(entry.name)
        if is_there(folder) and not is_folder(folder):
            raise TiltmeterError(f"{folder} is a file; -o names a folder.")
        finding.save(folder)
        _print(finding, as_json, whole)
        note(f"Tables and figures: {folder}")

    command.__doc__ = f"{entry.summary}\n\n{inspect.getdoc(entry.function)}\n\n{entry.constant('CITATION')}"
    common = [
        parameter("runs", RunFolder), parameter("output", Output, None), parameter("scorer", Scorers, None),
        parameter("without", Without, None), parameter("as_json", Json, False),
        parameter("whole", All, False),
    ]  # fmt: skip
    return with_signature(command, [*common, *study_options(entry)])


def _print(finding: Any, as_json: bool, whole: bool) -> None:
    from tiltmeter.reporting.terminal import plain_table

    if as_json:
        print_json(finding.table)
        return
    for line in finding.sentences:
        say(line)
    say("")
    print_grids([plain_table(finding.table, finding.study, None if whole else 40)])
