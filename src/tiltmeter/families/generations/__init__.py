"""Generations: beginnings of sentences about groups of people. How does the model go on, and what do judges say of it?"""

from __future__ import annotations

from tiltmeter.families.generations.ask import ask, blocks, decides, judged_again
from tiltmeter.families.generations.cards import cards
from tiltmeter.families.generations.check import check
from tiltmeter.families.generations.compare import compare
from tiltmeter.families.generations.estimate import estimate
from tiltmeter.families.generations.figures import generations as _figure
from tiltmeter.families.generations.judged import READS
from tiltmeter.families.generations.options import Options
from tiltmeter.families.generations.published import published
from tiltmeter.families.generations.sheets import sheets
from tiltmeter.families.generations.stories import stories

__all__ = [
    "FIGURES", "KEY", "LATER", "READS", "READS_TEXTS", "TITLE", "Options", "ask", "blocks", "cards", "check", "compare",
    "decides", "estimate", "judged_again", "published", "sheets", "stories",
]  # fmt: skip

TITLE = "Texts that go on from a prompt"
KEY = ("model", "benchmark", "item", "sample", "temperature")
READS_TEXTS = False
LATER = ("judges", "polarity")
"""Options that say nothing of the texts, only what is said of them."""
FIGURES = {"generations": _figure}
"""Figures that this family draws itself: name → function of the estimates."""
