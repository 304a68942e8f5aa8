"""Where the command line writes: results to standard output, everything else to standard error.

In a terminal, lines are broken between words; a path or a name is never broken. In a pipe or a file, a line is a line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from tiltmeter.display import UNSHOWABLE, visible
from tiltmeter.reporting.wrapping import filled
from tiltmeter.storage import progress

if TYPE_CHECKING:
    from rich.console import Console

    from tiltmeter.families.kit.protocol import Advance

PIPED = 200
"""A file or a pipe has no width of its own; 80 columns would make narrow tables of wide ones."""
_hushed: list[bool] = []


@cache
def results() -> Console:
    """Standard output."""
    return _console(stderr=False)


def errors() -> Console:
    """Standard error, for what is not a result; nothing is written there after --quiet."""
    return _errors(bool(_hushed))


@cache
def _errors(quiet: bool) -> Console:
    return _console(stderr=True, quiet=quiet)


def hush() -> None:
    """From now on results and errors only."""
    _hushed.append(True)


def unhush() -> None:
    """As at the start of the program."""
    _hushed.clear()


def _console(*, stderr: bool, quiet: bool = False) -> Console:
    from rich.console import Console

    class SafeConsole(Console):
        """A console on which text of others is only ever shown: it cannot move the cursor, clear or recolour."""

        def render(self, renderable: Any, options: Any = None) -> Iterable[Any]:
            """Render text with signs in place of control characters. Rich's own are not part of a text."""
            for segment in super().render(renderable, options):
                yield segment if segment.control else segment._replace(text=visible(segment.text))

    colours = None if os.environ.get("NO_COLOR") else "auto"
    console = SafeConsole(stderr=stderr, highlight=False, quiet=quiet, color_system=colours)  # type: ignore[arg-type]
    if not console.is_terminal:
        console.width = PIPED
    return console


def print_data(text: str) -> None:
    """JSON on standard output. What cannot be shown is escaped, so that a program reads the same data."""
    import json

    from rich.highlighter import JSONHighlighter

    from tiltmeter.storage.files import json_text

    laid_out = json_text(json.loads(text))
    safe = UNSHOWABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", laid_out)
    results().print(JSONHighlighter()(safe), soft_wrap=True)


def width() -> int | None:
    """How wide results may be; a pipe has no width."""
    return results().width if results().is_terminal else None


def note(text: str) -> None:
    """A remark that is not a result, on standard error; not after --quiet."""
    _say(errors(), text)


def fail(text: str) -> None:
    """An error or a warning: said whatever --quiet says."""
    _say(_errors(False), text, "bold red" if text.startswith("Error:") else "")


def say(text: str) -> None:
    """A sentence of the result, on standard output."""
    _say(results(), text)


def _say(console: Console, text: str, style: str = "") -> None:
    from rich.text import Text

    width = console.width if console.is_terminal else None
    shown = Text("\n".join(line and filled(line, width) for line in text.split("\n")))
    if style:
        shown.stylize(style, 0, text.index(":") + 1)  # up to the colon: the word that says what this is
    console.print(shown, soft_wrap=True)


@contextmanager
def working(title: str) -> Iterator[None]:
    """Says on standard error that something goes on and for how long, if someone is watching."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    unseen = not errors().is_terminal or errors().quiet
    with Progress(*columns, console=errors(), transient=True, disable=unseen) as bars:
        bars.add_task(title, total=None)
        yield


def progress_bar(title: str, total: int) -> AbstractContextManager[Advance]:
    """Progress on standard error: a bar in a terminal, a line every half minute elsewhere; nothing after --quiet."""
    return progress.progress_bar(title, total, errors())
