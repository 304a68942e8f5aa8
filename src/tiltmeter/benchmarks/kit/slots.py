"""A benchmark of slots: sentences with one mask, and the words of each group that may fill it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from tiltmeter.benchmarks.kit.items import Benchmark
from tiltmeter.storage.keys import unmistakable

MASK = "[MASK]"
SLOT = "slot"
"""The role of a sentence with one mask, which is no pair: what fills it is measured, not how likely it is."""


@dataclass(frozen=True, repr=False)
class SlotBenchmark(Benchmark):
    """Sentences with the role `slot`; `terms` maps each group to its words."""

    family: str = "slots"
    terms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def shown_texts(self) -> Iterator[str]:
        """The sentences without their mask, which is meant to be there."""
        return (text.replace(MASK, "", 1) for text in super().shown_texts())

    @cached_property
    def group_names(self) -> tuple[str, ...]:
        """The groups of words."""
        return tuple(self.terms)

    def _keep(self, groups: frozenset[str]) -> SlotBenchmark:
        return replace(self, terms={group: words for group, words in self.terms.items() if group in groups})

    @cached_property
    def data_hash(self) -> str:
        """Hash of the sentences and the terms."""
        digest = self._hash_of_items()
        for group, words in self.terms.items():
            digest.update(b"\x1d" + "\x1f".join(map(unmistakable, (group, *words))).encode("utf-8", "surrogatepass"))
        return str(digest.hexdigest())
