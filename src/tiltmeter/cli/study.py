"""`tiltmeter study NAME RUN…`: one command per study, its options read off the study's own signature."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tiltmeter import catalog
from tiltmeter.cli.console import errors, progress_bar, results
from tiltmeter.cli.signature import parameter, study_options, with_signature
from tiltmeter.errors import TiltmeterError

Folders = Annotated[list[Path], typer.Argument(help="Run folders.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Folder to write. Default: RUN/studies/NAME.")]
Scorers = Annotated[list[str] | None, typer.Option("-s", "--scorer", help="Scorer; repeatable.")]
Without = Annotated[list[str] | None, typer.Option(help="Leave out this bias type; repeatable.")]
Json = Annotated[bool, typer.Option("--json", help="Print the main table as JSON.")]


class StudyGroup(TyperGroup):
    """The studies as subcommands; a study's module is imported when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Every study there is, ours and others'."""
        return [catalog.public_name(name) for name in catalog.names("studies")]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of one study."""
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(cmd_name)(_command(catalog.find("studies", cmd_name)))
        return typer.main.get_command(single)


def _command(entry: catalog.Entry) -> Any:
    """A function with the common options and those of the study, for typer to read."""

    def command(runs: Any, output: Path | None, scorer: Any, without: Any, as_json: bool, **options: Any) -> None:
        from tiltmeter import study

        given = {name: value for name, value in options.items() if value is not None}
        finding = study(entry.name, runs, scorers=scorer, without=without or (), watch=progress_bar, **given)
        folder = output or runs[0] / "studies" / catalog.public_name(entry.name)
        if folder.exists() and not folder.is_dir():
            raise TiltmeterError(f"{folder} is a file; -o names a folder.")
        finding.save(folder)
        _print(finding, as_json)
        errors().print(f"Tables and figures: {folder}", markup=False, soft_wrap=True)

    command.__doc__ = f"{entry.summary}\n\n{inspect.getdoc(entry.function)}\n\n{entry.constant('CITATION')}"
    common = [
        parameter("runs", Folders), parameter("output", Output, None), parameter("scorer", Scorers, None),
        parameter("without", Without, None), parameter("as_json", Json, False),
    ]  # fmt: skip
    return with_signature(command, [*common, *study_options(entry)])


def _print(finding: Any, as_json: bool) -> None:
    from tiltmeter.reporting.terminal import plain_table

    if as_json:
        results().print_json(finding.table.to_json(orient="records", force_ascii=False, double_precision=15))
        return
    results().print(plain_table(finding.table, finding.study))
    for line in finding.sentences:
        results().print(line, markup=False, soft_wrap=True)
