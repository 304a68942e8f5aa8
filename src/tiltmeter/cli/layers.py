"""Help in layers: the options that most runs need, and, with --help-all, all of them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tiltmeter.cli.console import fail
from tiltmeter.cli.help import Command, write_panels
from tiltmeter.reporting.wrapping import filled

ESSENTIAL = (
    "model", "benchmark", "scorers", "measure", "by", "output", "limit", "groups", "data_dir", "seed", "device",
    "overwrite", "whole", "as_json", "quiet",
)  # fmt: skip
"""Options of `tiltmeter run --help`, in their order there."""
FORMER_FLAGS = {"--explained": "--attribution-texts", "--stand-ins": "--proxy-groups"}
"""Flags of the last version and the flags that replace them."""
_WHOLE = "tiltmeter.help-all"


def show_all(ctx: typer.Context, wanted: bool) -> None:
    """Print the help with all options, and exit."""
    if wanted:
        ctx.meta[_WHOLE] = True
        typer.echo(ctx.get_help(), color=ctx.color)
        raise typer.Exit


HelpAll = Annotated[bool, typer.Option("--help-all", is_eager=True, callback=show_all, help="Show all options and exit.")]


class LayeredCommand(Command):
    """A command whose help shows the essential options, and the names of the others by panel."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Replace flags of the last version, each with a warning."""
        return super().parse_args(ctx, [_renamed(word) for word in args])

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the essential options, then a line of names for each further panel."""
        if ctx.meta.get(_WHOLE):
            super().format_options(ctx, formatter)
            return
        params = {param.name: param for param in self.get_params(ctx)}
        shown = [params.pop(name) for name in (*ESSENTIAL, "help", "help_all") if name in params]
        others: dict[str, list[str]] = {}
        for param in params.values():
            flag = max(param.opts, key=len)
            others.setdefault(getattr(param, "rich_help_panel", None) or "Output", []).append(flag)
        write_panels(formatter, {"Options": [line for param in shown if (line := self.line_of(param, ctx))]})
        with formatter.section(f"{len(params)} more options, explained by --help-all"):
            indent = " " * formatter.current_indent
            for panel, flags in others.items():
                text = f"{panel}: {', '.join(flags)}"
                formatter.write(f"{filled(text, formatter.width, indent, indent * 2)}\n")


def _renamed(word: str) -> str:
    flag, sign, value = word.partition("=")
    if flag not in FORMER_FLAGS:
        return word
    fail(f"Warning: {flag} is now {FORMER_FLAGS[flag]}; the next version drops the old name.")
    return f"{FORMER_FLAGS[flag]}{sign}{value}"
