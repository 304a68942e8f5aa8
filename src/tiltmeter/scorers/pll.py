"""PLL: pseudo-log-likelihood, every token masked in turn, summed (Salazar et al., 2020)."""

from tiltmeter.scorers.kit.tokens import Scored, Tokens

VIEW = "each"
CITATION = "Salazar, Liang, Nguyen and Kirchhoff (2020), Masked Language Model Scoring, ACL."


def pll(tokens: Tokens) -> Scored:
    """Σ log P(w | the sentence with w masked), over all tokens."""
    return tokens.total(tokens.logprob)
