"""Write the table of docs/debiasing-methods.md: differences from the authors' code, from the options of each method.

`python scripts/debiasing_page.py`; `--check` compares.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from generated_page import ROOT, between, write_or_check

from tiltmeter import catalog
from tiltmeter.debias import reference_of

PAGE = ROOT / "docs" / "debiasing-methods.md"
BEGIN, END = "<!-- from the options: begin -->\n", "<!-- from the options: end -->\n"
NAMED = {("self_debias", "template"): "the same, with a line break at the end"}
"""Defaults that a signature does not show."""
HEAD = "| method | | default | reference settings |\n|---|---|---|---|\n"


def rows() -> Iterator[str]:
    """Every option with another value in the authors' code than by default, then what no option matches."""
    for name in catalog.names("debias"):
        entry = catalog.find("debias", name)
        known = reference_of(entry)
        if known is None:
            continue
        shown = f"`{catalog.public_name(name)}` ({known.code.removeprefix('github.com/')})"
        defaults = {one.name: one.default for one in inspect.signature(entry.function).parameters.values()}
        for option, value in known.options.items():
            if value != defaults[option]:
                default = NAMED.get((name, option)) or text(defaults[option])
                yield row(shown, f"`--{option.replace('_', '-')}`", default, text(value))
                shown = ""
        for what, ours, theirs in known.unmatched:
            yield row(shown, f"{what} (no option)", ours, theirs)
            shown = ""


def row(*cells: str) -> str:
    """A row of the table."""
    return "| " + " | ".join(cells) + " |\n"


def text(value: Any) -> str:
    """A value as a reader types it."""
    if value is None:
        return "by device and text"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"`{value}`" if isinstance(value, str) else f"{value:,g}" if isinstance(value, float) else f"{value:,}"


def main() -> None:
    """Writes the page, or compares it."""
    write_or_check(PAGE, between(PAGE.read_text(encoding="utf-8"), BEGIN, END, HEAD + "".join(rows())))


if __name__ == "__main__":
    main()
