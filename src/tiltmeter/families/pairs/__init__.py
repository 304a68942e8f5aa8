"""Pairs: two sentences that differ in whom they are about. Which of them does the model find likelier?

A scorer turns a sentence into a number; a measure sums up how these numbers lean over all pairs.
"""

from __future__ import annotations

from tiltmeter.families.pairs.ask import ask, blocks, in_pieces
from tiltmeter.families.pairs.cards import cards
from tiltmeter.families.pairs.check import check, has
from tiltmeter.families.pairs.compare import compare
from tiltmeter.families.pairs.estimate import estimate
from tiltmeter.families.pairs.notebook import brief, described
from tiltmeter.families.pairs.options import Options
from tiltmeter.families.pairs.paired import READS
from tiltmeter.families.pairs.published import published
from tiltmeter.families.pairs.sheets import sheets
from tiltmeter.families.pairs.stories import stories

__all__ = [
    "KEY", "READS", "READS_TEXTS", "TITLE", "Options", "ask", "blocks", "brief", "cards", "check", "compare",
    "described", "estimate", "has", "in_pieces", "published", "sheets", "stories",
]  # fmt: skip

TITLE = "Pairs of sentences"
KEY = ("model", "benchmark", "scorer", "item", "role")
READS_TEXTS = False
