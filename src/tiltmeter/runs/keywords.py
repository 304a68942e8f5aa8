"""Keywords of `run`, `ask` and `score` in the earlier version: options of families by name, and the object `Options`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from tiltmeter.errors import UsageError
from tiltmeter.execution.options import FamilyOptions, Options
from tiltmeter.storage.keywords import Translation


def translate_ask(_: tuple[Any, ...], present: Mapping[str, Any], old: Mapping[str, Any]) -> Translation:
    """Options of one family by name, for `ask` and `score`."""
    if not old:
        return Translation(present)
    objects, spelled = _objects(old)
    if len(objects) > 1:
        raise UsageError(
            f"{', '.join(old)} are options of different families.", code="conflicting-options", options=list(old)
        )
    (options,) = objects or [present.get("options")]
    return Translation({**present, "options": options}, f"options={spelled}")


def translate_run(_: tuple[Any, ...], present: Mapping[str, Any], old: Mapping[str, Any]) -> Translation:
    """Options of families by name, and `options=Options(…)`."""
    shared: dict[str, Any] = {}
    spelled: list[str] = []
    keywords = dict(present)
    if isinstance(present.get("options"), Options):
        options = keywords.pop("options")
        shared = {entry.name: getattr(options, entry.name) for entry in fields(options)}
        shared |= vars(shared.pop("settings"))
        shared.pop("command")  # of the command line
        spelled.append("its fields as keywords (limit=…, by=…, resamples=…)")
    if old:
        objects, names = _objects(old)
        several = keywords.get("options", ())
        keywords["options"] = [*(several if isinstance(several, list | tuple) else [several]), *objects]
        spelled.append(f"options=[{names}]")
    return Translation({**shared, **keywords}, " and ".join(spelled))


def _objects(old: Mapping[str, Any]) -> tuple[list[Any], str]:
    """The options objects that the keywords stand for, and how they are written."""
    family_options = FamilyOptions.read(old)
    named = {family: [name for name in old if hasattr(options, name)] for family, options in family_options.of.items()}
    objects = [family_options[family] for family, names in named.items() if names]
    spelled = (
        f"{_public(family_options[family])}({', '.join(f'{name}=…' for name in names)})"
        for family, names in named.items()
        if names
    )
    return objects, ", ".join(spelled)


def _public(options: Any) -> str:
    """The name under which users import an options class."""
    kind = type(options)
    room, _, rest = kind.__module__.partition(".families.")
    return f"tiltmeter.{kind.__name__}" if room == "tiltmeter" and rest else f"{kind.__module__}.{kind.__name__}"
