"""Labels: text with a label and the groups that it names. Whom does a classifier made of the model wrong?"""

from __future__ import annotations

from tiltmeter.families.labels.ask import ask
from tiltmeter.families.labels.cards import cards
from tiltmeter.families.labels.check import check
from tiltmeter.families.labels.compare import compare
from tiltmeter.families.labels.estimate import estimate
from tiltmeter.families.labels.figures import group_rates as _group_rates
from tiltmeter.families.labels.figures import threshold as _threshold
from tiltmeter.families.labels.notebook import brief, described
from tiltmeter.families.labels.options import Options
from tiltmeter.families.labels.questions import READS
from tiltmeter.families.labels.sheets import sheets
from tiltmeter.families.labels.stories import stories

__all__ = [
    "FIGURES", "KEY", "READS", "READS_TEXTS", "TITLE", "Options", "ask", "brief", "cards", "check", "compare",
    "described", "estimate", "sheets", "stories",
]  # fmt: skip

TITLE = "Labels that a fine-tuned classifier gives"
KEY = ("model", "benchmark", "item", "seed")
READS_TEXTS = False
FIGURES = {"group-rates": _group_rates, "threshold": _threshold}
"""Figures that this family draws itself: name → function of the estimates."""
