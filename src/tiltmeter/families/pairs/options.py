"""Options of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tiltmeter.families.kit.options import LANGUAGE, named, option


@named
@dataclass(frozen=True)
class PairsOptions:
    """Which scores of a sentence are computed, and how the words that differ are found."""

    scorers: Sequence[str] = option(
        (),
        "Scorer; repeatable; all: every one. Default: those that detected planted bias. See `tiltmeter list scorers`.",
        "-s",
        "--scorer",
        chooses=True,
    )
    stand_ins: bool = option(
        False, "stereoset: use Japanese as proxy for the group Asian, Britain for White (Cao et al.).", "--proxy-groups"
    )
    template: str | None = option(None, "gest: 0 to 3 (masked models), causal-0 or causal-1. Default: 2.")
    language: str | None = option(None, LANGUAGE)
    alignment: str = option("auto", "auto, or difflib: compare the sentences even where a context marks the fill.")


Options = PairsOptions
