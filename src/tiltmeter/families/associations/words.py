"""Questions about words: a measure of the targets of a test, or of the attributes of a group, over those with a value."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tiltmeter.benchmarks.kit.association import FEWEST
from tiltmeter.families.associations.domains import VARIANCE
from tiltmeter.families.associations.facts import Floats, too_few
from tiltmeter.families.kit.questions import Counts, ItemQuestion
from tiltmeter.stats.estimates import Estimate
from tiltmeter.stats.resampling import Ints
from tiltmeter.stats.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

CELL = ("model", "benchmark", "scorer", "test")


@dataclass(frozen=True, eq=False)
class Words:
    """Columns of the words of a test; those of `sets` have values."""

    model: str
    benchmark: str
    scorer: str
    test: str
    domain: str
    columns: Mapping[str, NDArray[Any]]
    sets: Sequence[str]

    @classmethod
    def of(cls, rows: pd.DataFrame, sets: Sequence[str] = ()) -> Words:
        """Read the rows of one test, whose first word is of the domain."""
        columns = {name: rows[name].to_numpy() for name in rows}
        model, benchmark, scorer, test, domain = (str(columns[name][0]) for name in (*CELL, "domain"))
        return cls(model, benchmark, scorer, test, domain, columns, sets or tuple(dict.fromkeys(columns["set"])))

    @cached_property
    def usable(self) -> dict[str, Ints]:
        """Places of the usable words of each set; those with values first."""
        is_usable, of_word = self.columns["usable"].astype(bool), self.columns["set"]
        return {name: np.flatnonzero(is_usable & (of_word == name)) for name in dict.fromkeys([*self.sets, *of_word])}

    @cached_property
    def complete(self) -> Ints:
        """Places of the usable words that have values."""
        return np.concatenate([self.usable[name] for name in self.sets])

    @cached_property
    def missing(self) -> Counter[str]:
        """Why words are not usable."""
        return Counter(map(str, self.columns["reason"][~self.columns["usable"].astype(bool)]))

    def values_of(self, name: str) -> Floats:
        """The values of the usable words of a set."""
        return np.asarray(self.columns["value"][self.usable[name]], dtype=np.float64)


def words_of(rows: pd.DataFrame, columns: Sequence[str], sets: Sequence[str] = ()) -> Iterator[Words]:
    """The words of each test, divided by the values of further columns. `sets`: those with values, if not all."""
    for _, part in rows.groupby([*CELL, *columns], sort=False):
        yield Words.of(part, sets)


class WordQuestion(ItemQuestion):
    """A measure of words."""

    FAMILY = "associations"
    UNDEFINED = "undefined: the associations have no spread"
    NOUN: ClassVar[str]
    """Noun for its words, in notes."""
    cell: Words

    @cached_property
    def counts(self) -> Counts:
        """Find the words with a value."""
        names = self.cell.columns["set"] + " " + self.cell.columns["text"]
        return Counts(names[np.isin(self.cell.columns["set"], self.cell.sets)], names[self.cell.complete], self.cell.missing)

    @property
    def subject(self) -> Hashable:
        """Words of all scorers are compared together."""
        return self.measure.name, self.cell.scorer, self.cell.test, self.cell.domain, self.group

    def take(self, index: Ints) -> Self:
        """Ask the same of some of the words."""
        others = np.flatnonzero(~np.isin(self.cell.columns["set"], self.cell.sets))
        at = np.concatenate([self.cell.complete[index], others])
        columns = {name: values[at] for name, values in self.cell.columns.items()}
        return replace(self, cell=replace(self.cell, columns=columns))

    @property
    def few(self) -> list[tuple[str, int]]:
        """The sets with too few usable words."""
        return [(name, len(places)) for name, places in self.cell.usable.items() if len(places) < FEWEST]

    def lacking(self, by_whom: str = "") -> str:
        """Return which sets have too few words."""
        why = f" ({', '.join(self.cell.missing)})" if self.cell.missing else ""
        return too_few(self.few, FEWEST, self.NOUN, why) if self.few else ""

    def obstacle(self, theirs: WordQuestion) -> str:
        """Return which sets of either model have too few words."""
        few = list(dict.fromkeys(self.few + theirs.few))
        return too_few(few, FEWEST, self.NOUN, " for both models") if few else ""


class GroupQuestion(WordQuestion):
    """A measure of the words of one group. A domain has several groups, whose variance is estimated too."""

    @abstractmethod
    def variance(self, row: Estimate, questions: Sequence[Any], settings: Settings) -> Estimate:
        """Fill in the variance over the groups of a domain, of which this is one."""


def variances(questions: Iterable[WordQuestion], settings: Settings) -> Iterator[Estimate]:
    """The variance over the groups of each domain, by scorer."""
    domains: dict[tuple[str, str], list[GroupQuestion]] = {}
    for question in questions:
        if isinstance(question, GroupQuestion) and question.by == "group":
            domains.setdefault((question.cell.scorer, question.cell.domain), []).append(question)
    for (scorer, domain), groups in domains.items():
        cell, first = groups[0].cell, groups[0]
        row = Estimate(cell.model, cell.benchmark, first.FAMILY, scorer, VARIANCE, "domain", domain, neutral=0.0)
        yield first.variance(row, groups, settings)
