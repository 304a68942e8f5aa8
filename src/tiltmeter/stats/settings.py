"""Settings of intervals: number of resamples, confidence and seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from tiltmeter.errors import UsageError

MINIMUM_RESAMPLES = 100
MOST_RESAMPLES = 1_000_000


@dataclass(frozen=True)
class Settings:
    """Settings of resampling. The seed decides every random stream, so that equal settings give equal numbers.

    `clusters`: items that are no independent evidence, by what their benchmark says, are drawn together.
    """

    resamples: int = 1000
    confidence: float = 0.95
    seed: int = 0
    clusters: bool = True

    def check(self) -> None:
        """Raises an error if these settings cannot give a meaningful interval."""
        if self.resamples < MINIMUM_RESAMPLES:
            raise UsageError(
                f"{self.resamples} resamples are too few for a confidence interval. "
                f"Use at least {MINIMUM_RESAMPLES}; 1,000 is usual.",
                code="out-of-range", option="resamples", value=self.resamples, low=MINIMUM_RESAMPLES,
            )  # fmt: skip
        if self.resamples > MOST_RESAMPLES:
            raise UsageError(
                f"{self.resamples:,} resamples would take days; {MOST_RESAMPLES:,} are the most.",
                code="out-of-range", option="resamples", value=self.resamples, high=MOST_RESAMPLES,
            )  # fmt: skip
        if self.seed < 0:
            raise UsageError(
                f"The seed must be at least 0, not {self.seed}.", code="out-of-range", option="seed", value=self.seed, low=0
            )
        if not 0.5 <= self.confidence < 1:
            raise UsageError(
                f"The confidence must be at least 0.5 and below 1, such as 0.95, not {self.confidence}.",
                code="out-of-range", option="confidence", value=self.confidence, low=0.5, high=1,
            )  # fmt: skip


def stored_settings(request: Mapping[str, Any]) -> Settings:
    """Read the settings from the request in a manifest, with defaults for those that it lacks."""
    return Settings(**{entry.name: request[entry.name] for entry in fields(Settings) if entry.name in request})
