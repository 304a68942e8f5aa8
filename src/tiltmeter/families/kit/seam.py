"""The interface of a family, and how families are found. A family is a module `families/NAME/__init__.py`, or a module of
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
from tiltmeter.probes.work import WHOLE, Share
from tiltmeter.stats.estimates import Difference, Estimate
from tiltmeter.stats.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

Advance = Callable[[float], None]
Watch = Callable[[str, int], AbstractContextManager[Advance]]


@dataclass(frozen=True)
class How:
    """How a model is asked, in every family: where answers are cached, the batch size, the seed, and a progress display.

    `kinds` are the kinds of all models of a run, so that options for other kinds of models are not an error. `share` is
    for families with `blocks`: only these are asked and kept in the cache, and the answers are of them alone.
    """

    cache: bool | str | Path = True
    batch_tokens: int | str = "auto"
    seed: int = 0
    kinds: frozenset[str] = frozenset()
    watch: Watch | None = None
    share: Share = WHOLE

    def watched(self, title: str, total: int) -> AbstractContextManager[Advance]:
        """Shows progress if `watch` is set."""
        return self.watch(title, total) if self.watch else nullcontext(lambda _: None)


@dataclass(frozen=True)
class Known:
    """What is known of a model so far: its name, its kind (None if unknown before loading), and the model once loaded.

    `beside`: kinds of models that the same options are for, besides those that are checked now.
    """

    name: str
    kind: str | None = None
    model: Any = None
    beside: frozenset[str] = frozenset()


class Family(Protocol):
    """What a module must have to be a family.

    Optional: `has(benchmark)`, which of READS a benchmark provides; `BY_DEFAULT`, the kinds of models that are asked a
    default benchmark; `published(path, …)`, answers from scores that others published; `FIGURES`, name → function of the
    estimates; `decides(options)`, what answers depend on besides the options; `LATER`, options that only say what is done
    with answers that are there, and `judged_again(answers, benchmark, options, how)`, which does that; `brief(answers)` and
    `described(answers)`, what a notebook draws and shows (kit/notebook.py); `blocks(model, benchmark, options)`, in how many
    blocks its answers are made and kept under `manifest["observations"]["key"]`, so that several workers can share them
    (`How.share`); `in_pieces(model, benchmark, options, how)`, what `ask` gives a few items at a time (kit/pieces.py), so
    that answers to a long benchmark are stored without being held together; `READS_TEXTS = False`: estimates read no texts
    of items, which then stay on disk.
    """

    TITLE: str
    """What the questions are about, as users read it."""
    KEY: tuple[str, ...]
    """What makes a row of the main table unique."""
    READS: frozenset[str]
    """The names of parameters that measures of this family may have."""
    Options: type
    """A dataclass, its fields made by `option`; the command line reads its flags off it."""

    def check(self, benchmark: Benchmark, models: Sequence[Known], options: Any) -> None:
        """Raises an error for everything that is wrong before a model is asked. Called again as models are loaded."""

    def ask(self, model: Any, benchmark: Any, options: Any, how: How) -> Answers:
        """The answers of one model to one benchmark. It asks and estimates nothing."""
        ...

    def estimate(
        self, answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings
    ) -> Iterator[Estimate]:
        """The estimates from answers, in memory or from disk; never asks a model. Its docstring explains intervals and p."""
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
        """The first model minus the second, paired over the items that both have."""
        ...

    def stories(self, estimates: pd.DataFrame) -> Iterator[Story]:
        """Sentences about the estimates, per model and benchmark."""
        ...

    def sheets(self, estimates: pd.DataFrame) -> Iterator[Sheet]:
        """The estimates as tables per benchmark, the most important first."""
        ...

    def cards(self, answers: Answers, models: Sequence[str], pack: Any) -> Iterator[dict[str, Any]]:
        """Data for the explorer of the page, one benchmark at a time; a .js file beside the module draws them."""
        ...


FUNCTIONS = ("check", "ask", "estimate", "compare", "stories", "sheets", "cards")
CONSTANTS = ("TITLE", "KEY", "READS", "Options")


@cache
def find_family(name: str) -> Family:
    """A family by name; raises an error if a required function or constant is missing."""
    module = catalog.module("families", name)
    lacking = [required for required in (*CONSTANTS, *FUNCTIONS) if not hasattr(module, required)]
    lacking += [required for required in FUNCTIONS if hasattr(module, required) and not callable(getattr(module, required))]
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
    """Every family by name. The error of a broken family is passed to `on_error`, or raised without it."""
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
    """The measures of a family: all, or those among the names."""
    entries = catalog.entries("measures") if names is None else [catalog.find("measures", name) for name in names]
    return [entry for entry in entries if set(entry.parameters) <= family.READS]
