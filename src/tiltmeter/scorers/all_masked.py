"""All Masked: every content token masked at once, averaged: what word frequency alone would prefer."""

from tiltmeter.scorers import Scorer
from tiltmeter.scorers.kit.tokens import Scored, Tokens

SCORER = Scorer(view="everything", version=1, cites="Kaneko and Bollegala (2022), Unmasking the Mask, AAAI.")


def all_masked(tokens: Tokens) -> Scored:
    """1/|S| Σ log P(w | nothing but masks)."""
    return tokens.mean(tokens.logprob)
