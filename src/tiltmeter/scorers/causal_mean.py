"""Causal log-likelihood per token."""

from tiltmeter.scorers import Scorer
from tiltmeter.scorers.kit.tokens import Scored, Tokens

SCORER = Scorer(view="causal", version=1, cites="The chain rule.")


def causal_mean(tokens: Tokens) -> Scored:
    """1/|S| Σ log P(w_i | BOS, w_1 … w_{i−1})."""
    return tokens.mean(tokens.logprob)
