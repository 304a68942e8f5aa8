"""Finding what exists: scorers, measures, benchmarks and studies are files in folders, or entry points of other packages.

A name is a file name is a function name. On the command line hyphens stand for underscores.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from tiltmeter.errors import TiltmeterError

KINDS = ("benchmarks", "scorers", "measures", "studies")
SINGULAR = {"studies": "study"}


@dataclass(frozen=True)
class Entry:
    """One scorer, measure or benchmark: its function, and the constants that stand beside it in its module."""

    name: str
    function: Callable[..., Any]
    module: ModuleType

    @property
    def summary(self) -> str:
        """First line of the module's docstring."""
        return (self.module.__doc__ or self.function.__doc__ or "").strip().split("\n", 1)[0]

    def constant(self, name: str, default: Any = None) -> Any:
        """A module-level constant such as VIEW, NEUTRAL or CITATION."""
        return getattr(self.module, name, default)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the function's arguments: for a measure, the columns that it reads."""
        return _parameters(self.function)


@cache
def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


@cache
def names(kind: str) -> tuple[str, ...]:
    """All names of a kind, ours and those that other packages add through entry points."""
    folder = importlib.import_module(f"tiltmeter.{kind}")
    own = {module.name for module in pkgutil.iter_modules(folder.__path__) if not module.name.startswith("_")}
    return tuple(sorted(own | {point.name for point in entry_points(group=f"tiltmeter.{kind}")}))


@cache
def find(kind: str, name: str) -> Entry:
    """The entry of that name; hyphens and underscores are the same."""
    wanted = name.strip().lower().replace("-", "_")
    if wanted not in names(kind):
        known = ", ".join(public_name(known) for known in names(kind))
        raise TiltmeterError(f"There is no {SINGULAR.get(kind, kind[:-1])} called '{name}'. Known {kind}: {known}.")
    for point in entry_points(group=f"tiltmeter.{kind}", name=wanted):
        module = point.load()
        return Entry(wanted, getattr(module, wanted), module)
    module = importlib.import_module(f"tiltmeter.{kind}.{wanted}")
    return Entry(wanted, getattr(module, wanted), module)


def entries(kind: str) -> tuple[Entry, ...]:
    """Every entry of a kind, by name."""
    return tuple(find(kind, name) for name in names(kind))


def public_name(name: str) -> str:
    """The name as the command line writes benchmarks: with hyphens."""
    return name.replace("_", "-")
