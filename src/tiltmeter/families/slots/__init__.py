"""Slots: sentences with one word masked. Which group's words does the model put there, how likely, and at which rank?"""

from __future__ import annotations

from tiltmeter.families.slots.ask import ask, blocks, in_pieces
from tiltmeter.families.slots.cards import cards
from tiltmeter.families.slots.check import check
from tiltmeter.families.slots.compare import compare
from tiltmeter.families.slots.estimate import estimate
from tiltmeter.families.slots.figures import slots as _figure
from tiltmeter.families.slots.fills import READS
from tiltmeter.families.slots.notebook import brief, described
from tiltmeter.families.slots.options import Options
from tiltmeter.families.slots.sheets import sheets
from tiltmeter.families.slots.stories import stories

__all__ = [
    "BY_DEFAULT", "FIGURES", "KEY", "READS", "READS_TEXTS", "TITLE", "Options", "ask", "blocks", "brief", "cards",
    "check", "compare", "described", "estimate", "in_pieces", "sheets", "stories",
]  # fmt: skip

TITLE = "Words that fill a mask"
KEY = ("model", "benchmark", "item", "group", "term")
READS_TEXTS = False
BY_DEFAULT = frozenset({"masked"})
"""A causal model has to read every sentence with every term, so it is asked only on request."""
FIGURES = {"slots": _figure}
"""Figures that this family draws itself: name → function of the estimates."""
