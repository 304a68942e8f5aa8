"""A check of scorers that others wrote: sentences made up for it, and what is wrong with what a scorer returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tiltmeter.scorers.kit.tokens import Scored, Tokens


def made_up_tokens() -> Tokens:
    """Observations of two sentences, of three tokens and of two."""
    n = 5
    return Tokens(
        sentence=np.array([0, 0, 0, 1, 1]),
        modified=np.array([True, False, True, False, True]),
        logprob=-np.arange(1.0, n + 1),
        rank=np.arange(1, n + 1),
        attention=np.full(n, 0.2),
        block_logprob=-np.arange(1.0, n + 1),
        unasked=np.full(2, None, dtype=object),
    )


def fault_of(scorer: Callable[[Tokens], Any]) -> str:
    """Return what is wrong with a scorer, as the rest of a sentence; empty where nothing is.

    >>> fault_of(lambda tokens: tokens.mean(tokens.logprob))
    ''
    >>> fault_of(lambda tokens: tokens.logprob)
    'returns ndarray instead of Scored: return tokens.mean(…) or tokens.total(…)'
    """
    try:
        found = scorer(made_up_tokens())
    except Exception as error:  # the code of others may raise what it likes
        return f"fails on two made-up sentences: {type(error).__name__}: {error}"
    if not isinstance(found, Scored):
        return f"returns {type(found).__name__} instead of Scored: return tokens.mean(…) or tokens.total(…)"
    shapes = {np.shape(part) for part in (found.value, found.n_tokens, found.reason)}
    return "" if shapes == {(2,)} else "must return one score, count and reason for each sentence"
