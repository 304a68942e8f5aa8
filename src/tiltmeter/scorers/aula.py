"""AULA: AUL weighted by the attention each token receives (Kaneko & Bollegala, 2022)."""

from tiltmeter.scorers import Scorer
from tiltmeter.scorers.kit.tokens import Scored, Tokens

SCORER = Scorer(view="unmasked_attention", version=1, cites="Kaneko and Bollegala (2022), Unmasking the Mask, AAAI.")


def aula(tokens: Tokens) -> Scored:
    """1/|S| Σ α log P(w | the whole sentence); α averaged over layers, heads and queries, not renormalised."""
    return tokens.mean(tokens.attention * tokens.logprob)
