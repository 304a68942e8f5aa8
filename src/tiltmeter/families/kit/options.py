"""Options of a family: fields of a dataclass, from which the command line reads its flags and their help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from tiltmeter.errors import require_known
from tiltmeter.storage.typed_values import check_types

LANGUAGE = "Language: crows-pairs (fr, nl, it, ja, ru), bec-pro (de), honest (es, fr, it, pt, ro). Default: English."
"""Help of the option that several families share."""


def option(default: Any, about: str, *flags: str, chooses: bool = False) -> Any:
    """A field of an `Options` dataclass. `about` is its help text; `flags` are its flags, by default the field's name.

    `chooses`: the option names what is computed; if it is given, the default benchmarks of other families are left out.
    """
    metadata = {"help": about, "flags": flags, "chooses": chooses}
    if isinstance(default, list | dict | set):
        return field(default_factory=lambda: type(default)(default), metadata=metadata)
    return field(default=default, metadata=metadata)


Kind = TypeVar("Kind")


def named(kind: type[Kind]) -> type[Kind]:
    """Decorate the options of a family, so that a misspelt option is an error that names the family's options.

    Raises:
        UsageError: `unknown-name`, with the fields name and names.
    """
    made = kind.__init__
    known = sorted(entry.name for entry in fields(kind))  # type: ignore[arg-type]

    @wraps(made)
    def checked(self: Any, *values: Any, **options: Any) -> None:
        require_known("option", options, known, place=kind.__name__)
        made(self, *values, **options)

    kind.__init__ = checked  # type: ignore[method-assign]
    return kind


@dataclass(frozen=True)
class NoOptions:
    """The options of a family that has none."""


def options_from(kind: type, options: Mapping[str, Any]) -> Any:
    """The options of a family, out of all that were given. A path may be given as text, and a list as its only member."""
    hints = get_type_hints(kind)
    own = {entry.name: options[entry.name] for entry in fields(kind) if entry.name in options}
    check_types(kind, own)
    return kind(**{name: _as(hints[name], value) for name, value in own.items()})


def _as(hint: Any, value: Any) -> Any:
    if is_several(hint):
        (member,) = get_args(hint)[:1]
        return tuple(_as(member, each) for each in ([value] if isinstance(value, str | Path) else value))
    return Path(value) if Path in (hint, *get_args(hint)) and isinstance(value, str) else value


def is_several(hint: Any) -> bool:
    """Return whether an option can be repeated."""
    return get_origin(hint) in (Sequence, tuple, list)


def changed(options: Any) -> list[str]:
    """Names of the options that are not at their default."""
    return [entry.name for entry in fields(options) if getattr(options, entry.name) != _default(entry)]


def chosen(options: Any) -> bool:
    """Return whether an option was set that names what is computed."""
    return any(entry.metadata.get("chooses") for entry in fields(options) if entry.name in changed(options))


def flag_of(kind: type, name: str) -> str:
    """The flag of an option on the command line."""
    (entry,) = (entry for entry in fields(kind) if entry.name == name)
    long = [flag for flag in entry.metadata.get("flags", ()) if flag.startswith("--")]
    return long[0] if long else f"--{name.replace('_', '-')}"


def refuse_unknown(options: Mapping[str, Any], kinds: Mapping[str, type]) -> None:
    """Raises an error for an option that no family has."""
    require_known("option", sorted(options), sorted({entry.name for kind in kinds.values() for entry in fields(kind)}))


def _default(entry: Any) -> Any:
    return entry.default_factory() if entry.default_factory is not MISSING else entry.default
