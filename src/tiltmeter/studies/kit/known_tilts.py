"""The embedded calibration: which dose of our text would give a reading on plumb-mlm or plumb-clm, and how sure that is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from math import sqrt
from typing import Any

FILE = "known_tilts.json"
Z95 = 1.959964
Key = tuple[str, str, str, str, str, str]
KEY = ("benchmark", "scorer", "measure", "by", "group")
KINDS = {"plumb-mlm": "masked", "plumb-clm": "causal"}
"""A model is told by ours of its kind: slots are filled by both, and their numbers are not comparable."""


@dataclass(frozen=True)
class Tilt:
    """A line of readings over doses, as the study `calibration` found it on one of our models.

    `noticed`: whether the reading follows the dose (p < .05 after Holm's correction within its domain).
    """

    model: str
    domain: str
    at_zero: float
    slope: float
    slope_error: float
    spread: float
    seeds: int
    noticed: bool

    def dose(self, reading: float) -> tuple[float, float, float]:
        """The dose that gives a reading, and its interval: of the line, and of one model about it (the delta method).

        >>> tilt = Tilt("plumb-mlm", "gender", 50.0, 10.0, 0.5, 1.0, 3, True)
        >>> [round(x, 2) for x in tilt.dose(54.0)]
        [0.4, 0.17, 0.63]
        """
        value = (reading - self.at_zero) / self.slope
        error = sqrt(self.spread**2 * (1 + 1 / self.seeds) + (value * self.slope_error) ** 2) / abs(self.slope)
        return value, value - Z95 * error, value + Z95 * error


def known_tilts() -> Mapping[Key, Tilt]:
    """Every metric that the embedded calibration has, by its benchmark, scorer, measure and group, and the kind of model."""
    found = ((row, Tilt(*row["tilt"])) for row in _told()["metrics"])
    return {(*(row[name] for name in KEY), KINDS[tilt.model]): tilt for row, tilt in found}


def calibrated_data() -> Mapping[str, str]:
    """What the calibrated models were shown: the hash of a benchmark's data → its name. Other data need another calibration,
    be it of the same name: a benchmark whose sentences were rewritten, or a part of it.
    """
    return {digest: name for name, digest in _told()["data"].items()}


@cache
def _told() -> dict[str, Any]:
    told: dict[str, Any] = json.loads((files("tiltmeter.studies") / "data" / FILE).read_text("utf-8"))
    return told


def told_as(tilt: Tilt) -> list[object]:
    """For the file."""
    return [round(value, 6) if isinstance(value, float) else value for value in asdict(tilt).values()]
