"""Causal log-likelihood: left to right, the first token given BOS, summed."""

from tiltmeter.scorers import Scorer
from tiltmeter.scorers.kit.tokens import Scored, Tokens

SCORER = Scorer(view="causal", version=1, cites="The chain rule.")


def causal(tokens: Tokens) -> Scored:
    """Σ log P(w_i | BOS, w_1 … w_{i−1})."""
    return tokens.total(tokens.logprob)
