"""AUL: All Unmasked Likelihood, nothing masked, averaged over all tokens (Kaneko & Bollegala, 2022)."""

from tiltmeter.scorers import Scorer
from tiltmeter.scorers.kit.tokens import Scored, Tokens

SCORER = Scorer(view="unmasked", version=1, cites="Kaneko and Bollegala (2022), Unmasking the Mask, AAAI.")


def aul(tokens: Tokens) -> Scored:
    """1/|S| Σ log P(w | the whole sentence)."""
    return tokens.mean(tokens.logprob)
