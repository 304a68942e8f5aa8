"""Finding what exists.

Families, scorers, measures, benchmarks, studies, judges and methods of debiasing are files in folders, or entry points
of others.

A name is a file name is a function name (a family is a folder, and a module). On the command line hyphens stand for
underscores. A folder's `kit/` holds what its files share, and a leading underscore means private: neither is listed.
A study of one family is in `families/NAME/studies/`, every other one in `studies/`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache, wraps
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from tiltmeter.catalog import files
from tiltmeter.catalog.declarations import Measure, Scorer, check_measure, check_scorer, meant_field
from tiltmeter.errors import TiltmeterError, UsageError

KINDS = ("families", "benchmarks", "scorers", "measures", "studies", "debias", "judges")
UNDERSCORED = frozenset({"measures", "scorers", "views", "families"})
SINGULAR = {"families": "family", "studies": "study", "debias": "method of debiasing"}
SHARED = "kit"
OF_FAMILIES = "studies"
"""The kind that a family may have in its own folder too."""
FORMER_KINDS = {"judges": "classifiers"}
"""Entry points of packages that were written before a room got its name; read for one version more."""

MOST_LISTED = 24
"""A message lists so many names; of more it names the command that lists them."""
MOST_MEANT = 3
"""So many names are suggested."""
LEAST_START = 2
"""A name that is longer than this is also taken for the beginning of others."""
FILE_OPTIONS = {"benchmarks": "-b", "scorers": "-s", "measures": "--measure"}
"""The options that take a Python file in place of a name."""

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Entry:
    """One scorer, measure, benchmark, study or method: its function, its module, and what its module declares."""

    name: str
    function: Callable[..., Any]
    module: ModuleType
    declaration: Measure | Scorer | None = None

    @property
    def summary(self) -> str:
        """First line of the module's docstring."""
        return (self.module.__doc__ or self.function.__doc__ or "").strip().split("\n", 1)[0]

    @property
    def citation(self) -> str:
        """Citation; empty if its module has none."""
        return str(getattr(self.module, "CITATION", "")) if self.declaration is None else self.declaration.cites

    @property
    def spec(self) -> Measure:
        """Declaration of a measure.

        Raises:
            TypeError: if this is no measure.
        """
        if not isinstance(self.declaration, Measure):
            raise TypeError(f"{self.name} is not a measure.")
        return self.declaration

    @property
    def sides(self) -> Any:
        """The function that gives +1, -1 or 0 for each item; None for a measure without an exact test."""
        return getattr(self.module, "sides", None)

    @property
    def moments(self) -> Any:
        """The function that gives what each item adds; None for a measure that is not a function of means."""
        return getattr(self.module, "moments", None)

    @property
    def of_moments(self) -> Any:
        """The function that computes such a measure from the means; None for others."""
        return getattr(self.module, "of_moments", None)

    @property
    def scorer(self) -> Scorer:
        """Declaration of a scorer.

        Raises:
            TypeError: if this is no scorer.
        """
        if not isinstance(self.declaration, Scorer):
            raise TypeError(f"{self.name} is not a scorer.")
        return self.declaration

    @property
    def version(self) -> int:
        """The version of a scorer's or a measure's formula, raised by hand when its numbers change; of others 1."""
        return 1 if self.declaration is None else self.declaration.version

    @property
    def variant_of(self) -> str | None:
        """The measure or scorer that this one varies to replicate published numbers."""
        return None if self.declaration is None else self.declaration.variant_of

    @property
    def reads(self) -> str | None:
        """READS of a study: the family that it is about; None if it does not say."""
        return getattr(self.module, "READS", None)

    @property
    def kinds(self) -> tuple[str, ...]:
        """KINDS of a method of debiasing: the kinds of models that it treats."""
        return tuple(getattr(self.module, "KINDS", ()))

    @property
    def needs_text(self) -> bool:
        """NEEDS_TEXT of a method of debiasing: whether it trains on text."""
        return bool(getattr(self.module, "NEEDS_TEXT", False))

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the function's arguments: for a measure, the columns that it reads."""
        return _parameters(self.function)


@cache
def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def _declaration(kind: str, function: Callable[..., Any], home: ModuleType) -> Measure | Scorer | None:
    if kind == "scorers":
        return check_scorer(home)
    if kind != "measures":
        return None
    parameters = inspect.signature(function).parameters.values()
    return check_measure(home, tuple(one.name for one in parameters if one.default is one.empty))


@cache
def added(kind: str) -> tuple[EntryPoint, ...]:
    """The entry points of other packages. Looking for them reads a file of every installed package: once is enough."""
    groups = [kind, *filter(None, [FORMER_KINDS.get(kind)])]
    return tuple(point for group in groups for point in entry_points(group=f"tiltmeter.{group}"))


