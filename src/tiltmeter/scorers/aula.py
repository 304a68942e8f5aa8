"""AULA: AUL weighted by the attention each token receives (Kaneko & Bollegala, 2022)."""

from tiltmeter.scorers.kit.tokens import Scored, Tokens

VIEW = "unmasked_attention"
CITATION = "Kaneko and Bollegala (2022), Unmasking the Mask, AAAI."


def aula(tokens: Tokens) -> Scored:
    """1/|S| Σ α log P(w | the whole sentence); α averaged over layers, heads and queries, not renormalised."""
    return tokens.mean(tokens.attention * tokens.logprob)
