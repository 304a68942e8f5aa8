"""Questions with yes or no about a text: the probability of yes, by the likeliest tokens or by what is written."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.models.served.checks import plain_token
from tiltmeter.models.served.dialects import Written
from tiltmeter.models.served.messages import Missing
from tiltmeter.models.served.model import ServedModel
from tiltmeter.models.served.requests import Asker

YES, NO = "yes", "no"
TOKENS = 4
"""Tokens that an answer may have; only its first word is read."""
NO_ANSWER = "neither yes nor no"


def yes_probabilities(
    model: ServedModel, asker: Asker, prompts: Sequence[str], advance: Callable[..., None] = lambda *_: None
) -> tuple[NDArray[np.float64], list[str | None]]:
    """Return P(yes) among yes and no for each prompt, and the reason where there is none.

    Without log-probabilities it is 1 or 0, by the word that was written. A chat is preferred where there is one.
    """
    writing = model.probe.chat or model.writing
    options: Mapping[str, Any] = {"max_tokens": TOKENS, "temperature": 0.0}
    written = asker.write(prompts, [options] * len(prompts), writing, advance)
    values, reasons = [], []
    for answer in written:
        value = math.nan if isinstance(answer, Missing) else yes_probability(answer)
        values.append(value)
        reasons.append(answer.reason if isinstance(answer, Missing) else NO_ANSWER if math.isnan(value) else None)
    return np.array(values, dtype=np.float64), reasons


def yes_probability(answer: Written) -> float:
    """Return P(yes) of one answer; NaN if it says neither.

    >>> yes_probability(Written(" Yes, it is")), yes_probability(Written("I cannot say"))
    (1.0, nan)
    >>> round(yes_probability(Written("no", top={" no": math.log(0.6), "Yes": math.log(0.2), "maybe": -3.0})), 3)
    0.25
    """
    mass = {YES: 0.0, NO: 0.0}
    for token, value in (answer.top or {}).items():
        word = plain_token(token).strip().lower()
        if word in mass:
            mass[word] += math.exp(value)
    if min(mass.values()) > 0:
        return mass[YES] / sum(mass.values())
    words = answer.text.strip().lower().split()
    first = words[0].strip(".,!:;\"'*") if words else ""
    return {YES: 1.0, NO: 0.0}.get(first, math.nan)