@cache
def names(kind: str) -> tuple[str, ...]:
    """All names of a kind, ours and those that other packages add through entry points."""
    return tuple(sorted({*_own(kind), *(_plain(point.name) for point in added(kind)), *_from_files(kind)}))


def _from_files(kind: str) -> list[str]:
    return [name for of_kind, name in files.loaded if of_kind == kind]


def name_of(kind: str, name: str) -> str:
    """The name of something that is named, or that is in a Python file: the file is loaded, and its name returned."""
    if not files.is_file_name(name):
        return name
    found = files.load_file(kind, name, names(kind))
    for known in (names, module, _find):
        known.cache_clear()
    return found


@cache
def _own(kind: str) -> Mapping[str, str]:
    """Each of our own names of a kind, and its module. No family is imported for it."""
    home = f"tiltmeter.{kind}"
    modules = {name: f"{home}.{name}" for name in _listed(importlib.import_module(home).__path__)}
    if kind == OF_FAMILIES:
        for family, place in _own("families").items():
            folders = [str(Path(folder, family, kind)) for folder in importlib.import_module("tiltmeter.families").__path__]
            modules |= {name: f"{place}.{kind}.{name}" for name in _listed(folders)}
    return modules


def _listed(folders: Iterable[str]) -> Iterator[str]:
    found = (module.name for module in pkgutil.iter_modules(folders))
    return (name for name in found if not name.startswith("_") and name != SHARED)


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_")


@cache
def module(kind: str, name: str) -> ModuleType:
    """The module of that name; hyphens and underscores are the same. A package that adds a bad one is named."""
    wanted, singular = _plain(name), SINGULAR.get(kind, kind[:-1])
    if wanted not in names(kind):
        raise UsageError(
            f"Unknown {singular} '{name}'.{meant(kind, name)} {known_names(kind)}",
            code="unknown-name",
            kind=singular,
            name=name,
            names=[public_name(each, kind) for each in names(kind)],
        )
    if (kind, wanted) in files.loaded:
        return files.loaded[kind, wanted].module
    points = [point for point in added(kind) if _plain(point.name) == wanted]
    owners = ["tiltmeter"] * (wanted in _own(kind)) + [package_of(point) for point in points]
    if len(owners) > 1:
        raise UsageError(
            f"The {singular} '{public_name(wanted, kind)}' exists {len(owners)} times: in {' and in '.join(owners)}. "
            "Uninstall one of these packages, or ask its authors for another name.",
            code="ambiguous-name",
            kind=singular,
            name=public_name(wanted, kind),
            packages=owners,
        )
    return _load(points[0], singular) if points else importlib.import_module(_own(kind)[wanted])


def known_names(kind: str) -> str:
    """The names of a kind, for a message; where they are many, the command that lists them."""
    known = names(kind)
    if len(known) > MOST_LISTED:
        own = f" One of your own is given by its file: {FILE_OPTIONS[kind]} FILE.py." if kind in FILE_OPTIONS else ""
        return f"`tiltmeter list {kind}` lists all {len(known)}.{own}"
    every = {"debias": "methods"}.get(kind, kind)
    return f"Available {every}: {', '.join(public_name(name, kind) for name in known)}."


def meant(kind: str, name: str) -> str:
    """The names that were perhaps meant, for a message.

    >>> meant("scorers", "pl"), meant("scorers", "no such thing")
    (" Did you mean 'pll'?", '')
    """
    plain, every = _plain(name), names(kind)
    longer = [each for each in every if len(plain) > LEAST_START and each.startswith(plain)]
    meant_names = dict.fromkeys([*longer, *get_close_matches(plain, every, MOST_MEANT)])
    near = [f"'{public_name(each, kind)}'" for each in [*meant_names][:MOST_MEANT]]
    return f" Did you mean {' or '.join(filter(None, (', '.join(near[:-1]), near[-1])))}?" if near else ""


def _load(point: EntryPoint, kind: str) -> ModuleType:
    try:
        loaded: ModuleType = point.load()
    except (Exception, SystemExit) as error:  # the code of others may raise what it likes
        raise UsageError(
            f"The {kind} '{public_name(point.name)}' of the package {package_of(point)} cannot be loaded: "
            f"{type(error).__name__}: {str(error).rstrip('.')}.{meant_field(error)} {_renamed(error)}"
            "Update or uninstall that package.",
            code="broken-package",
            kind=kind,
            name=public_name(point.name),
            package=package_of(point),
        ) from error
    return loaded


def _renamed(error: BaseException) -> str:
    """Say where to look if a package imports what tiltmeter no longer has."""
    if isinstance(error, ImportError) and str(error.name).split(".")[0] == "tiltmeter":
        return "It was written for another version of tiltmeter; CHANGELOG.md lists what was renamed. "
    return ""


