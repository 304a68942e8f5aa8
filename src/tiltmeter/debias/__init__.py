"""Debiasing: a model becomes a model, by a method of the field, with a manifest that says how to make it again.

A method is a file `debias/NAME.py` with a function `NAME(model, *, output, …) -> Path`, whose keyword arguments are its
options on the command line (`Annotated[type, "help"]`), and the constants `CITATION`, `KINDS` (masked, causal) and
`NEEDS_TEXT`. `watch` is not an option but as in `run`. Others add theirs through the entry point `tiltmeter.debias`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter import catalog
from tiltmeter.errors import UsageError
from tiltmeter.finetune.export import check_output
from tiltmeter.finetune.outcome import Watch

__all__ = ["make"]


def make(
    method: str,
    model: str | Path,
    *,
    output: str | Path,
    watch: Watch | None = None,
    reference_settings: bool = False,
    **options: Any,
) -> Path:
    """Debias a model by a method's name and write it to a new folder, which `load_model` and `-m` take as any other.

    The options are the method's own: `help(tiltmeter.debias.NAME)`. What is not given is the method's default, or with
    `reference_settings` what the authors' code has (`REFERENCE` of the method's module).
    """
    entry = catalog.find("debias", method)
    if unknown := sorted(set(options) - set(entry.parameters[1:])):
        known = ", ".join(name for name in entry.parameters[1:] if name not in ("output", "watch"))
        raise UsageError(
            f"{catalog.public_name(entry.name)} takes no option '{unknown[0]}'. Options: {known}.",
            code="unknown-name", kind="option", name=unknown[0], method=entry.name,
        )  # fmt: skip
    options = settings_of(entry, options, reference=reference_settings)
    folder = check_output(output)
    watched = {"watch": watch} if "watch" in entry.parameters else {}
    made: Path = entry.function(model, output=folder, **watched, **options)
    return made


def settings_of(entry: catalog.Entry, options: Mapping[str, Any], *, reference: bool) -> dict[str, Any]:
    """The options of a method: those that were given, and with `reference` those of the authors' code for all others.

    Raises:
        UsageError: The method states no reference settings (`missing-value`).
    """
    if not reference:
        return dict(options)
    settings = reference_of(entry)
    if settings is None:
        raise UsageError(
            f"{catalog.public_name(entry.name)} states no reference settings.",
            code="missing-value", method=entry.name, name="REFERENCE",
        )  # fmt: skip
    return {**settings.options, **options}


@dataclass(frozen=True)
class Reference:
    """Settings of the authors' code of a method: where it is, its options in our names, and what no option matches."""

    code: str
    options: Mapping[str, Any]
    unmatched: tuple[tuple[str, str, str], ...]


def reference_of(entry: catalog.Entry) -> Reference | None:
    """The reference settings that a method's module states, if it does."""
    module = sys.modules[entry.function.__module__]
    if not hasattr(module, "REFERENCE"):
        return None
    return Reference(str(getattr(module, "CODE", "")), dict(module.REFERENCE), tuple(getattr(module, "UNMATCHED", ())))
