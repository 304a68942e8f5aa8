"""Parts of association tests: sets of words or sentences, protected groups, attributes and templates."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

from tiltmeter.benchmarks.kit.items import Benchmark
from tiltmeter.errors import UsageError, require_known

FEWEST = 2
"""With fewer in a set there is no spread to measure an effect by."""


@dataclass(frozen=True)
class WordSet:
    """A named set of stimuli."""

    category: str
    examples: tuple[str, ...]


@dataclass(frozen=True)
class AssociationTest:
    """Are X and Y differently close to A and B? `sets` are X, Y, A, B."""

    name: str
    sets: tuple[WordSet, ...]
    domain: str = "own"


@dataclass(frozen=True)
class Group:
    """A protected group of a domain, and the words that stand for it."""

    domain: str
    name: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Polarity:
    """Two sets of attributes that face each other: pleasant and unpleasant, say."""

    name: str
    a: WordSet
    b: WordSet


@dataclass(frozen=True)
class Contrast:
    """Kurita's question: two groups' words, and attributes in templates with {group} and {attribute}."""

    name: str
    templates: tuple[str, ...]
    attributes: tuple[str, ...]
    first: WordSet
    second: WordSet


@dataclass(frozen=True)
class MaskedSentence:
    """A word at the first mask of two sentences: one that names an attribute, and one in which it is masked too."""

    word: str
    side: str
    attribute: str
    set: str
    sentence: str
    prior: str


@dataclass(frozen=True, repr=False)
class AssociationBenchmark(Benchmark):
    """Tests without pairs of sentences. `kind` (seat, ceat, ilps, sentences) says how a model is queried."""

    family: str = "associations"
    kind: str = "seat"
    tests: tuple[AssociationTest, ...] = ()
    groups: tuple[Group, ...] = ()
    polarities: tuple[Polarity, ...] = ()
    templates: tuple[str, ...] = ()
    contrasts: tuple[Contrast, ...] = ()
    sentences: tuple[MaskedSentence, ...] = ()
    neutral: str = "person"
    averages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Domain → the tests whose average |d| papers print."""

    def _first(self, n: int) -> Self:
        """The first n tests, or attributes of sentences, only."""
        if self.sentences:
            attributes = list(dict.fromkeys(sentence.attribute for sentence in self.sentences))[:n]
            return replace(self, sentences=tuple(one for one in self.sentences if one.attribute in attributes))
        return replace(self, tests=self.tests[:n])

    @property
    def amount(self) -> str:
        """The number of tests, or of groups with their attributes."""
        if self.tests:
            return f"{len(self.tests):,} tests"
        attributes = sum(len(pole.examples) for one in self.polarities for pole in (one.a, one.b))
        return f"{len(self.groups):,} groups × {attributes:,} attributes"

    def sample(self, n: int) -> AssociationBenchmark:
        """All of it: tests are chosen by name."""
        return self

    @cached_property
    def group_names(self) -> tuple[str, ...]:
        """The protected groups; tests of two sets have none."""
        return tuple(dict.fromkeys(group.name for group in self.groups))

    def _keep(self, groups: frozenset[str]) -> AssociationBenchmark:
        """Without Kurita's question, which is about two groups of its own."""
        return replace(self, groups=tuple(group for group in self.groups if group.name in groups), contrasts=())

    @cached_property
    def data_hash(self) -> str:
        """Hash of all words and templates."""
        shown = repr((self.tests, self.groups, self.polarities, self.templates, self.contrasts, self.neutral))
        shown += repr(self.sentences) if self.sentences else ""
        return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()

    def select(self, names: Sequence[str], *, words_only: bool = False) -> tuple[AssociationTest, ...]:
        """Tests by name, by domain or `all`. Without a name: those on sentences where there are any (words: on words)."""
        sentences = [test for test in self.tests if test.name.startswith("sent-")]
        if not names:
            words = [test for test in self.tests if not test.name.startswith("sent-")]
            return tuple((words if words_only else sentences) or self.tests)
        return tuple(dict.fromkeys(test for name in names for test in self._named(name, words_only)))

    def select_groups(self, domains: Sequence[str]) -> tuple[Group, ...]:
        """The groups of some domains, or all."""
        known = dict.fromkeys(group.domain for group in self.groups)
        require_known("domain", domains, known, place=self.name, benchmark=self.name)
        return tuple(group for group in self.groups if not domains or group.domain in domains)

    def _named(self, name: str, words_only: bool) -> Sequence[AssociationTest]:
        if name == "all":
            return self.tests
        called_so = [test for test in self.tests if test.name == name.removesuffix(".jsonl")]
        if called_so:
            return called_so
        of_domain = [test for test in self.tests if test.domain == name]
        sentences = [test for test in of_domain if test.name.startswith("sent-")]
        words = [test for test in of_domain if test not in sentences]
        if not of_domain:
            domains = ", ".join(dict.fromkeys(test.domain for test in self.tests))
            known = ", ".join(test.name for test in self.tests)
            raise UsageError(
                f"{self.name} has no test '{name}'. Tests: {known}. Domains: {domains}. Or: all.",
                code="unknown-name",
                kind="test",
                name=name,
                benchmark=self.name,
            )
        return (words if words_only else sentences) or of_domain


def word_set(category: str, examples: Sequence[str]) -> tuple[WordSet, int]:
    """A set without repeats and empty lines, and how many were dropped: a repeated word counts once, as in bias-bench."""
    kept = tuple(dict.fromkeys(text for text in map(str.strip, examples) if text))
    return WordSet(category, kept), len(examples) - len(kept)
