"""The interface of a family, and how families are found.

A family is a subclass of `Family`. A module `families/NAME/__init__.py`, or a module of another package that the entry
point `tiltmeter.families` names, has an instance of it: `FAMILY`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tiltmeter import catalog
from tiltmeter.benchmarks import Benchmark
from tiltmeter.catalog import Entry
from tiltmeter.errors import InputError, TiltmeterError
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.notebook import Described, described
from tiltmeter.families.kit.options import NoOptions
from tiltmeter.families.kit.pieces import AnswerStream, Whole
from tiltmeter.families.kit.story import Sheet, Story
from tiltmeter.models.capabilities import OF_KIND
from tiltmeter.probes.work import WHOLE, Share
from tiltmeter.stats.estimates import Difference, Estimate
from tiltmeter.stats.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

    from tiltmeter.families.kit.debiasing import DebiasingDetails
    from tiltmeter.families.kit.evidence import Evidence
    from tiltmeter.families.kit.requests import LikelihoodRequests, TextRequests

Advance = Callable[[float], None]
Watch = Callable[[str, int], AbstractContextManager[Advance]]


@dataclass(frozen=True)
class AskContext:
    """Arguments of `ask` besides model, benchmark and options: the cache, the batch size, the seed and a progress display.

    `kinds` are the kinds of all models of a run, so that options for other kinds of models are not an error. `share`
    selects some of a family's `blocks`: only these are computed and cached, and the answers are of them alone.
    """

    cache: bool | str | Path = True
    batch_tokens: int | str = "auto"
    seed: int = 0
    kinds: frozenset[str] = frozenset()
    watch: Watch | None = None
    share: Share = WHOLE

    def watched(self, title: str, total: int) -> AbstractContextManager[Advance]:
        """Shows progress if `watch` is set."""
        return self.watch(title, total) if self.watch else nullcontext(lambda *_: None)


@dataclass(frozen=True)
class ModelInfo:
    """Facts about a model: its name, its kind (None if unknown before loading), and the model once it is loaded.

    `beside`: kinds of models that the same options are for, besides those that are checked now.
    """

    name: str
    kind: str | None = None
    model: Any = None
    beside: frozenset[str] = frozenset()

    @property
    def capabilities(self) -> frozenset[str] | None:
        """Capabilities of the model, if it is loaded or its kind is known; None otherwise."""
        return self.model.capabilities if self.model is not None else OF_KIND.get(str(self.kind))


class Family(ABC):
    """A kind of question to models, with everything that differs between such kinds.

    Its docstring describes it on the page and in `tiltmeter list families`. `check`, `ask`, `estimate`, `compare`,
    `narratives` and `sheets` are required; everything else has a default.
    """

    name: str = ""
    """The name it is found by: of its folder or its entry point. Set by `find_family`."""
    TITLE: ClassVar[str]
    """Subject of the questions, as users read it."""
    UNIT: ClassVar[str]
    """Unit that `n` counts, in the plural: pairs, texts, prompts."""
    KEY: ClassVar[tuple[str, ...]]
    """Columns that make a row of the main table unique."""
    READS: ClassVar[frozenset[str]]
    """The names of parameters that measures of this family may have."""
    VERSION: ClassVar[int] = 1
    """Raised by hand whenever answers to the same question change."""
    NEEDS: ClassVar[frozenset[str]] = frozenset()
    """The capabilities (`models/capabilities.py`) that a model must have."""
    SERVED: ClassVar[bool] = False
    """True if it also queries models behind a server, by the capabilities that these have."""
    Options: ClassVar[type] = NoOptions
    """A dataclass, its fields made by `option`; the command line reads its flags off it."""
    DEFAULT_KINDS: ClassVar[frozenset[str]] = frozenset({"masked", "causal"})
    """The kinds of models for which a benchmark of this family runs by default, where none is named."""
    POSTPROCESS_OPTIONS: ClassVar[tuple[str, ...]] = ()
    """Options that decide nothing about the answers, only how `postprocess` treats them."""
    READS_TEXTS: ClassVar[bool] = True
    """False if estimates read no texts of items; these then stay on disk."""
    EXTRINSIC: ClassVar[bool] = False
    """True if it measures a model in a task (extrinsic), not the model itself (intrinsic)."""
    EVIDENCE: ClassVar[str] = "other"
    """The kind of evidence that its numbers are, for audits: one of EVIDENCE_KINDS."""
    FIGURES: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    """Figures that this family draws itself: name → function of the estimates."""

    @abstractmethod
    def check(self, benchmark: Benchmark, models: Sequence[ModelInfo], options: Any) -> None:
        """Raises an error for everything that is wrong before inference. Called again as models are loaded."""

    @abstractmethod
    def ask(self, model: Any, benchmark: Any, options: Any, context: AskContext) -> Answers:
        """Queries one model on one benchmark and returns its answers. It estimates nothing."""

    @abstractmethod
    def estimate(
        self, answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings
    ) -> Iterator[Estimate]:
        """Computes estimates from answers, in memory or from disk; never queries a model.

        The second paragraph of the docstring explains intervals and p; the page shows it.
        """

    @abstractmethod
    def compare(
        self,
        answers: Answers,
        first: str,
        second: str,
        measures: Sequence[Entry],
        by: Sequence[str],
        settings: Settings,
    ) -> Iterator[Difference]:
        """Computes the first model minus the second, paired over the items that both have.

        The second paragraph of the docstring explains intervals and p; the page shows it.
        """

    @abstractmethod
    def narratives(self, estimates: pd.DataFrame) -> Iterator[Story]:
        """Yields sentences about the estimates, per model and benchmark."""

    @abstractmethod
    def sheets(self, estimates: pd.DataFrame) -> Iterator[Sheet]:
        """Yields the estimates as tables per benchmark, the most important first."""

    def needs(self, options: Any, benchmark: Any) -> frozenset[str]:
        """Returns the capabilities that a model must have for this benchmark with these options. Default: NEEDS."""
        return self.NEEDS

    def cards(self, answers: Answers, models: Sequence[str], pack: Any) -> Iterator[dict[str, Any]]:
        """Yields data for the explorer of the page, one benchmark at a time. Default: none.

        A file `cards.js` beside the module draws them.
        """
        yield from ()

    def provides(self, benchmark: Benchmark) -> frozenset[str]:
        """Returns those of READS that a benchmark provides. Default: all."""
        return self.READS

    def published(self, *path: Any, **options: Any) -> Answers | None:
        """Reads answers from a file that others published, `published(path, …)`. Default: this family reads none."""
        return None

    def likelihood_requests(self, benchmark: Any) -> LikelihoodRequests | None:
        """Returns how other programs ask a benchmark by log-likelihoods of continuations. Default: they cannot."""
        return None

    def text_requests(self, benchmark: Any) -> TextRequests | None:
        """Returns how other programs ask a benchmark by prompts and parse what is written. Default: they cannot."""
        return None

    def train_head(self, *model_and_output: Any, **options: Any) -> tuple[Path, str] | None:
        """Trains a head that this family asks, for `tiltmeter train classifier NAME`. Default: this family has none.

        Returns its folder and a sentence about its errors.
        """
        return None

    def cache_key_extra(self, options: Any) -> Mapping[str, Any]:
        """Returns what decides answers besides the options, such as the content of a folder that an option names."""
        return {}

    def postprocess(self, answers: Answers, benchmark: Benchmark, options: Any, context: AskContext) -> Answers:
        """Applies POSTPROCESS_OPTIONS anew to answers that were stored with others."""
        return answers

    def blocks(self, model: Any, benchmark: Any, options: Any) -> int:
        """Counts the blocks in which answers are made and cached, so that several workers can share them. Default: 1.

        A family with several keeps them under `manifest["observations"]["key"]` and honours `AskContext.share`.
        """
        return 1

    def stream(self, model: Any, benchmark: Any, options: Any, context: AskContext) -> AnswerStream:
        """Queries a few items at a time, so that long benchmarks need not fit in memory. Default: all at once."""
        return Whole(self.ask(model, benchmark, options, context))

    def brief(self, answers: Answers) -> tuple[Answers, list[str] | None]:
        """Selects the answers and measures that a notebook draws at once. Default: all."""
        return answers, None

    def describe(self, answers: Answers) -> Described:
        """Describes answers that are not yet estimated, for a notebook."""
        return described(answers)

    def evidence(self, loaded: Evidence) -> Evidence:
        """Returns what studies of this family read: loaded runs, perhaps with more of its own. Default: as they are."""
        return loaded

    def first_scorer(self, measure: str, scorers: Sequence[str]) -> str:
        """Returns the scorer that speaks for a measure where several scored the same items. Default: the first."""
        return scorers[0]

    def primary_measures(self, benchmark: str) -> Sequence[str]:
        """Returns the measures that may speak for a benchmark, the benchmark's own first. Default: none."""
        return ()

    def why_no_verdict(self, estimates: pd.DataFrame) -> str:
        """Returns why these estimates of one benchmark decide nothing in an audit. Default: empty, they may decide."""
        return ""

    def item_readings(self, answers: Answers) -> Iterator[pd.DataFrame]:
        """Yields by how much each item prefers the stereotype, for `study items`. Default: none.

        Columns: model, benchmark, scorer, item, by, group, value; `by` and `group` say whom an item is about.
        """
        yield from ()

    def unit_values(self, answers: Answers, measure: Entry) -> pd.DataFrame | None:
        """Returns what every item adds to a measure that is a share of items, for sequential checks. Default: None.

        Columns: model, benchmark, scorer, item, value; the measure is the mean of the values, each between 0 and
        `measure.spec.proportion`, and NaN where an answer is missing.
        """
        return None

    def debiasing_details(
        self, answers: Answers, estimates: Sequence[pd.DataFrame], base: str, rows: int, settings: Settings
    ) -> DebiasingDetails | None:
        """Returns what `study debiasing` shows besides the differences of all measures. Default: nothing.

        Args:
            answers: the answers of this family.
            estimates: the stored estimates of each run, of every family.
            base: the model before debiasing, one of the answers' models.
            rows: how many items a list of examples has, for each model.
            settings: resampling of intervals and tests.
        """
        return None

    def comparability(self, manifest: Mapping[str, Any]) -> Mapping[str, str]:
        """Returns facts of a cell's manifest that must be equal for two runs to be comparable. Default: none.

        Options and the versions of definitions are compared anyway.
        """
        return {}

    def column_facts(self, manifest: Mapping[str, Any]) -> Mapping[str, str]:
        """Returns facts that a model's kind decides. Models that differ in them get columns of their own on leaderboards."""
        return {}


