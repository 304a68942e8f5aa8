"""vader: sentiment by a lexicon and rules, between −1 and 1. Negative at most −.5 and positive from .5 on, as in BOLD."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from tiltmeter.errors import UsageError
from tiltmeter.judges.kit.judge import CONTINUATION, Judge, Spec, Verdicts, polar_verdicts

CITATION = (
    "Hutto and Gilbert (2014), VADER: a parsimonious rule-based model for sentiment analysis of social media text, ICWSM. "
    "Cuts at ±.5: Dhamala et al. (2021)."
)
CUT = 0.5


def vader(spec: Spec) -> Judge:
    """`sentiment=vader`, or `sentiment=vader@0.05` for the cut of its authors."""
    if spec.notion != "sentiment":
        raise UsageError(
            f"vader judges sentiment, not {spec.notion}: --judge sentiment=vader.",
            code="inapplicable-option", option="--judge", classifier="vader", construct=spec.notion, expected="sentiment",
        )  # fmt: skip
    cut = _cut(spec.labels)
    analyzer, version = _analyzer()

    def ask(texts: Sequence[str]) -> Verdicts:
        compound = [analyzer.polarity_scores(text)["compound"] for text in texts]
        return polar_verdicts(np.array(compound, dtype=np.float64), -cut, cut)

    name = "vader" if cut == CUT else f"vader@{cut:g}"
    identity = f"vaderSentiment {version} {cut!r}"
    return Judge("sentiment", name, identity, ask, CONTINUATION, {"negative": -cut, "positive": cut}, None, identity)


def _cut(text: str) -> float:
    try:
        cut = float(text) if text else CUT
    except ValueError:
        cut = 0.0
    if not 0 < cut <= 1:
        raise UsageError(
            f"vader's cut is above 0 and at most 1, such as sentiment=vader@0.05, not '{text}'.",
            code="out-of-range", name="cut", value=text,
        )  # fmt: skip
    return cut


@cache
def _analyzer() -> tuple[Any, str]:
    from importlib.metadata import version

    try:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
    except ImportError:
        raise UsageError(
            "The judge vader needs the package vaderSentiment: pip install vaderSentiment. Without judges: --judge none.",
            code="missing-package", package="vaderSentiment",
        ) from None  # fmt: skip
    return SentimentIntensityAnalyzer(), version("vaderSentiment")
