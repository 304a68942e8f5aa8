"""How a result shows itself in a notebook, and how text of others is shown anywhere.

Results are made in rooms below the one that decides how things look (`reporting/`), so they do not call it: the package's
door says once who paints.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

UNSHOWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters apart from tab and line feed, marks that turn the direction of writing, and halves of characters."""
PICTURES = {chr(code): chr(0x2400 + code) for code in range(0x20)} | {"\x7f": "\u2421"}


def visible(text: str) -> str:
    """Text of others as it may be shown: what could drive a terminal or reorder a line is replaced by a sign for it.

    >>> visible("a\\x1b[2Jb"), visible("a\\x9bb\\u202e")
    ('a␛[2Jb', 'a�b�')
    """
    return UNSHOWABLE.sub(lambda match: PICTURES.get(match[0], "\ufffd"), text)


def one_line(text: str) -> str:
    """Show text of others on one line."""
    return visible(" ".join(text.splitlines()))


def _plain(what: Any) -> str:
    return repr(what)


_painter: list[Callable[[Any], str]] = [_plain]


def paint_with(painter: Callable[[Any], str]) -> None:
    """Says who turns a result into HTML."""
    _painter[0] = painter


class Shown:
    """A result that a notebook shows as HTML."""

    def _repr_html_(self) -> str:
        return _painter[0](self)
