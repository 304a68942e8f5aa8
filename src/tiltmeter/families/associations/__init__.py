"""The family of associations."""

from __future__ import annotations

from tiltmeter.families.associations.ask import ask
from tiltmeter.families.associations.check import NEEDS, check, needs
from tiltmeter.families.associations.estimate import compare, estimate
from tiltmeter.families.associations.facts import KEY
from tiltmeter.families.associations.narratives import narratives, why_no_verdict
from tiltmeter.families.associations.options import Options as AssociationsOptions
from tiltmeter.families.associations.sheets import sheets
from tiltmeter.families.kit.protocol import Family


class Associations(Family):
    """Associations: is one group closer to an attribute than another, as vectors (SEAT, CEAT) or in templates (ILPS)?"""

    TITLE = "Association tests (seat, ceat, ilps)"
    UNIT = "tests"
    EVIDENCE = "associations"
    KEY = KEY
    VERSION = 1
    READS = frozenset(
        {
            "x", "y", "effects", "variances", "a", "b", "logprob", "prior", "first", "first_prior", "second",
            "second_prior", "groups", "ddof",
        }
    )  # fmt: skip
    """Associations, effects, cosines, log-probabilities, or the scores of groups."""
    NEEDS = NEEDS
    Options = AssociationsOptions

    check = staticmethod(check)
    needs = staticmethod(needs)
    ask = staticmethod(ask)
    estimate = staticmethod(estimate)
    compare = staticmethod(compare)
    why_no_verdict = staticmethod(why_no_verdict)
    narratives = staticmethod(narratives)
    sheets = staticmethod(sheets)


FAMILY = Associations()
