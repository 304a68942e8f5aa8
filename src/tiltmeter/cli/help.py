"""Help that fits any terminal: commands in their order of use, options in panels, no line and no word cut."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from tiltmeter.cli.console import hush
from tiltmeter.cli.signature import parameter, with_signature
from tiltmeter.errors import UsageError

PANELS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Measure", ("run", "audit", "experiment", "probe", "open", "list")),
    ("Analyse stored runs", ("estimate", "compare", "report", "study", "leaderboard")),
    ("For a paper", ("figure", "table", "cite")),
    ("Change a model", ("debias", "train")),
    ("Check and share", ("check", "bundle", "verify", "export")),
    ("Your data and data of others", ("build", "import", "cache")),
)
"""The commands in their order of use. One that is not listed comes last, under MORE."""
MORE = "More"
TYPES = {"str": "NAME", "int": "N", "float": "X", "path": "PATH", "Path": "PATH", "int range": "N", "float range": "X"}
REASONS = {
    "Input should be a valid integer": "It must be a whole number.",
    "Input should be a valid number": "It must be a number.",
    "Input should be a valid boolean": "It must be true or false.",
}
Function = TypeVar("Function", bound=Callable[..., Any])
UNCUT = 10_000
WIDEST = 24
"""A name that is longer has a line of its own."""
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress, notes or hints; only results and errors.")]


class Command(TyperCommand):
    """A command whose options are listed in panels: its own first, then those that an option names."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse words; a wrong value is explained in our words, not in those of the option library."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if type(error).__name__ == "MissingParameter":  # of typer's own copy of click, or of click
                raise _missing(ctx, getattr(error, "param", None)) from None
            if isinstance(text := getattr(error, "message", None), str):
                vars(error)["message"] = plain_reason(text)
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then a list of options per panel."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if line := self.line_of(param, ctx):
                default = "Arguments" if param.param_type_name == "argument" else "Options"
                panels.setdefault(getattr(param, "rich_help_panel", None) or default, []).append(line)
        write_panels(formatter, panels)

    def line_of(self, param: Any, ctx: Any) -> tuple[str, str] | None:
        """Flags and help of an option; None for a hidden one."""
        record = param.get_help_record(ctx)
        return None if record is None else (_plain_types(record[0]), _plain_ranges(record[1]))


class Group(TyperGroup):
    """Commands with the whole first sentence of each."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """One list; a sentence too long for a line goes on in the next."""
        write_panels(formatter, {"Commands": list(self._lines(ctx).items())})

    def _lines(self, ctx: Any) -> dict[str, str]:
        return {name: line for name in self.list_commands(ctx) if (line := self.summary(ctx, name))}

    def summary(self, ctx: Any, name: str) -> str:
        """First sentence of a command; nothing for a hidden one."""
        one = self.get_command(ctx, name)
        return one.get_short_help_str(UNCUT) if one and not one.hidden else ""


class OrderedGroup(Group):
    """The commands of the program, in panels by what they are for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order of use."""
        return in_order_of_use(super().list_commands(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A panel per purpose."""
        lines = self._lines(ctx)
        panels = {title: [(name, lines.pop(name)) for name in names if name in lines] for title, names in PANELS}
        write_panels(formatter, panels | {MORE: list(lines.items())})


class App(typer.Typer):
    """A program whose commands all have this help and take --quiet."""

    def __init__(self, **settings: Any) -> None:
        plain = {"rich_markup_mode": None, "add_completion": False, "pretty_exceptions_enable": False, "cls": Group}
        super().__init__(**(plain | settings))

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Function], Function]:
        """Registers a command."""
        register = super().command(name, **({"cls": Command} | settings))

        def registered(function: Function) -> Function:
            register(_with_quiet(function))
            return function

        return registered


def _missing(ctx: Any, param: Any) -> UsageError:
    """The error of an argument or an option that was not given, in one line."""
    is_argument = param.param_type_name == "argument"
    name = (param.metavar or param.name).strip("{}[].").upper() if is_argument else max(param.opts, key=len)
    listed = getattr(getattr(param, "type_descriptor", None) or getattr(param, "type", None), "choices", None)
    choices = [str(getattr(choice, "value", choice)) for choice in listed or ()]
    return UsageError(
        f"{'Argument' if is_argument else 'Option'} {name} is missing{': one of ' if choices else ''}{', '.join(choices)}. "
        f"See {ctx.command_path} --help.",
        code="missing-value", argument=param.name, choices=choices,
    )  # fmt: skip


def in_order_of_use(names: Iterable[str]) -> list[str]:
    """Names of commands as PANELS has them; then the others.

    >>> in_order_of_use(["table", "mine", "run"])
    ['run', 'table', 'mine']
    """
    known = [name for _, listed in PANELS for name in listed]
    return sorted(names, key=lambda name: known.index(name) if name in known else len(known))


def _with_quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """The command with --quiet, which is the same for all."""
    own = list(inspect.signature(function, eval_str=True).parameters.values())
    if any(one.name == "quiet" for one in own):
        return function

    @wraps(function)
    def command(**words: Any) -> Any:
        if words.pop("quiet", False):
            hush()
        return function(**words)

    named = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
    return with_signature(command, [*named, parameter("quiet", Quiet, False)])  # type: ignore[no-any-return]


def write_panels(formatter: Any, panels: Mapping[str, Iterable[tuple[str, str]]]) -> None:
    """Lists with one column of names for all panels, so that they read as one table."""
    lists = {title: list(rows) for title, rows in panels.items()}
    lengths = [len(name) for rows in lists.values() for name, _ in rows]
    widest = max((length for length in lengths if length <= WIDEST), default=0)
    for title, rows in lists.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), about) for name, about in rows], col_max=widest)


def plain_reason(text: str) -> str:
    """Return the reason why a value is wrong, without terms of the option library.

    >>> plain_reason("Input should be a valid integer, unable to parse string as an integer")
    'It must be a whole number.'
    >>> plain_reason("Value error, 'x' is not one of 'a', 'b'."), plain_reason("11 is not in the range 0<=x<=10.")
    ("'x' is not one of 'a', 'b'.", '11 is not in the range 0<=x<=10.')
    """
    for start, reason in REASONS.items():
        if text.startswith(start):
            return reason
    reason = text.removeprefix("Value error, ").replace("Input should be", "It must be").rstrip(".")
    return reason.replace("greater than or equal to", "at least").replace("less than or equal to", "at most") + "."


def _plain_ranges(about: str) -> str:
    """Ranges of numbers as people write them.

    >>> _plain_ranges("Workers. [default: 2; x>=1]"), _plain_ranges("Decimals. [0<=x<=10]")
    ('Workers. [default: 2; at least 1]', 'Decimals. [0 to 10]')
    """
    return re.sub(r"\bx>=(\S+)(?=\])", r"at least \1", re.sub(r"(\d+)<=x<=(\d+)(?=\])", r"\1 to \2", about))


def _plain_types(flags: str) -> str:
    """Types as people write them.

    >>> _plain_types("-m, --model <list[str]>"), _plain_types("--kind <masked|causal>"), _plain_types("runs... <list[Path]>")
    ('-m, --model NAME', '--kind masked|causal', 'runs...')
    """
    if flags.startswith("runs"):
        return flags.partition(" <")[0]
    return re.sub(r"<(?:list\[)?([^\]>]+)\]?>", lambda match: TYPES.get(match[1], match[1]), flags)
