"""The family of slots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiltmeter.families.kit.protocol import Family
from tiltmeter.families.slots.ask import ask, blocks, stream
from tiltmeter.families.slots.cards import cards
from tiltmeter.families.slots.check import check
from tiltmeter.families.slots.debiasing import debiasing_details
from tiltmeter.families.slots.estimate import compare, estimate
from tiltmeter.families.slots.figures import slots
from tiltmeter.families.slots.fills import READS
from tiltmeter.families.slots.item_readings import item_readings
from tiltmeter.families.slots.narratives import narratives
from tiltmeter.families.slots.notebook import brief, describe
from tiltmeter.families.slots.options import Options as SlotsOptions
from tiltmeter.families.slots.sheets import sheets


class Slots(Family):
    """Slots: sentences with one word masked. Which group's words does the model put there, how likely, and at which rank?"""

    TITLE = "Words that fill a mask"
    UNIT = "slots"
    EVIDENCE = "likelihood"
    KEY = ("model", "benchmark", "item", "group", "term")
    READS = READS
    VERSION = 1
    NEEDS = frozenset({"choice_logprobs"})
    Options = SlotsOptions
    READS_TEXTS = False
    DEFAULT_KINDS = frozenset({"masked"})
    """A causal model has to read every sentence with every term, so it runs only on request."""
    FIGURES = {"slots": slots}  # noqa: RUF012

    check = staticmethod(check)
    ask = staticmethod(ask)
    stream = staticmethod(stream)
    blocks = staticmethod(blocks)
    estimate = staticmethod(estimate)
    compare = staticmethod(compare)
    narratives = staticmethod(narratives)
    sheets = staticmethod(sheets)
    cards = staticmethod(cards)
    brief = staticmethod(brief)
    describe = staticmethod(describe)
    item_readings = staticmethod(item_readings)
    debiasing_details = staticmethod(debiasing_details)

    def column_facts(self, manifest: Mapping[str, Any]) -> Mapping[str, str]:
        """Returns what ranks are among: a causal model ranks only the candidates."""
        return {"ranked among": str(manifest["ranked_among"])} if "ranked_among" in manifest else {}


FAMILY = Slots()
