"""Writes docs/command-line.md from the commands' own help: `python scripts/command_page.py` (`--check` compares)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from generated_page import ROOT, write_or_check
from typer.main import get_command

from tiltmeter.cli.app import app
from tiltmeter.cli.help import PANELS

PAGE = ROOT / "docs" / "command-line.md"
HEAD = """# Command line

*Reference · look up. Every command with all its arguments and options, from its own help.*

`tiltmeter COMMAND --help` prints the same; of `tiltmeter run`, `--help` prints the options of most runs and `--help-all`
all of them. `-q` (no progress, notes or hints) and `--help` apply to every command and are left out below. A user's mistake
ends with one message on stderr and exit code 2; `--json` commands print it as JSON, with its [code](errors.md). Arguments
and options that all commands of a group share are listed once, with the group.
"""
EVERYWHERE = frozenset({"quiet", "help", "help_all"})
BY_NAME = frozenset({"tiltmeter figure", "tiltmeter table"})
"""Groups with a command for each study, which takes the study's options."""


def page() -> str:
    """Text of the page: the commands in their order of use."""
    commands: Any = get_command(app)
    context = commands.make_context("tiltmeter", [], resilient_parsing=True)
    parts = [HEAD]
    for panel, names in PANELS:
        parts.append(f"## {panel}\n")
        for name in names:
            parts += sections(commands.get_command(context, name), f"tiltmeter {name}")
    return "\n".join(parts)


def sections(command: Any, path: str) -> Iterator[str]:
    """Yield the section of a command or of a group with its commands."""
    if not hasattr(command, "list_commands"):
        yield section(command, path, rows(command, path))
        return
    context = command.make_context(path, [], resilient_parsing=True)
    inner = {f"{path} {name}": command.get_command(context, name) for name in command.list_commands(context)}
    tables = {name: rows(one, name) for name, one in inner.items() if one is not None and not one.hidden}
    first, *others = tables.values()
    shared = [row for row in first if others and all(row in table for table in others)]
    yield section(command, path, shared)
    if path in BY_NAME:
        names = ", ".join(f"`{name.rpartition(' ')[2]}`" for name in tables)
        yield f"Names: {names}. One that is a study takes the options of `tiltmeter study NAME` too.\n"
        return
    for name, table in tables.items():
        yield section(inner[name], name, [row for row in table if row not in shared], shared)


def section(command: Any, path: str, table: Collection[str], shared: Collection[str] = ()) -> str:
    """Describe one command: usage, purpose, arguments and options of its own."""
    context = command.make_context(path, [], resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    about = " ".join((command.help or "").split("\f")[0].split())
    heading = "####" if shared else "###"
    lines = [f"{heading} {path}\n", f"`{path} {usage}`\n", f"{_escaped(about)}\n"]
    return "\n".join([*lines, *(["| argument or option | meaning |", "|---|---|", *table, ""] if table else [])])


def rows(command: Any, path: str) -> list[str]:
    """Rows of the table of a command's arguments and options."""
    context = command.make_context(path, [], resilient_parsing=True)
    params = [param for param in command.get_params(context) if param.name not in EVERYWHERE]
    return [_row(*line) for param in params if (line := command.line_of(param, context))]


def _row(flags: str, meaning: str) -> str:
    bare = flags.replace("|", "\\|")
    return f"| `{bare}` | {_escaped(meaning)} |"


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("[", "\\[")


if __name__ == "__main__":
    write_or_check(PAGE, page())
