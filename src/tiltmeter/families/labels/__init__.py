"""The family of labels."""

from __future__ import annotations

from tiltmeter.families.kit.protocol import Family
from tiltmeter.families.labels.ask import ask
from tiltmeter.families.labels.cards import cards
from tiltmeter.families.labels.check import check
from tiltmeter.families.labels.estimate import READS, compare, estimate
from tiltmeter.families.labels.figures import group_rates, threshold
from tiltmeter.families.labels.narratives import narratives
from tiltmeter.families.labels.notebook import brief, describe
from tiltmeter.families.labels.options import Options as LabelsOptions
from tiltmeter.families.labels.sheets import sheets


class Labels(Family):
    """Labels: text with a label and the groups that it names. Whom does a classifier made of the model wrong?"""

    TITLE = "Labels of a fine-tuned classifier"
    UNIT = "texts"
    EVIDENCE = "task"
    KEY = ("model", "benchmark", "item", "seed")
    READS = READS
    VERSION = 1
    EXTRINSIC = True
    NEEDS = frozenset({"classes"})
    SERVED = True
    Options = LabelsOptions
    READS_TEXTS = False
    FIGURES = {"group-rates": group_rates, "threshold": threshold}  # noqa: RUF012

    check = staticmethod(check)
    ask = staticmethod(ask)
    estimate = staticmethod(estimate)
    compare = staticmethod(compare)
    narratives = staticmethod(narratives)
    sheets = staticmethod(sheets)
    cards = staticmethod(cards)
    brief = staticmethod(brief)
    describe = staticmethod(describe)


FAMILY = Labels()
