"""How a result shows itself in a notebook. Results are made in rooms below the one that decides how things look
(`reporting/`), so they do not call it: the package's door says once who paints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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
