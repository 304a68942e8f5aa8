"""Running text in lines: broken between words, never inside one, and never between a number and its sign."""

from __future__ import annotations

import re
from textwrap import TextWrapper

TIED = re.compile(r"(?<=\d) (?=%)|(?<=\b[np]) (?=[<=])|(?<=[<=]) (?=\d)")
"""Spaces that hold together: 50 %, p < 0.05, n = 60."""
NO_BREAK = "\u00a0"


def filled(text: str, width: int | None, first: str = "", then: str = "") -> str:
    """The text in lines no longer than the width; a path or a name that is longer stays whole. Without a width: one line.

    >>> filled("Report: /a/long/path/report.html", 20)
    'Report:\\n/a/long/path/report.html'
    >>> filled("It leans in 54.4 % of pairs (p < 0.001).", 16)
    'It leans in\\n54.4 % of pairs\\n(p < 0.001).'
    """
    if width is None:
        return first + text
    lines = TextWrapper(
        width, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    ).wrap(TIED.sub(NO_BREAK, text))
    return "\n".join(lines).replace(NO_BREAK, " ")