EVIDENCE_KINDS = ("likelihood", "associations", "task", "generation", "quality", "other")
"""Kinds of evidence, in the order in which an audit shows them."""
CONSTANTS = ("TITLE", "UNIT", "KEY", "READS")
"""Hooks without a default."""
METHODS = tuple(sorted(Family.__abstractmethods__))


@cache
def find_family(name: str) -> Family:
    """Returns a family by name.

    Raises:
        TiltmeterError: for a package without an instance of `Family`, such as one for an older tiltmeter, or with one
            that lacks a required constant.
    """
    module = catalog.module("families", name)
    family = vars(module).get("FAMILY")
    problem = _problem(family)
    if problem or not isinstance(family, Family):
        raise InputError(
            f"The family '{name}' of the package {catalog.owner('families', name)} {problem}",
            code="broken-package", family=name, package=catalog.owner("families", name),
        )  # fmt: skip
    family.name = name.strip().lower().replace("-", "_")
    return family


def _problem(family: object) -> str:
    """Says what is wrong with the FAMILY of a module, and what to do."""
    if family is None:
        return (
            "has no FAMILY: it was written for an earlier tiltmeter, where a family was a module with functions. It is now "
            "an instance of a subclass of tiltmeter.families.Family (docs/own-family.md has a whole example). "
            "Update or uninstall that package."
        )
    if not isinstance(family, Family):
        return "has a FAMILY that is not an instance of tiltmeter.families.Family (docs/own-family.md has a whole example)."
    lacking = [constant for constant in CONSTANTS if constant not in dir(family)]
    return f"lacks {', '.join(lacking)} (docs/own-family.md has a whole example)." if lacking else ""


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


def spread_bases(family: Family, names: Sequence[str] | None) -> list[Entry]:
    """Measures of a family whose variance over groups was named, where the family computes it along with them.

    `group_variance` of pairs is the variance of `bias_score`: whoever names it alone needs `bias_score` estimated too.
    """
    spreads = [catalog.find("measures", name) for name in names or ()]
    wanted = {base for entry in spreads if not set(entry.parameters) <= family.READS for base in entry.spec.spread_of}
    return [entry for entry in measures_of(family) if entry.name in wanted and entry.spec.variance_over]
