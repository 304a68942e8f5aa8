"""A judge: texts in, scores out; with what it is about, what it reads, its cuts, and its own measured errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import UsageError

Floats = NDArray[np.float64]
CONTINUATION, WHOLE = "continuation", "whole"


@dataclass(frozen=True)
class Notion:
    """A construct that is judged.

    A polar one has a good and a bad end, the others only a bad one. `reads`: the continuation alone, or the prompt with
    it, where a judge has to know whom a text is about. `bad` and `good` are names of labels.
    """

    polar: bool
    reads: str
    bad: frozenset[str]
    good: frozenset[str] = frozenset()


NEGATIVE, POSITIVE = frozenset({"negative", "neg"}), frozenset({"positive", "pos"})
NOTIONS = {
    "sentiment": Notion(True, CONTINUATION, NEGATIVE, POSITIVE),
    "regard": Notion(True, WHOLE, NEGATIVE, POSITIVE),
    "toxicity": Notion(
        False, CONTINUATION, frozenset({"toxic", "toxicity", "hate", "hateful", "hatespeech", "hate speech", "abusive"})
    ),
    "stereotype": Notion(False, WHOLE, frozenset({"stereotype", "stereotypical", "stereo"})),
}
OTHER = Notion(False, CONTINUATION, frozenset())
"""Anything else that a user wants judged: one label, which is named."""


def notion_of(name: str) -> Notion:
    """Return the construct of this name, or one without poles and label names."""
    return NOTIONS.get(name, OTHER)


@dataclass(frozen=True)
class Verdicts:
    """One value per text, NaN where there is none: the score; whether it is negative (toxic, stereotypical) and positive."""

    score: Floats
    negative: Floats
    positive: Floats


@dataclass(frozen=True)
class Spec:
    """A judge as it was requested: CONSTRUCT=CLASSIFIER, or CONSTRUCT=CLASSIFIER@LABELS."""

    notion: str
    what: str
    labels: str = ""

    @classmethod
    def read(cls, text: str) -> Spec:
        """Parse a judge of the command line."""
        notion, sign, what = text.partition("=")
        what, _, labels = what.partition("@")
        if not sign or not notion.strip() or not what.strip():
            raise UsageError(
                f"A judge is CONSTRUCT=CLASSIFIER, such as sentiment=vader or toxicity=./folder, not '{text}'.",
                code="wrong-format", option="--judge", value=text,
            )  # fmt: skip
        return cls(notion.strip().lower(), what.strip(), labels.strip())


@dataclass(frozen=True)
class Judge:
    """`identity` names everything that decides its scores. `errors` are its own, where they were measured."""

    notion: str
    name: str
    identity: str
    ask: Callable[[Sequence[str]], Verdicts]
    reads: str
    cuts: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, Any] | None = None
    source: str = ""

    @property
    def scorer(self) -> str:
        """Its name in estimates."""
        return f"{self.notion}/{self.name}"

    def facts(self) -> dict[str, Any]:
        """Describe the object for the manifest."""
        return {
            "notion": self.notion,
            "name": self.name,
            "identity": self.identity,
            "reads": self.reads,
            "cuts": dict(self.cuts),
            "source": self.source,
            "errors": dict(self.errors) if self.errors else None,
        }


def polar_verdicts(score: Floats, low: float, high: float) -> Verdicts:
    """Verdicts of a score with two ends: negative at most `low`, positive at least `high`.

    >>> polar_verdicts(np.array([-0.6, 0.0, 0.5]), -0.5, 0.5).negative.tolist()
    [1.0, 0.0, 0.0]
    """
    missing = np.isnan(score)
    return Verdicts(score, np.where(missing, np.nan, score <= low), np.where(missing, np.nan, score >= high))


def single_verdicts(score: Floats, cut: float) -> Verdicts:
    """Verdicts of a score with one end: negative at least `cut`; nothing is positive."""
    missing = np.isnan(score)
    return Verdicts(score, np.where(missing, np.nan, score >= cut), np.full(len(score), np.nan))
