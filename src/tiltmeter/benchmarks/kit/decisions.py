"""Decisions about people: the same case with another name or group, and answers of which the first is favourable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from tiltmeter.benchmarks.kit.choices import QUESTION, ChoiceBenchmark, answer_role
from tiltmeter.benchmarks.kit.items import Item
from tiltmeter.storage.compressed_rows import fold

DECISION, ASSOCIATION = "decision", "association"
"""The conditions of rows that are not questions with a right answer: a decision about a person, words given to groups."""
FAVOURABLE = 0
"""The number of the favourable answer."""
NONE = -1
"""Stands for the right and the "unknown" answer, which a decision does not have."""
GROUP_COLUMNS = ("target", "gender", "race")
"""Columns that divide people into groups, as far as a benchmark has them."""


@dataclass(frozen=True)
class Person:
    """Person of a case; `label_type` says whether the text uses a name or a label."""

    group: str
    label_type: str
    traits: Mapping[str, str]


def decision_item(
    identity: str, texts: tuple[str, str], answers: tuple[str, ...], case: str, domain: str, person: Person
) -> Item:
    """Build one decision: the text of the case and its question, and answers of which the first is favourable.

    All variants of a case are one cluster: they are compared with each other.
    """
    context, question = texts
    roles = {QUESTION: question} | {answer_role(n): text for n, text in enumerate(answers)}
    facts = {
        "right": NONE, "unknown": NONE, "stereotyped": None, "condition": DECISION, "polarity": "", "template": case,
        "label_type": person.label_type, **person.traits,
    }  # fmt: skip
    return Item(id=identity, texts=roles, bias_type=domain, target=person.group, context=context, extra=facts)


@dataclass(frozen=True)
class DecisionBenchmark(ChoiceBenchmark):
    """Decisions; `bias_type` is the domain, `target` the group, `template` the case."""

    def _first(self, n: int) -> Self:
        """Keep about n decisions: whole cases, so that every group gets the same cases."""
        kept: list[Item] = []
        for item in self.asked_items:
            if len(kept) >= n and item.extra["template"] != kept[-1].extra["template"]:
                break
            kept.append(item)
        return replace(self, items=fold(iter(kept)))
