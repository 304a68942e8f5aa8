"""Display of results in a notebook, of text of others anywhere, and of numbers in sentences.

Results are made in rooms below the one that decides how things look (`reporting/`), so they do not call it: the package's
door says once who paints.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from string import Formatter
from typing import Any

UNSHOWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters apart from tab and line feed, marks that turn the direction of writing, and halves of characters."""
DECIMALS = re.compile(r"(?P<sign>\+?)\.(?P<places>\d)f")
MISSING, LEAST_P, LEVEL = "missing", 0.001, 0.05
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


class _Template(Formatter):
    """Fills templates; numbers with decimals look as `number_text` and `percent_text` make them."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        """Format a field: `.1f` and `+.1f` by this module, others as Python does."""
        if match := DECIMALS.fullmatch(format_spec):
            return number_text(value, int(match["places"]), signed=bool(match["sign"]))
        return super().format_field(value, format_spec)


class Statement(str):
    """A sentence for readers that keeps the code of its template and the facts in it: programs check these, not the wording.

    Args:
        template: Text with named fields, as for `str.format`; without fields it is taken as it is.
        code: A stable name of the template, such as "overall-lean".
        fields: The facts that the template mentions, and others that a reader of the code may need.

    >>> Statement("A change of {change:+.1f} points.", "change", change=-0.25)
    'A change of −0.2 points.'
    >>> line = Statement("{n:,} pairs are missing.", "missing-pairs", n=1200)
    >>> line, line.code, line.fields
    ('1,200 pairs are missing.', 'missing-pairs', {'n': 1200})
    """

    code: str
    fields: dict[str, Any]

    def __new__(cls, template: str, code: str = "", **fields: Any) -> Statement:
        """Fill the template."""
        sentence = super().__new__(cls, _Template().format(template, **fields) if fields else template)
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


def fixed(value: float, places: int, sign: str = "") -> str:
    """Format a number for a file that a program may read: a hyphen for minus, no commas, no negative zero.

    >>> fixed(-0.001, 2), fixed(-0.001, 2, "+"), fixed(1234.5, 1)
    ('0.00', '+0.00', '1234.5')
    """
    text = f"{value:{sign}.{places}f}"
    return text if text.strip("-0.") else text.replace("-", sign)


def number_text(value: float, places: int = 1, *, signed: bool = False) -> str:
    """Format a number with a minus sign instead of a hyphen, and without a negative zero.

    >>> number_text(-0.004, 2), number_text(1234.5), number_text(2.0, 0, signed=True), number_text(math.nan)
    ('0.00', '1,234.5', '+2', 'missing')
    """
    if not math.isfinite(value):
        return MISSING
    text = f"{value:{'+' if signed else ''},.{places}f}"
    return (text if text.strip("-+0.,") else text.replace("-", "+" if signed else "")).replace("-", "−")


def signed_text(value: float, places: int = 1) -> str:
    """Format a difference or another number whose sign matters.

    >>> signed_text(0.25, 2), signed_text(-3.0), signed_text(-0.01)
    ('+0.25', '−3.0', '+0.0')
    """
    return number_text(value, places, signed=True)


def counted(n: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "cell"), counted(1200, "test")
    ('1 cell', '1,200 tests')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def percent_text(percent: float, places: int = 1, *, signed: bool = False) -> str:
    """Format a number that is a percentage already.

    >>> percent_text(57.0), percent_text(-1.25, 2, signed=True), percent_text(math.nan)
    ('57.0 %', '−1.25 %', 'missing')
    """
    return f"{number_text(percent, places, signed=signed)} %" if math.isfinite(percent) else MISSING


def share_text(share: float, places: int = 1, *, signed: bool = False) -> str:
    """Format a share from 0 to 1 as a percentage.

    >>> share_text(0.125), share_text(0.4, 0)
    ('12.5 %', '40 %')
    """
    return percent_text(100 * share, places, signed=signed)


def range_text(low: float, high: float, places: int = 1, *, signed: bool = False) -> str:
    """Format an interval in brackets, for tables and for lists that state the level once; empty where there is none.

    >>> range_text(53.24, 60.6), range_text(-0.1, 0.25, 2, signed=True), range_text(math.nan, 1.0)
    ('[53.2, 60.6]', '[−0.10, +0.25]', '')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"[{number_text(low, places, signed=signed)}, {number_text(high, places, signed=signed)}]"


def significant_text(value: float, digits: int = 3, *, signed: bool = False) -> str:
    """Format a number of unknown size by its significant digits.

    >>> significant_text(0.00123), significant_text(-12.345, 2, signed=True), significant_text(math.nan)
    ('0.00123', '−12', 'missing')
    """
    return f"{value:{'+' if signed else ''}.{digits}g}".replace("-", "−") if math.isfinite(value) else MISSING


def p_text(p: float, missing: str = "no p-value") -> str:
    """Format a p-value for a sentence.

    >>> p_text(0.0421), p_text(0.0001), p_text(math.nan)
    ('p = 0.042', 'p < 0.001', 'no p-value')
    """
    return missing if not math.isfinite(p) else f"p {p_cell(p)}" if p < LEAST_P else f"p = {p_cell(p)}"


def p_cell(p: float, missing: str = "") -> str:
    """Format a p-value for a table whose column is called p. Below 0.05 it never looks like 0.05.

    >>> p_cell(0.0421), p_cell(0.0001), p_cell(math.nan, "–"), p_cell(0.04998)
    ('0.042', '< 0.001', '–', '0.0499')
    """
    if not math.isfinite(p):
        return missing
    is_near = p < LEVEL and f"{p:.3f}" == f"{LEVEL:.3f}"
    return f"< {LEAST_P:g}" if p < LEAST_P else f"{math.floor(p * 1e4) / 1e4:.4f}" if is_near else f"{p:.3f}"


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
