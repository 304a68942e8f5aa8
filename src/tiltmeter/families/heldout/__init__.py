"""Held-out text: lines that a model has not learned from. How well does it predict them? Shows what debiasing costs."""

from __future__ import annotations

from tiltmeter.families.heldout.ask import ask, blocks, in_pieces
from tiltmeter.families.heldout.check import check
from tiltmeter.families.heldout.compare import compare
from tiltmeter.families.heldout.estimate import READS, estimate
from tiltmeter.families.heldout.stories import sheets, stories
from tiltmeter.families.kit.no_cards import cards
from tiltmeter.families.kit.options import NoOptions as Options

__all__ = [
    "KEY", "READS", "READS_TEXTS", "TITLE", "Options", "ask", "blocks", "cards", "check", "compare", "estimate",
    "in_pieces", "sheets", "stories",
]  # fmt: skip

TITLE = "Prediction of held-out text"
KEY = ("model", "benchmark", "item")
READS_TEXTS = False
