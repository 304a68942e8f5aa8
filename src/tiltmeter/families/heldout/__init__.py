"""The family of heldout."""

from __future__ import annotations

from tiltmeter.families.heldout.ask import ask, blocks, stream
from tiltmeter.families.heldout.check import check, provides
from tiltmeter.families.heldout.estimate import READS, compare, estimate
from tiltmeter.families.heldout.narratives import narratives, sheets
from tiltmeter.families.heldout.published import published
from tiltmeter.families.kit.protocol import Family


class HeldOut(Family):
    """Held-out text: lines that a model has not learned from. How well does it predict them? Shows what debiasing costs."""

    TITLE = "Prediction of held-out text"
    UNIT = "lines"
    EVIDENCE = "quality"
    KEY = ("model", "benchmark", "item")
    READS = READS
    VERSION = 1
    NEEDS = frozenset({"prompt_logprobs"})
    READS_TEXTS = False

    check = staticmethod(check)
    ask = staticmethod(ask)
    stream = staticmethod(stream)
    blocks = staticmethod(blocks)
    estimate = staticmethod(estimate)
    compare = staticmethod(compare)
    narratives = staticmethod(narratives)
    sheets = staticmethod(sheets)
    published = staticmethod(published)
    provides = staticmethod(provides)


FAMILY = HeldOut()
