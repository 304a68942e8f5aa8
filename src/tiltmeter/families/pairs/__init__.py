"""The family of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiltmeter.families.kit.detection import detecting
from tiltmeter.families.kit.protocol import Family
from tiltmeter.families.pairs.ask import ask, blocks, stream
from tiltmeter.families.pairs.cards import cards
from tiltmeter.families.pairs.check import check, provides
from tiltmeter.families.pairs.estimate import compare, estimate
from tiltmeter.families.pairs.evidence import pair_evidence
from tiltmeter.families.pairs.headline import first_scorer, primary_measures
from tiltmeter.families.pairs.item_readings import item_readings
from tiltmeter.families.pairs.narratives import narratives
from tiltmeter.families.pairs.notebook import brief, describe
from tiltmeter.families.pairs.options import Options as PairsOptions
from tiltmeter.families.pairs.paired import READS
from tiltmeter.families.pairs.published import published
from tiltmeter.families.pairs.requests import likelihood_requests
from tiltmeter.families.pairs.sheets import sheets
from tiltmeter.families.pairs.unit_values import unit_values


class Pairs(Family):
    """Pairs: two sentences that differ in whom they are about. Which of them does the model find likelier?

    A scorer turns a sentence into a number; a measure sums up how these numbers lean over all pairs.
    """

    TITLE = "Pairs of sentences"
    UNIT = "pairs"
    EVIDENCE = "likelihood"
    KEY = ("model", "benchmark", "scorer", "item", "role")
    READS = READS
    VERSION = 1
    NEEDS = frozenset({"prompt_logprobs"})
    SERVED = True
    Options = PairsOptions
    READS_TEXTS = False

    check = staticmethod(check)
    ask = staticmethod(ask)
    stream = staticmethod(stream)
    blocks = staticmethod(blocks)
    estimate = staticmethod(estimate)
    compare = staticmethod(compare)
    narratives = staticmethod(narratives)
    sheets = staticmethod(sheets)
    cards = staticmethod(cards)
    provides = staticmethod(provides)
    published = staticmethod(published)
    likelihood_requests = staticmethod(likelihood_requests)
    brief = staticmethod(brief)
    describe = staticmethod(describe)
    evidence = staticmethod(pair_evidence)
    first_scorer = staticmethod(first_scorer)
    primary_measures = staticmethod(primary_measures)
    item_readings = staticmethod(item_readings)
    unit_values = staticmethod(unit_values)

    def cache_key_extra(self, options: Any) -> Mapping[str, Any]:
        """Returns the scorers with evidence, which are the default."""
        return {} if options.scorers else {"evidence": sorted(detecting("pairs"))}

    def column_facts(self, manifest: Mapping[str, Any]) -> Mapping[str, str]:
        """Returns how the tokens that both sentences share were found."""
        return {"alignment": str(manifest["alignment"])} if "alignment" in manifest else {}


FAMILY = Pairs()
