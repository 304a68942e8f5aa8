"""Display of results in a notebook, of text of others anywhere, and of numbers in sentences.

Results are made in rooms below the one that decides how things look (`reporting/`), so they do not call it: the package's
door says once who paints.
"""

from __future__ import annotations

import math
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


class Statement(str):
    """A sentence for readers that keeps the code of its template and the facts in it: programs check these, not the wording.

    Args:
        template: Text with named fields, as for `str.format`; without fields it is taken as it is.
        code: A stable name of the template, such as "overall-lean".
        fields: The facts that the template mentions, and others that a reader of the code may need.

    >>> line = Statement("{n:,} pairs are missing.", "missing-pairs", n=1200)
    >>> line, line.code, line.fields
    ('1,200 pairs are missing.', 'missing-pairs', {'n': 1200})
    """

    code: str
    fields: dict[str, Any]

    def __new__(cls, template: str, code: str = "", **fields: Any) -> Statement:
        """Fill the template."""
        sentence = super().__new__(cls, template.format(**fields) if fields else template)
        sentence.code, sentence.fields = code, fields
        return sentence


def interval_text(low: float, high: float, *, confidence: float = 0.95, places: int = 1, signed: bool = False) -> str:
    """Format a confidence interval; empty where there is none. With a sign, its ends are joined by "to".

    >>> interval_text(53.24, 60.6), interval_text(-1.25, 2.5, confidence=0.9, signed=True), interval_text(math.nan, 1.0)
    ('95 % CI 53.2–60.6', '90 % CI −1.2 to +2.5', '')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    joint = " to " if signed or low < 0 else "–"
    ends = joint.join(number_text(end, places, signed=signed) for end in (low, high))
    return f"{round(100 * confidence, 4):g} % CI {ends}"


def number_text(value: float, places: int = 1, *, signed: bool = False) -> str:
    """Format a number with a minus sign instead of a hyphen, and without a negative zero.

    >>> number_text(-0.004, 2), number_text(1234.5), number_text(2.0, 0, signed=True), number_text(math.nan)
    ('0.00', '1,234.5', '+2', 'missing')
    """
    if not math.isfinite(value):
        return "missing"
    text = f"{value:{'+' if signed else ''},.{places}f}"
    return (text if text.strip("-+0.,") else text.replace("-", "+" if signed else "")).replace("-", "−")


def p_text(p: float) -> str:
    """Format a p-value; empty where nothing was tested.

    >>> p_text(0.0421), p_text(0.0001), p_text(math.nan)
    ('p = 0.042', 'p < 0.001', '')
    """
    if not math.isfinite(p):
        return ""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


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
