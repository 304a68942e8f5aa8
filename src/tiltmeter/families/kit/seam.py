"""The seam: what a family must have, and how one is found. A family is a module `families/NAME/__init__.py`, or one of
another package that the entry point `tiltmeter.families` names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from tiltmeter import catalog
from tiltmeter.benchmarks import Benchmark
from tiltmeter.catalog import Entry
from tiltmeter.errors import TiltmeterError
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.story import Sheet, Story
from tiltmeter.stats.estimates import Difference, Estimate
from tiltmeter.stats.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

Advance = Callable[[float], None]
Watch = Callable[[str, int], AbstractContextManager[Advance]]


@dataclass(frozen=True)
class How:
    """How a model is asked, whatever the question: where answers are kept, how much at once, which seed, who watches.

    `kinds` are those of all models of a run: an option that is for models of another kind is left to them.
    """

    cache: bool | str | Path = True
    batch_tokens: int | str = "auto"
    seed: int = 0
    kinds: frozenset[str] = frozenset()
    watch: Watch | None = None

    def watched(self, title: str, total: int) -> AbstractContextManager[Advance]:
        """Shows how far it has come, if anyone looks."""
        return self.watch(title, total) if self.watch else nullcontext(lambda _: None)


@dataclass(frozen=True)
class Known:
    """What is known of a model so far: its name, its kind (None: only when it is loaded), and itself once it is loaded."""

    name: str
    kind: str | None = None
    model: Any = None


class Family(Protocol):
    """What a module must have to be a family.

    It may have more: `has(benchmark)`, what of READS a benchmark gives; `BY_DEFAULT`, the kinds of models that are asked a
    benchmark which nobody named; `published(path, …)`, answers from scores that others published; `FIGURES`, name →
    function of the estimates; `brief(answers)` and `described(answers)`, what a notebook draws and shows (kit/notebook.py).
    """

    TITLE: str
    """For people: what the questions are about."""
    KEY: tuple[str, ...]
    """What makes a row of the main table unique."""
    READS: frozenset[str]
    """The parameters that make a measure this family's."""
    Options: type
    """A dataclass, its fields made by `option`; the command line reads its flags off it."""

    def check(self, benchmark: Benchmark, models: Sequence[Known], options: Any) -> None:
        """Refuses all that can be known to be wrong before a model is asked. Called again as models are loaded."""

    def ask(self, model: Any, benchmark: Any, options: Any, how: How) -> Answers:
        """Asks and never judges: what one model answered to one benchmark."""
        ...

    def estimate(
        self, answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings
    ) -> Iterator[Estimate]:
        """Judges and never asks: also from disk, at any time. Its docstring tells how intervals and p are made."""
        ...

    def compare(
        self,
        answers: Answers,
        first: str,
        second: str,
        measures: Sequence[Entry],
        by: Sequence[str],
        settings: Settings,
    ) -> Iterator[Difference]:
        """The first model less the second, paired where their items pair up."""
        ...

    def stories(self, estimates: pd.DataFrame) -> Iterator[Story]:
        """What the estimates say, per model and benchmark."""
        ...

    def sheets(self, estimates: pd.DataFrame) -> Iterator[Sheet]:
        """The estimates as tables, in the order of their weight, per benchmark."""
        ...

    def cards(self, answers: Answers, models: Sequence[str], pack: Any) -> Iterator[dict[str, Any]]:
        """One benchmark each for the explorer of the page; `CARDS` in a .js file beside the module draws them."""
        ...


FUNCTIONS = ("check", "ask", "estimate", "compare", "stories", "sheets", "cards")
CONSTANTS = ("TITLE", "KEY", "READS", "Options")


@cache
def find_family(name: str) -> Family:
    """A family by name, checked to have all that the seam asks for."""
    module = catalog.module("families", name)
    lacking = [one for one in (*CONSTANTS, *FUNCTIONS) if not hasattr(module, one)]
    lacking += [one for one in FUNCTIONS if hasattr(module, one) and not callable(getattr(module, one))]
    if lacking:
        package = catalog.owner("families", name)
        raise TiltmeterError(
            f"The family '{name}' of the package {package} lacks {', '.join(lacking)} (docs/extend.md has a whole example)."
        )
    return cast(Family, module)


def family_of(benchmark: Benchmark) -> Family:
    """The family that asks a benchmark's questions."""
    return find_family(benchmark.family)


def all_families(on_error: Callable[[TiltmeterError], None] | None = None) -> dict[str, Family]:
    """Every family by name. A broken one of another package is told to `on_error`, and else an error."""
    families = {}
    for name in catalog.names("families"):
        try:
            families[name] = find_family(name)
        except TiltmeterError as error:
            if on_error is None:
                raise
            on_error(error)
    return families


def measures_of(family: Family, names: Sequence[str] | None = None) -> list[Entry]:
    """The measures of a family: all, or those of the ones named that are this family's."""
    entries = catalog.entries("measures") if names is None else [catalog.find("measures", name) for name in names]
    return [entry for entry in entries if set(entry.parameters) <= family.READS]
