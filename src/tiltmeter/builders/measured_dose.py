"""The dose that a text has: log-odds that an attribute meets the group of its stereotype, counted in its sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import log, sqrt
from statistics import NormalDist

from tiltmeter.builders.doses import Dosed

HALF = 0.5
"""Added to every count, so that a share of 0 or 1 has finite log-odds (Haldane and Anscombe)."""


@dataclass(frozen=True)
class MeasuredDose:
    """Counts of one domain, and the mean over its groups of the log-odds of an attribute of their own stereotype."""

    domain: str
    stereotypical: int
    other: int
    log_odds: float
    low: float
    high: float


def measure_dose(sentences: Iterable[Dosed], domain: str, confidence: float = 0.95) -> MeasuredDose:
    """Count the sentences of a domain.

    Every group of every contrast counts alike; the interval is Wald's, for independent sentences.
    """
    counts = Counter((one.contrast, one.group, one.stereotypical) for one in sentences if one.domain == domain)
    groups = sorted({(contrast, group) for contrast, group, _ in counts})
    tables = [(counts[*group, True] + HALF, counts[*group, False] + HALF) for group in groups]
    if not tables:
        return MeasuredDose(domain, 0, 0, 0.0, float("-inf"), float("inf"))
    log_odds = sum(log(own / other) for own, other in tables) / len(tables)
    error = sqrt(sum(1 / own + 1 / other for own, other in tables)) / len(tables)
    half = NormalDist().inv_cdf(0.5 + confidence / 2) * error
    own = sum(count for (*_, stereotypical), count in counts.items() if stereotypical)
    return MeasuredDose(domain, own, sum(counts.values()) - own, log_odds, log_odds - half, log_odds + half)
