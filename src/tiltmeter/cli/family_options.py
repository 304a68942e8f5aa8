"""The options of a family as options of a command. Apart from other signatures: families import arrays and models."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields
from typing import Annotated, get_args, get_type_hints

import typer

from tiltmeter.cli.completion import complete_scorer
from tiltmeter.cli.signature import parameter
from tiltmeter.families import Family
from tiltmeter.families.kit.options import is_several

COMPLETED = {"scorers": complete_scorer}
"""Options of families whose values a shell completes."""


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
