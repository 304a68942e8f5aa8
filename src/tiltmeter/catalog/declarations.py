"""Declarations: what a measure or a scorer says about itself, in one validated object in its file."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from types import ModuleType
from typing import Any, Literal, get_args

from tiltmeter.errors import UsageError

Role = Literal["bias", "cost", "quality", "part"]
Direction = Literal["two-sided", "one-sided"]
Test = Literal["binomial", "permutation", "bootstrap"]
Interval = Literal["percentile", "corrected", "log", "share"]
Among = Literal["toxic", "not toxic"]
ROLES: tuple[str, ...] = get_args(Role)
EVERYWHERE = (-math.inf, math.inf)
DEFAULT_STRATUM = "bias_type"
MEASURE, SCORER = "MEASURE", "SCORER"
EARLIER = {
    "AMONG": "among", "BOTH_WAYS": "both_ways", "BOUNDED": 'direction="one-sided"', "CITATION": "cites",
    "CONTRASTS": "contrasts", "CURVE": "by_threshold", "DEALT": "chance_of", "DOMAIN_SCORE": "spread_of", "IDEAL": "ideal",
    "LEANS": "leans", "NEUTRAL": "neutral", "OVER": "spread_of", "PER_SEED": "per_seed", "PROPORTION": "proportion",
    "RANGE": "range", "ROLE": "role", "SPREAD": "variance_over", "STRATA": "stratum", "TEST": 'test="binomial"',
    "UNMATCHED": "counts_unmatched", "VERSION": "version", "WEIGHTED": "weighted",
}  # fmt: skip
"""Constants of measures before 0.2, and the field of `Measure` that replaces each."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Declaration of a measure: how its number is treated. No other file names a measure.

    Attributes:
        reads: The parameters without a default of the measure's function: the columns that it reads.
        cites: Where the measure comes from.
        role: `bias` (how far a model leans), `cost` (language ability that a model without a lean may have lost),
            `quality` (how well a task is done, or something was measured) or `part` (a component of another measure, or
            another form of it). `study debiasing` judges the first three where they have a target: neutral, or else ideal.
        neutral: The value that means no lean; None if there is none.
        direction: `two-sided` if noise moves the value to either side of neutral, `one-sided` if neutral is an end of
            `range`, so that noise always moves it away. None without a neutral value.
        unit: The unit of the value, such as "%"; empty for a plain number.
        ideal: The best value, where that is not neutral.
        range: The smallest and the largest possible value.
        leans: Values above neutral are towards the stereotypes.
        test: `binomial` if an exact test exists; the file then has a function `sides`. `permutation`: the other columns are
            permuted against the last one that it reads. `bootstrap`: how many resamples of items are on the other side of
            neutral. None: the family's own test.
        interval: `percentile`: percentiles of the resamples. `corrected`: without the bias of resampling, for a measure that
            noise always moves to one side (and for all one-sided measures). `log`: corrected, on the scale of logarithms,
            for a positive measure of spread. `share`: Wilson's interval with the error of the resamples, for a value from 0
            to the end of its range (and for all proportions).
        fewest: Independent units without which there is no interval, where the usual number covers the truth too rarely.
        proportion: The value is this number times a share of the items, so an exact interval exists where no resample
            differs.
        stratum: The column within which items are resampled.
        weighted: The overall number is the mean over bias types, weighted by their size.
        contrasts: A column, and two of its groups whose difference is estimated too.
        variance_over: A column, and the column within which the variance over its groups is estimated too.
        counts_unmatched: Slots: sentences without a match count too.
        both_ways: Slots: the value is given for either group of a pair.
        among: Labels: the texts that a rate is about.
        by_threshold: Labels: the value is also given for a series of thresholds.
        chance_of: Labels: the measure whose mean over permuted texts replaces the value where texts are clustered.
        spread_of: The measures of single groups whose spread over a domain this measure is. `study domain-correlation`
            reads such measures.
        difference_of: The rate of single groups whose difference this measure is: its interval is Newcombe's.
        per_seed: Such a spread is the mean over training seeds of each seed's spread.
        version: An integer that names the formula. Whoever changes the numbers raises it.
        variant_of: The measure that this one varies to replicate published numbers.

    Raises:
        UsageError: if a field has the wrong type, or two fields contradict each other.
    """

    reads: tuple[str, ...]
    cites: str
    role: Role
    neutral: float | None
    direction: Direction | None = None
    unit: str = ""
    ideal: float | None = None
    range: tuple[float, float] = EVERYWHERE
    leans: bool = False
    test: Test | None = None
    interval: Interval = "percentile"
    fewest: int = 1
    proportion: float | None = None
    stratum: str = DEFAULT_STRATUM
    weighted: bool = False
    contrasts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    variance_over: Mapping[str, str] = field(default_factory=dict)
    counts_unmatched: bool = False
    both_ways: bool = False
    among: Among | None = None
    by_threshold: bool = False
    chance_of: Callable[..., Any] | None = None
    spread_of: tuple[str, ...] = ()
    difference_of: str | None = None
    per_seed: bool = False
    version: int = 1
    variant_of: str | None = None

    def __post_init__(self) -> None:
        for name, (is_right, wanted) in MEASURE_TYPES.items():
            _require(is_right(getattr(self, name)), f"{name} must be {wanted}, not {getattr(self, name)!r}")
        low, high = self.range
        _require(low < high, f"range must rise, unlike {self.range}")
        for name in ("neutral", "ideal"):
            value = getattr(self, name)
            _require(value is None or low <= value <= high, f"{name} {value} lies outside the range {self.range}")
        if self.neutral is None:
            needing = [name for name in ("direction", "leans", "test") if getattr(self, name)]
            _require(not needing, f"{', '.join(needing)} needs a neutral value, and neutral is None")
        else:
            ends = "one-sided" if self.neutral in self.range else "two-sided"
            wanted = f"direction must be '{ends}', because neutral {self.neutral} and range {self.range} say so"
            _require(self.direction == ends, wanted)
        _require(not (self.leans and self.is_one_sided), "leans contradicts the direction 'one-sided'")
        _require(self.role != "cost" or self.target is not None, "a measure of cost needs a neutral or an ideal value")
        _require(not self.per_seed or bool(self.spread_of), "per_seed needs spread_of")
        _require(self.interval != "share" or self.whole is not None, "interval 'share' needs a range from 0 to a number")

    @property
    def is_one_sided(self) -> bool:
        """True if neutral is an end of the range, so that noise always moves the value away from it."""
        return self.direction == "one-sided"

    @property
    def whole(self) -> float | None:
        """The value of a share of 1, where the value is a share; None where it is not."""
        low, high = self.range
        is_share = self.interval == "share" and low == 0 and high < math.inf
        return high if self.proportion is None and is_share else self.proportion

    @property
    def target(self) -> float | None:
        """The neutral value, or else the ideal one."""
        return self.ideal if self.neutral is None else self.neutral


@dataclass(frozen=True, kw_only=True)
class Scorer:
    """Declaration of a scorer: how it reads a model.

    Attributes:
        view: The view that it reads: `tiltmeter list views`.
        cites: Where the scorer comes from.
        version: An integer that names the formula. Stored scores are reused only under the version that made them, so
            whoever changes the scores raises it.
        variant_of: The scorer that this one varies to replicate published numbers.

    Raises:
        UsageError: if a field has the wrong type.
    """

    view: str
    cites: str
    version: int = 1
    variant_of: str | None = None

    def __post_init__(self) -> None:
        for name, (is_right, wanted) in SCORER_TYPES.items():
            _require(is_right(getattr(self, name)), f"{name} must be {wanted}, not {getattr(self, name)!r}")


def meant_field(error: BaseException) -> str:
    """The field of a declaration that was perhaps meant, for the message of an unknown one.

    >>> meant_field(TypeError("Measure.__init__() got an unexpected keyword argument 'unitt'"))
    " Did you mean 'unit'?"
    """
    found = re.search(r"^(Measure|Scorer)\.__init__\(\) got an unexpected keyword argument '(\w+)'", str(error))
    if not isinstance(error, TypeError) or found is None:
        return ""
    known = [one.name for one in fields(Measure if found[1] == "Measure" else Scorer)]
    near = get_close_matches(found[2], known, 1)
    return f" Did you mean '{near[0]}'?" if near else f" Fields: {', '.join(known)}."


def check_measure(module: ModuleType, required: tuple[str, ...]) -> Measure:
    """Return the declaration of a measure's file.

    Args:
        module: The file.
        required: The parameters without a default of its function.

    Raises:
        UsageError: if there is none, or the rest of the file contradicts it.
    """
    declared = getattr(module, MEASURE, None)
    earlier = [name for name in EARLIER if hasattr(module, name)]
    if not isinstance(declared, Measure):
        moved = ", ".join(f"{name} → {EARLIER[name]}" for name in earlier)
        raise UsageError(
            "has no MEASURE. Since 0.2 a measure's file has MEASURE = Measure(…), from tiltmeter.measures"
            + (f", instead of constants: {moved}." if moved else "."),
            code="invalid-declaration",
            missing=MEASURE,
        )
    _require(not earlier, f"has {', '.join(earlier)} beside MEASURE, where they are ignored. Move them into it")
    _require(declared.reads == required, f"reads {declared.reads} by MEASURE, but its function takes {required}")
    has = {name: callable(getattr(module, name, None)) for name in ("sides", "moments", "of_moments")}
    _require(has["sides"] or declared.test != "binomial", f"has test='{declared.test}', but no function sides")
    _require(not has["sides"] or declared.test == "binomial", "has a function sides, but no test='binomial'")
    _require(has["moments"] == has["of_moments"], "needs both functions moments and of_moments, or neither")
    return declared


def check_scorer(module: ModuleType) -> Scorer:
    """Return the declaration of a scorer's file.

    Raises:
        UsageError: if there is none, or constants of an earlier version are beside it.
    """
    declared = getattr(module, SCORER, None)
    if not isinstance(declared, Scorer):
        raise UsageError(
            "has no SCORER. Since 0.2 a scorer's file has SCORER = Scorer(view=…, cites=…), from tiltmeter.scorers, "
            "instead of VIEW, CITATION and VERSION.",
            code="invalid-declaration",
            missing=SCORER,
        )
    earlier = [name for name in ("VIEW", "CITATION", "VERSION") if hasattr(module, name)]
    _require(not earlier, f"has {', '.join(earlier)} beside SCORER, where they are ignored. Move them into it")
    return declared


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise UsageError(f"{message}.", code="invalid-declaration")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _is_names(value: object) -> bool:
    return isinstance(value, tuple) and all(map(_is_text, value))


def _is_table(value: object, is_right: Callable[[object], bool]) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, value)) and all(map(is_right, value.values()))


def _or_none(is_right: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or is_right(value)


def _one_of(*words: object) -> tuple[Callable[[object], bool], str]:
    return lambda value: value in words, " or ".join(map(repr, words))


Check = tuple[Callable[[object], bool], str]
TEXT: Check = (_is_text, "a text that is not empty")
NAME: Check = (_or_none(_is_text), "a name or None")
NUMBER: Check = (_or_none(_is_number), "a number or None")
FLAG: Check = (lambda value: isinstance(value, bool), "True or False")
COUNT: Check = (lambda value: type(value) is int and value > 0, "a positive integer")
NAMES: Check = (_is_names, "a tuple of names")
MEASURE_TYPES: dict[str, Check] = {
    "reads": (lambda value: _is_names(value) and bool(value), "a tuple of names, such as ('stereo', 'anti')"),
    "cites": TEXT,
    "role": _one_of(*ROLES),
    "neutral": NUMBER,
    "direction": _one_of(*get_args(Direction), None),
    "unit": (lambda value: isinstance(value, str), "a text"),
    "ideal": NUMBER,
    "range": (lambda value: isinstance(value, tuple) and len(value) == 2 and all(map(_is_number, value)), "two numbers"),
    "leans": FLAG,
    "test": _one_of(*get_args(Test), None),
    "interval": _one_of(*get_args(Interval)),
    "fewest": COUNT,
    "proportion": NUMBER,
    "stratum": TEXT,
    "weighted": FLAG,
    "contrasts": (
        lambda value: _is_table(value, lambda groups: _is_names(groups) and len(groups) == 2),  # type: ignore[arg-type]
        "a mapping of columns to two groups",
    ),
    "variance_over": (lambda value: _is_table(value, _is_text), "a mapping of columns to columns"),
    "counts_unmatched": FLAG,
    "both_ways": FLAG,
    "among": _one_of(*get_args(Among), None),
    "by_threshold": FLAG,
    "chance_of": (_or_none(callable), "a function or None"),
    "spread_of": NAMES,
    "difference_of": NAME,
    "per_seed": FLAG,
    "version": COUNT,
    "variant_of": NAME,
}
SCORER_TYPES: dict[str, Check] = {
    "view": TEXT,
    "cites": TEXT,
    "version": COUNT,
    "variant_of": NAME,
}
