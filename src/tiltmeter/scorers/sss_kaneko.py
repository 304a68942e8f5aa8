"""SSS as Kaneko and Bollegala's code computes it: the mean over every masked position × every modified token.

Equal to `sss` where one token is modified. The published SSS tables come from this version.
"""

from tiltmeter.scorers import Scorer
from tiltmeter.scorers.kit.tokens import Scored, Tokens

SCORER = Scorer(
    view="changed",
    version=1,
    variant_of="sss",
    cites="github.com/kanekomasahiro/evaluate_bias_in_mlm, evaluate.py.",
)


def sss_kaneko(tokens: Tokens) -> Scored:
    """1/|M|² ΣΣ log P(w at position p | the unmodified tokens), over modified tokens w and positions p."""
    return tokens.mean(tokens.block_logprob, empty="no modified tokens")
