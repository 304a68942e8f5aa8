"""SSS: StereoSet score, log-likelihood of the modified tokens with all of them masked at once, averaged."""

from tiltmeter.scorers import Scorer
from tiltmeter.scorers.kit.tokens import Scored, Tokens

SCORER = Scorer(
    view="changed",
    version=1,
    cites="Nadeem, Bethke and Reddy (2021), StereoSet, ACL; as Eq. 2 of Kaneko and Bollegala (2022), AAAI.",
)


def sss(tokens: Tokens) -> Scored:
    """1/|M| Σ log P(w | the unmodified tokens), over the modified tokens."""
    return tokens.mean(tokens.logprob, empty="no modified tokens")
