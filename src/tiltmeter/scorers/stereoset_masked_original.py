"""StereoSet's own score for masked models, as its authors' code computes it: no leading space before the fill."""

import numpy as np

from tiltmeter.scorers import Scorer
from tiltmeter.scorers.kit.tokens import Scored, Tokens

SCORER = Scorer(
    view="reveal_original",
    version=1,
    variant_of="stereoset_masked",
    cites="Nadeem, Bethke and Reddy (2021), ACL; github.com/moinnadeem/StereoSet.",
)


def stereoset_masked_original(tokens: Tokens) -> Scored:
    """1/n Σ P(sub-token k | the context, sub-tokens before k)."""
    return tokens.mean(np.exp(tokens.logprob))
