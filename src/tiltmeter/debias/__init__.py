"""Debiasing: a model becomes a model, by a method of the field, with a manifest that says how to make it again.

A method is a file `debias/NAME.py` with a function `NAME(model, *, output, …) -> Path`, whose keyword arguments are its
options on the command line (`Annotated[type, "help"]`), and the constants `CITATION`, `KINDS` (masked, causal) and
`NEEDS_TEXT`. `watch` is not an option but as in `run`. Others add theirs through the entry point `tiltmeter.debias`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tiltmeter import catalog
from tiltmeter.errors import TiltmeterError
from tiltmeter.finetune.export import check_output
from tiltmeter.finetune.outcome import Watch

__all__ = ["make"]


def make(method: str, model: str | Path, *, output: str | Path, watch: Watch | None = None, **options: Any) -> Path:
    """Debiases a model by a method's name and writes it to a new folder, which `load_model` and `-m` take as any other.

    The options are the method's own: `help(tiltmeter.debias.NAME)`. What is not given is the method's default.
    """
    entry = catalog.find("debias", method)
    if unknown := sorted(set(options) - set(entry.parameters[1:])):
        known = ", ".join(name for name in entry.parameters[1:] if name not in ("output", "watch"))
        raise TiltmeterError(f"{catalog.public_name(entry.name)} takes no option '{unknown[0]}'. Options: {known}.")
    folder = check_output(output)
    watched = {"watch": watch} if "watch" in entry.parameters else {}
    made: Path = entry.function(model, output=folder, **watched, **options)
    return made
