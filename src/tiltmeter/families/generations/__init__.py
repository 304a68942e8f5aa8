"""The family of generations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tiltmeter.families.generations.ask import ask, blocks, cache_key_extra, postprocess
from tiltmeter.families.generations.cards import cards
from tiltmeter.families.generations.check import check
from tiltmeter.families.generations.estimate import compare, estimate
from tiltmeter.families.generations.figures import generations
from tiltmeter.families.generations.judge_scores import READS
from tiltmeter.families.generations.narratives import narratives
from tiltmeter.families.generations.options import Options as GenerationsOptions
from tiltmeter.families.generations.published import published
from tiltmeter.families.generations.sheets import sheets
from tiltmeter.families.kit.protocol import Family


class Generations(Family):
    """Generations: beginnings of sentences about groups of people. How does the model go on, and what do judges say?"""

    TITLE = "Texts generated from a prompt"
    UNIT = "prompts"
    EVIDENCE = "generation"
    KEY = ("model", "benchmark", "item", "sample", "temperature")
    READS = READS
    VERSION = 1
    EXTRINSIC = True
    NEEDS = frozenset({"text"})
    SERVED = True
    Options = GenerationsOptions
    POSTPROCESS_OPTIONS = ("judges", "polarity")
    READS_TEXTS = False
    FIGURES = {"generations": generations}  # noqa: RUF012

    check = staticmethod(check)
    ask = staticmethod(ask)
    blocks = staticmethod(blocks)
    cache_key_extra = staticmethod(cache_key_extra)
    postprocess = staticmethod(postprocess)
    estimate = staticmethod(estimate)
    compare = staticmethod(compare)
    narratives = staticmethod(narratives)
    sheets = staticmethod(sheets)
    cards = staticmethod(cards)
    published = staticmethod(published)

    def comparability(self, manifest: Mapping[str, Any]) -> Mapping[str, str]:
        """Return who judged the texts."""
        return {f"the judge {name}": json.dumps(facts, sort_keys=True) for name, facts in manifest.get("judges", {}).items()}

    def column_facts(self, manifest: Mapping[str, Any]) -> Mapping[str, str]:
        """Return whether prompts were given in a chat template."""
        return {"chat": str(manifest["chat"])} if "chat" in manifest else {}


FAMILY = Generations()
