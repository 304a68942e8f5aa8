"""Commands whose options are read off something else: a study's signature, the options of families."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from dataclasses import fields
from typing import Annotated, Any, get_args, get_type_hints

import typer

from tiltmeter.catalog import Entry
from tiltmeter.cli.completion import complete_scorer
from tiltmeter.families import Family
from tiltmeter.families.kit.options import is_several

COMPLETED = {"scorers": complete_scorer}
"""Options of families whose values a shell completes."""


def with_signature(command: Callable[..., Any], parameters: Sequence[inspect.Parameter]) -> Any:
    """The function as typer should read it."""
    vars(command)["__signature__"] = inspect.Signature(parameters)
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def parameter(name: str, hint: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """One option or argument."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def in_panel(hint: Any, panel: str) -> Any:
    """An option in a help panel."""
    about = copy(hint.__metadata__[0])
    about.rich_help_panel = panel or None
    return Annotated[hint.__origin__, about]


def study_options(entry: Entry, without: Collection[str] = ()) -> list[inspect.Parameter]:
    """Parameters after the first (evidence, or a model) as options; their help is the text in `Annotated[type, "help"]`."""
    hints = get_type_hints(entry.function, include_extras=True)
    options = []
    for one in list(inspect.signature(entry.function).parameters.values())[1:]:
        if one.name in without:
            continue
        hint = hints[one.name]
        plain, *texts = (hint.__origin__, *hint.__metadata__) if hasattr(hint, "__metadata__") else (hint,)
        about = typer.Option(help=" ".join(str(text) for text in texts))
        options.append(parameter(one.name, Annotated[plain, about], one.default))
    return options


def family_options(family: Family) -> Iterator[inspect.Parameter]:
    """The options of a family, in a help panel of their own. What is not given stays out, so defaults are the family's."""
    hints = get_type_hints(family.Options)
    for field in fields(family.Options):
        several = is_several(hints[field.name])
        plain = get_args(hints[field.name])[0] if several or type(None) in get_args(hints[field.name]) else hints[field.name]
        about = str(field.metadata.get("help", ""))
        shown = f"{about} Default: {field.default}." if isinstance(field.default, int | str) and field.default else about
        names = field.metadata.get("flags") or (f"--{field.name.replace('_', '-')}",)
        complete = COMPLETED.get(field.name)
        option = typer.Option(*names, help=shown, rich_help_panel=family.TITLE, show_default=False, autocompletion=complete)
        yield parameter(field.name, Annotated[(list[plain] if several else plain) | None, option], None)  # type: ignore[valid-type]
