"""Generated pages: a script writes a page, or with `--check` compares it with the stored one. `make references` runs all."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def write_or_check(page: Path, text: str) -> None:
    """Write a page; with `--check` on the command line, exit with 1 if the stored page differs.

    Args:
        page: The file.
        text: Its content, as generated now.
    """
    if "--check" not in sys.argv:
        page.write_text(text, encoding="utf-8")
    elif not page.is_file() or page.read_text(encoding="utf-8") != text:
        sys.exit(f"{page.relative_to(ROOT)} is out of date: make references")


def between(text: str, begin: str, end: str, content: str) -> str:
    """Replace what a page has between two marks.

    >>> between("a [x] b", "[", "]", "y")
    'a [y] b'
    """
    before, rest = text.split(begin)
    return before + begin + content + end + rest.split(end, 1)[1]
