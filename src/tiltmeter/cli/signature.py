"""Commands whose options are read off a function's signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from copy import copy
from typing import Annotated, Any, get_type_hints

import typer

from tiltmeter.catalog import Entry


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
