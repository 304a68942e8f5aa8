"""How intervals are made: how many resamples, at which confidence, from which seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from tiltmeter.errors import TiltmeterError

MINIMUM_RESAMPLES = 100
MOST_RESAMPLES = 1_000_000


@dataclass(frozen=True)
class Settings:
    """How to resample. The seed decides every random stream, so that equal settings give equal numbers.

    `clusters`: items that are no independent evidence, by what their benchmark says, are drawn together.
    """

    resamples: int = 1000
    confidence: float = 0.95
    seed: int = 0
    clusters: bool = True

    def check(self) -> None:
        """Raises an error if these settings cannot give a meaningful interval."""
        if self.resamples < MINIMUM_RESAMPLES:
            raise TiltmeterError(
                f"{self.resamples} resamples are too few for an interval; {MINIMUM_RESAMPLES} the fewest, 1,000 usual."
            )
        if self.resamples > MOST_RESAMPLES:
            raise TiltmeterError(f"{self.resamples:,} resamples would take days; {MOST_RESAMPLES:,} are the most.")
        if self.seed < 0:
            raise TiltmeterError(f"The seed must be at least 0, not {self.seed}.")
        if not 0.5 <= self.confidence < 1:
            raise TiltmeterError(f"The confidence must be at least 0.5 and below 1, such as 0.95, not {self.confidence}.")


def stored_settings(asked: Mapping[str, Any]) -> Settings:
    """The settings among what a manifest says was asked for, with defaults for those that are not known."""
    return Settings(**{entry.name: asked[entry.name] for entry in fields(Settings) if entry.name in asked})
