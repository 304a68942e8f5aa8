"""Writes docs/api.md from the docstrings of the public names: `python scripts/api_reference.py` (`--check` compares)."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import tiltmeter

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
PARTS = {
    "Load": ("load_model", "wrap_model", "load_benchmark", "import_scores"),
    "Measure": ("run", "score", "fill_slots", "estimate", "estimate_slots", "compare", "study"),
    "Show": ("show", "figure", "table", "typeset", "as_html"),
    "What comes back": ("Scores", "Slots", "Finding", "Benchmark", "Item", "LanguageModel", "TiltmeterError"),
}
HEAD = """# API reference

Everything public is in the package `tiltmeter`; it is loaded when first used, so that importing costs nothing.
Made from the docstrings by `python scripts/api_reference.py`.
"""


def reference() -> str:
    """The whole page."""
    known = {name for names in PARTS.values() for name in names}
    rest = sorted(set(tiltmeter.__all__) - known - {"__version__"})
    parts = PARTS | ({"Other": tuple(rest)} if rest else {})
    chapters = [f"## {title}\n\n" + "\n".join(map(_entry, names)) for title, names in parts.items()]
    return "\n".join([HEAD, *chapters])


def _entry(name: str) -> str:
    thing = getattr(tiltmeter, name)
    if inspect.isclass(thing):
        return f"### {name}\n\n{_prose(thing)}\n\n{_members(thing)}"
    return f"### {name}\n\n```text\n{_signature(name, thing)}\n```\n\n{_prose(thing)}\n"


def _members(thing: type) -> str:
    """Fields and methods with what they say of themselves."""
    fields = [f"- `{field}`: `{hint}`" for field, hint in getattr(thing, "__annotations__", {}).items() if field[0] != "_"]
    methods = []
    for key, value in vars(thing).items():
        inner = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        inner = getattr(inner, "fget", None) or getattr(inner, "func", inner)
        if key[0] != "_" and inspect.isfunction(inner) and inner.__doc__:
            call = key if inner is not value and not isinstance(value, classmethod | staticmethod) else f"{key}(…)"
            methods.append(f"- `.{call}`: {inspect.getdoc(inner).splitlines()[0]}")  # type: ignore[union-attr]
    return "".join(f"{line}\n" for line in [*fields, *methods])


def _signature(name: str, function: Any) -> str:
    """Parameters one a line, where they do not fit into one."""
    signature = inspect.signature(function)
    parts, keyword_only = [], False
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not keyword_only:
            parts.append("*")
            keyword_only = True
        star = "**" if one.kind is one.VAR_KEYWORD else ""
        default = "" if one.default is one.empty else f" = {one.default!r}"
        parts.append(f"{star}{one.name}: {one.annotation}{default}")
    gives = signature.return_annotation
    short = f"{name}({', '.join(parts)}) -> {gives}"
    return short if len(short) < 100 else "\n".join([f"{name}(", *(f"    {part}," for part in parts), f") -> {gives}"])


def _prose(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").split(">>>")[0].strip()


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if PAGE.read_text(encoding="utf-8") == reference() else f"{PAGE} is out of date: run {sys.argv[0]}")
    PAGE.write_text(reference(), encoding="utf-8")
