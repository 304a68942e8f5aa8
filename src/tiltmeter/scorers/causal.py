"""Causal log-likelihood: left to right, the first token given BOS, summed."""

from tiltmeter.scorers.kit.tokens import Scored, Tokens

VIEW = "causal"
CITATION = "The chain rule."


def causal(tokens: Tokens) -> Scored:
    """Σ log P(w_i | BOS, w_1 … w_{i−1})."""
    return tokens.total(tokens.logprob)
