"""`tiltmeter figure NAME RUN… -o FILE` and `tiltmeter table NAME RUN…`: what a paper needs, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tiltmeter import catalog
from tiltmeter.cli.console import note, results
from tiltmeter.cli.help import App, Group
from tiltmeter.cli.options import RunFolder
from tiltmeter.cli.show import print_grids
from tiltmeter.cli.signature import parameter, study_options, with_signature
from tiltmeter.cli.study import Scorers, Without

FigureFile = Annotated[Path, typer.Option("-o", "--output", help="File to write: .pdf, .svg or .png.")]
TableFile = Annotated[Path | None, typer.Option("-o", "--output", help="File to write: .tex or .md. Default: print it.")]
Width = Annotated[str, typer.Option(help="one or two (columns of a page), or inches, such as 3.03.")]
Form = Annotated[str | None, typer.Option("--format", help="latex or markdown. Default: by the file, else markdown.")]
Caption = Annotated[str, typer.Option(help="What the table shows.")]
Columns = Annotated[str | None, typer.Option(help="measure, or scorer: a wide table of each measure. Default: measure.")]
Digits = Annotated[int | None, typer.Option(min=0, max=10, help="Decimals.")]
Measures = Annotated[
    list[str] | None, typer.Option("--measure", help="Measure; repeatable. Default: all, or the headline's.")
]
By = Annotated[str | None, typer.Option("--by", help="Group by bias_type, direction, target or a column of yours.")]
Baseline = Annotated[str | None, typer.Option(help="Model to compare with. Default: the first.")]
Seed = Annotated[int | None, typer.Option(help="Seed of all resampling. Default: what the run stored.")]
Resamples = Annotated[int | None, typer.Option(help="Bootstrap resamples. Default: what the run stored.")]
Confidence = Annotated[float | None, typer.Option(help="Confidence of the intervals. Default: what the run stored.")]
SETTINGS = {"seed": Seed, "resamples": Resamples, "confidence": Confidence}


class _Group(Group):
    """One command per name; a study's options are read off its signature on demand."""

    kind = ""

    def list_commands(self, ctx: Any) -> list[str]:
        """Every name there is."""
        from tiltmeter.reporting.by_name import names

        return list(names(self.kind))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of one name."""
        from tiltmeter.reporting.by_name import parts_of

        source, _ = parts_of(self.kind, cmd_name)
        single = App()
        single.command(cmd_name)(_command(_draw if self.kind == "figure" else _print, self.kind, cmd_name, source))
        return typer.main.get_command(single)


class FigureGroup(_Group):
    """The figures as subcommands."""

    kind = "figure"


class TableGroup(_Group):
    """The tables as subcommands."""

    kind = "table"


def _command(act: Callable[..., None], kind: str, name: str, source: str) -> Any:
    def command(**words: Any) -> None:
        act(name, **words)

    common: dict[str, tuple[Any, ...]] = {"output": (FigureFile,), "width": (Width, "one")}
    if kind == "table":
        common = {"output": (TableFile, None), "form": (Form, None), "caption": (Caption, ""), "digits": (Digits, None)}
    shared = [parameter("runs", RunFolder), *(parameter(key, *how) for key, how in common.items())]
    shared.append(parameter("scorers", Scorers, None))
    from tiltmeter.reporting.by_name import COMPARISON, ESTIMATES, own

    ours = own(kind)
    if kind == "table" and source == ESTIMATES:
        shared.append(parameter("columns", Columns, None))
    if source not in ours:
        entry = catalog.find("studies", source)
        command.__doc__ = f"{entry.summary}\n\n{entry.citation}"
        more = [parameter("without", Without, None), *study_options(entry)]
    else:
        command.__doc__ = ours[source]
        baseline = [parameter("baseline", Baseline, None)] if source == COMPARISON else []
        more = [*baseline, parameter("measure", Measures, None), parameter("by", By, None)]
        more += [parameter(key, hint, None) for key, hint in SETTINGS.items()]
    return with_signature(command, [*shared, *more])


def _set_options(options: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    """Return the options that were set; the settings of a run stay as stored unless one is named."""
    from tiltmeter import Settings
    from tiltmeter.reporting.by_name import own

    chosen = {key: value for key, value in options.items() if value is not None}
    if name in own(kind):
        settings = {key: chosen.pop(key) for key in SETTINGS if key in chosen}
        measures = {"measures": chosen.pop("measure")} if "measure" in chosen else {}
        return chosen | measures | ({"settings": Settings(**settings)} if settings else {})
    shared = {key: chosen.pop(key) for key in ("scorers", "without") if key in chosen}
    return shared | {"options": chosen}


def _draw(name: str, runs: list[Path], output: Path, width: str, **options: Any) -> None:
    from tiltmeter import figures
    from tiltmeter.reporting.by_name import figure

    figures.format_of(output)
    drawn = figure(name, runs, width=width, **_set_options(options, "figure", name))
    figures.write_figure(drawn, output)
    note(f"Figure: {output}")
    for kind, left_out in getattr(drawn, "left_out", {}).items():
        if left_out:
            flag = {"measure": "--measure", "scorer": "-s"}[kind]
            note(f"Drawn is the headline's {kind} only. To draw others, name them with {flag}: {', '.join(left_out)}.")


def _print(
    name: str, runs: list[Path], output: Path | None, form: str | None, caption: str, digits: int | None, **options: Any
) -> None:
    from tiltmeter.reporting.by_name import described, form_of, stored_confidence, table, write
    from tiltmeter.reporting.terminal import as_grids
    from tiltmeter.reporting.typeset import typeset

    for_people = output is None and form is None and results().is_terminal
    form, columns = form_of(output, form), options.pop("columns", None) or "measure"
    found = table(name, runs, **_set_options(options, "table", name))
    if for_people:
        print_grids(as_grids(found, name))
        note("In a pipe, or with --format, this is Markdown or LaTeX.")
        return
    level = options.get("confidence") or stored_confidence(runs)
    words = caption or described(name)
    text = typeset(found, form, words, digits, label=name, columns=columns, confidence=level)
    if output is None:
        results().print(text, markup=False, soft_wrap=True, end="")
    else:
        note(f"Table: {write(text, output)}")
