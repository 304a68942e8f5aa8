"""Associations: is one group closer to an attribute than another, in vector space (SEAT, CEAT) or in templates (ILPS)?"""

from __future__ import annotations

from tiltmeter.families.associations.ask import ask
from tiltmeter.families.associations.check import check
from tiltmeter.families.associations.compare import compare
from tiltmeter.families.associations.estimate import estimate
from tiltmeter.families.associations.facts import KEY
from tiltmeter.families.associations.options import Options
from tiltmeter.families.associations.sheets import sheets
from tiltmeter.families.associations.stories import stories
from tiltmeter.families.kit.no_cards import cards

__all__ = ["KEY", "READS", "TITLE", "Options", "ask", "cards", "check", "compare", "estimate", "sheets", "stories"]

TITLE = "Association tests (seat, ceat, ilps)"
READS = frozenset(
    {
        "x", "y", "effects", "variances", "a", "b", "logprob", "prior", "first", "first_prior", "second", "second_prior",
        "groups", "ddof",
    }
)  # fmt: skip
"""Associations, effects, cosines, log-probabilities, or the scores of groups."""
