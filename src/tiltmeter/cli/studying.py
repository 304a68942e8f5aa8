"""`tiltmeter study NAME RUN…`: one command per study, its options read off the study's own signature."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from tiltmeter import catalog
from tiltmeter.cli.console import errors, progress_bar, results
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
        _parameter("runs", Folders), _parameter("output", Output, None), _parameter("scorer", Scorers, None),
        _parameter("without", Without, None), _parameter("as_json", Json, False),
    ]  # fmt: skip
    return with_signature(command, [*common, *(_option(entry, parameter) for parameter in own_parameters(entry))])


def own_parameters(entry: catalog.Entry) -> list[inspect.Parameter]:
    """A study's options: its parameters after the evidence."""
    return list(inspect.signature(entry.function).parameters.values())[1:]


def with_signature(command: Any, parameters: Sequence[inspect.Parameter]) -> Any:
    """The function as typer should read it."""
    vars(command)["__signature__"] = inspect.Signature(parameters)
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _option(entry: catalog.Entry, parameter: inspect.Parameter) -> inspect.Parameter:
    """A study's parameter as an option; its help is the text in `Annotated[type, "help"]`."""
    hint = get_type_hints(entry.function, include_extras=True)[parameter.name]
    plain, *texts = (hint.__origin__, *hint.__metadata__) if hasattr(hint, "__metadata__") else (hint,)
    option = typer.Option(help=" ".join(str(text) for text in texts))
    return _parameter(parameter.name, Annotated[plain, option], parameter.default)


def _parameter(name: str, hint: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _print(finding: Any, as_json: bool) -> None:
    from tiltmeter.reporting.terminal import plain_table

    if as_json:
        results().print_json(finding.table.to_json(orient="records", force_ascii=False, double_precision=15))
        return
    results().print(plain_table(finding.table, finding.study))
    for line in finding.sentences:
        results().print(line, markup=False, soft_wrap=True)
