"""Writes docs/api.md from the docstrings of the public names: `python scripts/api_reference.py` (`--check` compares)."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields, is_dataclass
from textwrap import dedent
from typing import Any, get_args

from generated_page import ROOT, write_or_check

import tiltmeter
from tiltmeter.cli.run import COMMON
from tiltmeter.families import all_families
from tiltmeter.families.kit.options import flag_of

PAGE = ROOT / "docs" / "api.md"
PARTS = {
    "Load": ("load_model", "wrap_model", "load_benchmark", "import_scores"),
    "Measure": ("run", "run_experiment", "ask", "score", "load_run"),
    "Estimate, compare, decide": ("estimate", "compare", "study", "check", "read_rules", "leaderboard"),
    "Show": ("report", "show", "figure", "table", "typeset", "as_html"),
    "Settings": ("Options", "Settings", "ServerOptions", "Engine"),
    "Results": (
        "Answers",
        "Run",
        "Finding",
        "Decision",
        "Board",
        "Benchmark",
        "Item",
        "LanguageModel",
        "TiltmeterError",
    ),
}
HEAD = """# API reference

*Reference · look up. Every public name of the Python package, from its docstring.*

Everything public is in the package `tiltmeter`. Each name is loaded when it is first used, so `import tiltmeter` is quick.
This page is made from the docstrings by `python scripts/api_reference.py`.

Some types in the signatures are short names:

| short name | what it stands for |
|---|---|
| `AnyModel` | what `load_model` or `wrap_model` gives; for association tests also an encoder or static vectors |
| `Several` | answers, a list of answers, or a mapping from family to answers, such as `Run.answers` |
| `Runs` | a run folder, or a list of run folders |
| `OneRun` | a run folder, or a `Run` |
| `Given` | a run folder, a `Run`, or answers |
| `Showable` | answers, a `Run`, or a `Finding` |
| `Watch` | a function of a title and a total that gives a context manager, which gives a function to report progress with |
"""
OF_FAMILIES = """## Options of families

Each [family](families.md) has options of its own. In Python they are an object, given to `run`, `ask` or `score`
(`tiltmeter.run(..., options=[tiltmeter.SlotsOptions(top_k=50)])`); on the command line they are options of `tiltmeter run`.
"""
ELSEWHERE = {
    "settings": "How intervals are made.",
    "server": "How models behind a server are queried.",
    "headers": "NAME=VARIABLE: headers, and the environment variables with their values.",
    "command": "The command line that made the run, for the manifest. Leave it out in Python.",
}
"""Options of a run that are no options of the command line."""


def reference() -> str:
    """The whole page."""
    known = {name for names in PARTS.values() for name in names}
    of_families = {family.Options.__name__ for family in all_families().values()}
    rest = sorted(set(tiltmeter.__all__) - known - of_families - {"__version__"})
    parts = PARTS | ({"Other": tuple(rest)} if rest else {})
    chapters = [f"## {title}\n\n" + "\n".join(map(_entry, names)) for title, names in parts.items()]
    chapters.insert(list(parts).index("Settings") + 1, OF_FAMILIES + "".join(map(_family_options, all_families().items())))
    return "\n".join([HEAD, *chapters])


def _family_options(named: tuple[str, Any]) -> str:
    """A table of the options of a family."""
    name, family = named
    if not fields(family.Options):
        return f"\n### {name}\n\n{family.TITLE}: no options.\n"
    return f"\n### {family.Options.__name__}\n\n{family.TITLE}.\n\n{_table(family.Options)}"


def _table(options: type) -> str:
    """The fields of a dataclass of options, with the help that the command line has for them."""
    rows = [
        f"| `{field.name}` | {_flag(options, field)} | `{_default(field)}` | {_help(field)} |\n" for field in fields(options)
    ]
    return f"| in Python | option | default | what |\n|---|---|---|---|\n{''.join(rows)}"


def _flag(options: type, field: Any) -> str:
    return f"`{flag_of(options, field.name)}`" if field.metadata or field.name in COMMON else ""


def _help(field: Any) -> str:
    """What an option does: a family says it in the field, the command line says it for those of every run."""
    if field.metadata:
        return str(field.metadata["help"])
    hint, _ = COMMON.get(field.name, (None, None))
    return str(get_args(hint)[-1].help) if hint else ELSEWHERE[field.name]


def _default(field: Any) -> Any:
    """The default of a field as one would type it; nothing where there is none."""
    value = field.default_factory() if field.default_factory is not MISSING else field.default
    return "" if value is MISSING else repr(value)


def _entry(name: str) -> str:
    thing = getattr(tiltmeter, name)
    if name in ("Options", "Settings"):
        return f"### {name}\n\n{_prose(thing)}\n\n{_table(thing)}"
    if inspect.isclass(thing):
        return f"### {name}\n\n{_prose(thing)}\n\n{_members(thing)}"
    return f"### {name}\n\n```text\n{_signature(name, thing)}\n```\n\n{_prose(thing)}\n"


def _members(thing: type) -> str:
    """Fields and methods with what they say of themselves."""
    defaults = {field.name: _default(field) for field in fields(thing)} if is_dataclass(thing) else {}
    members = [
        f"- `{name}: {hint}" + (f" = {defaults[name]}`" if defaults.get(name) else "`")
        for name, hint in getattr(thing, "__annotations__", {}).items()
        if name[0] != "_"
    ]
    methods = []
    for key, value in vars(thing).items():
        inner = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        inner = getattr(inner, "fget", None) or getattr(inner, "func", inner)
        if key[0] != "_" and inspect.isfunction(inner) and inner.__doc__:
            call = key if inner is not value and not isinstance(value, classmethod | staticmethod) else f"{key}(…)"
            methods.append(f"- `.{call}`: {inspect.getdoc(inner).splitlines()[0]}")  # type: ignore[union-attr]
    return "".join(f"{line}\n" for line in [*members, *methods])


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
    """The docstring, its example as a block of code."""
    before, heading, example = (inspect.getdoc(thing) or "").partition("\nExample:\n")
    prose = before.split(">>>")[0].strip()
    return f"{prose}\n\nExample:\n\n```pycon\n{dedent(example).strip()}\n```" if heading else prose


if __name__ == "__main__":
    write_or_check(PAGE, reference())