def package_of(point: EntryPoint) -> str:
    """The name of the package that adds an entry point."""
    package = getattr(point, "dist", None)
    return str(package.name) if package else str(point.value).split(".", 1)[0]


def owner(kind: str, name: str) -> str:
    """The package that something of that name comes from."""
    if (kind, _plain(name)) in files.loaded:
        return str(files.loaded[kind, _plain(name)].path)
    points = (point for point in added(kind) if _plain(point.name) == _plain(name))
    return next(map(package_of, points), "tiltmeter")


def _origin(kind: str, name: str) -> str:
    """Where something comes from, for a message."""
    return f"{'in' if (kind, _plain(name)) in files.loaded else 'of the package'} {owner(kind, name)}"


def find(kind: str, name: str) -> Entry:
    """The entry of that name, or in that Python file: a function called like its module."""
    return _find(kind, name_of(kind, name))


@cache
def _find(kind: str, name: str) -> Entry:
    wanted, home = _plain(name), module(kind, name)
    function = getattr(home, wanted, None)
    if not callable(function):
        singular = SINGULAR.get(kind, kind[:-1])
        package = owner(kind, name)
        raise UsageError(
            f"The {singular} '{public_name(wanted, kind)}' {_origin(kind, name)} has no function called {wanted}.",
            code="broken-package",
            kind=singular,
            name=public_name(wanted, kind),
            package=package,
        )
    try:
        declaration = _declaration(kind, function, home)
        if declaration is not None and (kind, wanted) in files.loaded:
            declaration = replace(declaration, version=files.loaded[kind, wanted].version)
        _check_names(kind, declaration)
        if kind == "measures" and wanted not in _own(kind):
            _check_rows(function)
    except TiltmeterError as error:
        singular, package = SINGULAR.get(kind, kind[:-1]), owner(kind, name)
        raise UsageError(
            f"The {singular} '{public_name(wanted, kind)}' {_origin(kind, name)} {error}",
            code="broken-package",
            kind=singular,
            name=public_name(wanted, kind),
            package=package,
        ) from error
    return Entry(wanted, function, home, declaration)


def _check_rows(function: Callable[..., Any]) -> None:
    """Raise an error for a measure whose value of a row depends on the rows beside it."""
    from tiltmeter.catalog.row_check import fault_of  # numpy, which listing names must not wait for

    required = tuple(one.name for one in inspect.signature(function).parameters.values() if one.default is one.empty)
    if wrong := fault_of(function, required):
        raise UsageError(f"{wrong}.", code="invalid-declaration")


def _check_names(kind: str, declaration: Measure | Scorer | None) -> None:
    """Raise an error for a declaration that names a measure or scorer that does not exist."""
    if declaration is None:
        return
    named = {"variant_of": (declaration.variant_of,), "spread_of": getattr(declaration, "spread_of", ())}
    for field, wanted in named.items():
        if unknown := [one for one in wanted if one is not None and one not in names(kind)]:
            raise UsageError(
                f"names '{unknown[0]}' in {field}, which does not exist.{meant(kind, unknown[0])}",
                code="unknown-name",
                kind=kind,
                name=unknown[0],
            )


complaints: dict[str, None] = {}
"""Objects left out since they cannot be used, in the order of detection. Every display of results shows these too."""


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
            if name in _own(kind) or (kind, name) in files.loaded:
                raise
            complaints.setdefault(str(error))
    return tuple(found)


def culprit(error: BaseException) -> str:
    """Name the function of another package that an error comes from; empty if there is none."""
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
"""Objects that failed while computing: left out of everything that does not name them."""


def without_failing(function: Callable[P, T]) -> Callable[P, T]:
    """Call a function again without a failing entry of another package, and warn. A named entry raises its error."""

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
    """Leave out the entry of another package that raised an error. Return False if there is none, or none any more."""
    if (blamed := _blamed(error)) is None:
        return False
    key, who = (blamed[0], _plain(blamed[1].name)), _described(*blamed)
    if key in failing:  # and requested by name, since it failed again: an error, not a complaint
        for said in [said for said in complaints if said.startswith(who)]:
            del complaints[said]
        return False
    failing.add(key)
    complaints.setdefault(
        f"{who} failed and is left out: {type(error).__name__}: {str(error).rstrip('.')}. Update or uninstall that package."
    )
    return True


def forget() -> None:
    """Clear all caches, as after packages were installed or removed."""
    complaints.clear()
    failing.clear()
    files.loaded.clear()
    for cached in (added, names, module, _find, _own):
        cached.cache_clear()


def public_name(name: str, kind: str = "") -> str:
    """Return the name as it is shown: with hyphens, or with underscores as in tables and rules. Both are accepted.

    >>> public_name("crows_pairs", "benchmarks"), public_name("bias_score", "measures")
    ('crows-pairs', 'bias_score')
    """
    return name if kind in UNDERSCORED else name.replace("_", "-")
