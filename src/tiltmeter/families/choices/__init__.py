"""The family of questions with choices."""

from __future__ import annotations

from typing import Any

from tiltmeter.families.choices.ask import ask, stream
from tiltmeter.families.choices.cards import cards
from tiltmeter.families.choices.check import check, needs
from tiltmeter.families.choices.estimate import compare, estimate
from tiltmeter.families.choices.figures import choices
from tiltmeter.families.choices.head_training import train_head
from tiltmeter.families.choices.narratives import narratives, sheets
from tiltmeter.families.choices.options import ChoicesOptions
from tiltmeter.families.choices.outcomes import READS, provides
from tiltmeter.families.choices.prompts import cache_key_extra
from tiltmeter.families.choices.published import published
from tiltmeter.families.choices.requests import likelihood_requests, text_requests
from tiltmeter.families.kit.protocol import Family


class Choices(Family):
    """Choices: questions about groups of people with answers to choose from. Does the model answer with a stereotype?"""

    TITLE = "Questions with choices"
    UNIT = "questions"
    EVIDENCE = "task"
    KEY = ("model", "benchmark", "scorer", "item")
    READS = READS
    VERSION = 3
    NEEDS = frozenset({"answers"})
    SERVED = True
    Options = ChoicesOptions
    READS_TEXTS = False
    FIGURES = {"choices": choices}  # noqa: RUF012

    check = staticmethod(check)
    ask = staticmethod(ask)
    stream = staticmethod(stream)
    estimate = staticmethod(estimate)
    compare = staticmethod(compare)
    narratives = staticmethod(narratives)
    sheets = staticmethod(sheets)
    cards = staticmethod(cards)
    provides = staticmethod(provides)
    published = staticmethod(published)
    likelihood_requests = staticmethod(likelihood_requests)
    text_requests = staticmethod(text_requests)
    train_head = staticmethod(train_head)
    cache_key_extra = staticmethod(cache_key_extra)

    def needs(self, options: Any, benchmark: Any) -> frozenset[str]:
        """Return what the protocols need."""
        return needs(options)


FAMILY = Choices()
