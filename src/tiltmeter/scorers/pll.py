"""PLL: pseudo-log-likelihood, every token masked in turn, summed (Salazar et al., 2020)."""

from tiltmeter.scorers import Scorer
from tiltmeter.scorers.kit.tokens import Scored, Tokens

SCORER = Scorer(
    view="each",
    version=1,
    cites="Salazar, Liang, Nguyen and Kirchhoff (2020), Masked Language Model Scoring, ACL.",
)


def pll(tokens: Tokens) -> Scored:
    """Σ log P(w | the sentence with w masked), over all tokens."""
    return tokens.total(tokens.logprob)
