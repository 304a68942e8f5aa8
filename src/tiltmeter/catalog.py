"""Finding what exists: families, scorers, measures, benchmarks, studies and methods of debiasing are files in folders, or
entry points of others.

A name is a file name is a function name (a family is a folder, and a module). On the command line hyphens stand for
underscores. A folder's `kit/` holds what its files share, and a leading underscore means private: neither is listed.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, wraps
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from tiltmeter.errors import TiltmeterError

KINDS = ("families", "benchmarks", "scorers", "measures", "studies", "debias", "classifiers")
SINGULAR = {"families": "family", "studies": "study", "debias": "method of debiasing"}
SHARED = "kit"

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Entry:
    """One scorer, measure, benchmark, study or method: its function, and the constants beside it in its module."""

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
def added(kind: str) -> tuple[EntryPoint, ...]:
    """The entry points of other packages. Looking for them reads a file of every installed package: once is enough."""
    return tuple(entry_points(group=f"tiltmeter.{kind}"))


@cache
def names(kind: str) -> tuple[str, ...]:
    """All names of a kind, ours and those that other packages add through entry points."""
    return tuple(sorted({*_own(kind), *(_plain(point.name) for point in added(kind))}))


@cache
def _own(kind: str) -> frozenset[str]:
    folder = importlib.import_module(f"tiltmeter.{kind}")
    found = (module.name for module in pkgutil.iter_modules(folder.__path__))
    return frozenset(name for name in found if not name.startswith("_") and name != SHARED)


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_")


@cache
def module(kind: str, name: str) -> ModuleType:
    """The module of that name; hyphens and underscores are the same. A package that adds a bad one is named."""
    wanted, one = _plain(name), SINGULAR.get(kind, kind[:-1])
    if wanted not in names(kind):
        every = {"debias": "methods"}.get(kind, kind)
        raise TiltmeterError(f"There is no {one} called '{name}'.{meant(kind, name)} Known {every}: {known(kind)}.")
    points = [point for point in added(kind) if _plain(point.name) == wanted]
    owners = ["tiltmeter"] * (wanted in _own(kind)) + [package_of(point) for point in points]
    if len(owners) > 1:
        raise TiltmeterError(
            f"The {one} '{public_name(wanted)}' is there {len(owners)} times: in {' and in '.join(owners)}. "
            "Uninstall one of these packages, or ask its authors for another name."
        )
    return _load(points[0], one) if points else importlib.import_module(f"tiltmeter.{kind}.{wanted}")


def known(kind: str) -> str:
    """The names of a kind, for a message."""
    return ", ".join(map(public_name, names(kind)))


def meant(kind: str, name: str) -> str:
    """The name that was perhaps meant, for a message.

    >>> meant("scorers", "alu"), meant("scorers", "no such thing")
    (" Did you mean 'aul'?", '')
    """
    near = get_close_matches(_plain(name), names(kind), 1)
    return f" Did you mean '{public_name(near[0])}'?" if near else ""


def _load(point: EntryPoint, one: str) -> ModuleType:
    try:
        loaded: ModuleType = point.load()
    except (Exception, SystemExit) as error:  # the code of others may raise what it likes
        raise TiltmeterError(
            f"The {one} '{public_name(point.name)}' of the package {package_of(point)} cannot be loaded: "
            f"{type(error).__name__}: {error}. Update or uninstall that package."
        ) from error
    return loaded


def package_of(point: EntryPoint) -> str:
    """The name of the package that adds an entry point."""
    package = getattr(point, "dist", None)
    return str(package.name) if package else str(point.value).split(".", 1)[0]


def owner(kind: str, name: str) -> str:
    """The package that something of that name comes from."""
    points = (point for point in added(kind) if _plain(point.name) == _plain(name))
    return next(map(package_of, points), "tiltmeter")


@cache
def find(kind: str, name: str) -> Entry:
    """The entry of that name: a function called like its module."""
    wanted, home = _plain(name), module(kind, name)
    function = getattr(home, wanted, None)
    if not callable(function):
        one = SINGULAR.get(kind, kind[:-1])
        package = owner(kind, name)
        raise TiltmeterError(f"The {one} '{public_name(wanted)}' of the package {package} has no function called {wanted}.")
    return Entry(wanted, function, home)


complaints: dict[str, None] = {}
"""What was left out since it cannot be used, in the order in which it was noticed. Whoever shows results shows these too."""


def entries(kind: str) -> tuple[Entry, ...]:
    """Every entry of a kind, by name. What another package adds and cannot be used is left out, with a complaint."""
    found = []
    for name in names(kind):
        if (kind, name) in failing:
            continue
        try:
            entry = find(kind, name)
            entry.parameters  # noqa: B018 (some functions have no signature)
            found.append(entry)
        except (TiltmeterError, ValueError, TypeError) as error:
            if name in _own(kind):
                raise
            complaints.setdefault(str(error))
    return tuple(found)


def culprit(error: BaseException) -> str:
    """Which function of another package an error comes from, in words; empty where it is not one of them."""
    blamed = _blamed(error)
    return _described(*blamed) if blamed else ""


def _blamed(error: BaseException) -> tuple[str, EntryPoint] | None:
    frames = {frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)}
    for kind in KINDS:
        for point in added(kind):
            if getattr(sys.modules.get(point.module), "__file__", None) in frames:
                return kind, point
    return None


def _described(kind: str, point: EntryPoint) -> str:
    return f"The {SINGULAR.get(kind, kind[:-1])} '{public_name(point.name)}' of the package {package_of(point)}"


failing: set[tuple[str, str]] = set()
"""What failed while it computed: left out of everything that does not name it."""


def without_failing(function: Callable[P, T]) -> Callable[P, T]:
    """Does it again without what another package adds and what fails, with a complaint. Who names that gets its error."""

    @wraps(function)
    def patient(*words: P.args, **named: P.kwargs) -> T:
        while True:
            try:
                return function(*words, **named)
            except TiltmeterError:
                raise
            except Exception as error:
                if not _left_out(error):
                    raise

    return patient


def _left_out(error: Exception) -> bool:
    """Whether an error comes from something of others that was not left out yet, and now is."""
    if (blamed := _blamed(error)) is None:
        return False
    key, who = (blamed[0], _plain(blamed[1].name)), _described(*blamed)
    if key in failing:  # and asked for by name, since it failed again: an error, not a complaint
        for said in [said for said in complaints if said.startswith(who)]:
            del complaints[said]
        return False
    failing.add(key)
    complaints.setdefault(
        f"{who} failed and is left out: {type(error).__name__}: {error}. Update or uninstall that package."
    )
    return True


def forget() -> None:
    """Looks again: packages were installed or removed meanwhile."""
    complaints.clear()
    failing.clear()
    for known in (added, names, module, find, _own):
        known.cache_clear()


def public_name(name: str) -> str:
    """The name as the command line writes benchmarks: with hyphens."""
    return name.replace("_", "-")
