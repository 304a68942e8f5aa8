"""`tiltmeter study NAME RUN…`: one command per study, its options read off the study's own signature."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from tiltmeter import catalog
from tiltmeter.cli.console import note, progress_bar, say
from tiltmeter.cli.experiment import COMMANDS, old_command
from tiltmeter.cli.help import App, Group
from tiltmeter.cli.options import RunFolder
from tiltmeter.cli.show import print_grids, print_json
from tiltmeter.cli.signature import parameter, study_options, with_signature
from tiltmeter.errors import UsageError
from tiltmeter.storage.compression import is_folder, is_there

Output = Annotated[Path | None, typer.Option("-o", "--output", help="Folder to write. Default: RUN/studies/NAME.")]
Scorers = Annotated[list[str] | None, typer.Option("-s", "--scorer", help="Scorer; repeatable.")]
Without = Annotated[list[str] | None, typer.Option(help="Leave out this bias type; repeatable.")]
FigureFile = Annotated[
    Path | None, typer.Option("--figure", metavar="PATH", help="Also write the main figure: .pdf, .svg or .png.")
]
TableFile = Annotated[Path | None, typer.Option("--table", metavar="PATH", help="Also write the main table: .tex or .md.")]
Json = Annotated[bool, typer.Option("--json", help="Print the main table as JSON.")]
All = Annotated[bool, typer.Option("--all", help="Print every row of the main table, not the first 40.")]


class StudyGroup(Group):
    """The studies as subcommands; a study's module is imported on demand."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Every study there is, ours and others'."""
        return [catalog.public_name(name) for name in catalog.names("studies") if name not in COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of one study."""
        single = App()
        command = old_command(cmd_name) if cmd_name in COMMANDS else _command(catalog.find("studies", cmd_name))
        single.command(cmd_name)(command)
        return typer.main.get_command(single)


def _command(entry: catalog.Entry) -> Any:
    """A function with the common options and those of the study, for typer to read."""

    def command(
        runs: Any,
        output: Path | None,
        figure_file: Path | None,
        table_file: Path | None,
        scorer: Any,
        without: Any,
        as_json: bool,
        whole: bool,
        **options: Any,
    ) -> None:
        from tiltmeter import study

        _check_files(figure_file, table_file)
        given = {name: value for name, value in options.items() if value is not None}
        finding = study(entry.name, runs, scorers=scorer, without=without or (), watch=progress_bar, options=given)
        folder = output or runs[0] / "studies" / catalog.public_name(entry.name)
        if is_there(folder) and not is_folder(folder):
            raise UsageError(f"{folder} is a file; -o names a folder.", code="not-a-folder", folder=folder)
        finding.save(folder)
        _print(finding, as_json, whole)
        note(f"Tables and figures: {folder}")
        _write(finding, catalog.public_name(entry.name), figure_file, table_file)

    command.__doc__ = f"{entry.summary}\n\n{inspect.getdoc(entry.function)}\n\n{entry.citation}"
    common = [
        parameter("runs", RunFolder), parameter("output", Output, None),
        parameter("figure_file", FigureFile, None), parameter("table_file", TableFile, None),
        parameter("scorer", Scorers, None),
        parameter("without", Without, None), parameter("as_json", Json, False),
        parameter("whole", All, False),
    ]  # fmt: skip
    return with_signature(command, [*common, *study_options(entry)])


def _check_files(figure_file: Path | None, table_file: Path | None) -> None:
    """Raise an error for files that cannot be written, before anything is computed."""
    from tiltmeter import figures
    from tiltmeter.reporting.by_name import form_of

    if figure_file is not None:
        figures.format_of(figure_file)
    if table_file is not None:
        form_of(table_file, None)


def _write(finding: Any, name: str, figure_file: Path | None, table_file: Path | None) -> None:
    """The main figure and the main table, as `tiltmeter figure NAME` and `tiltmeter table NAME` write them."""
    from tiltmeter import figures
    from tiltmeter.reporting.by_name import described, form_of, write
    from tiltmeter.reporting.typeset import typeset

    if figure_file is not None:
        figures.write_figure(finding.draw(), figure_file)
        note(f"Figure: {figure_file}")
    if table_file is not None:
        text = typeset(finding.table, form_of(table_file, None), described(name), label=name)
        note(f"Table: {write(text, table_file)}")


def _print(finding: Any, as_json: bool, whole: bool) -> None:
    from tiltmeter.reporting.terminal import plain_table

    if as_json:
        print_json(finding.table)
        return
    for line in finding.sentences:
        say(line)
    say("")
    print_grids([plain_table(finding.table, finding.study, None if whole else 40)])
