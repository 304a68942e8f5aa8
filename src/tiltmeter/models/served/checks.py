"""Checks of a server's log-probabilities: what a model's own must satisfy, whatever the model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tiltmeter.models.served.dialects import Scored

TOLERANCE = 0.05
"""Nats by which two sums may differ beyond the noise that repeats show: batches of half precision differ by less."""
NOISIEST = 0.2
"""Nats; a server whose repeats differ more is not believed."""
MARKS = {"▁": " ", "Ġ": " ", "Ċ": "\n"}
"""How tokenizers write spaces and new lines."""
UNREADABLE = ("�", "bytes:")
"""Signs in tokens that are parts of a character."""
SEPARATOR = "\0"
GRID = 1e-3
"""Nats. Log-probabilities that are all multiples of it are rounded, which makes ties."""


@dataclass(frozen=True)
class Check:
    """The result of one check, in words."""

    name: str
    passed: bool
    detail: str


def plain_token(token: str) -> str:
    """Return a token as text: with spaces where tokenizers write marks.

    >>> plain_token("▁nurse"), plain_token("Ġnurse"), plain_token(" nurse")
    (' nurse', ' nurse', ' nurse')
    """
    for mark, sign in MARKS.items():
        token = token.replace(mark, sign)
    return token


def joined(tokens: Sequence[str]) -> str | None:
    """Return the text of tokens; None where some are parts of a character, or have no text."""
    marked = SEPARATOR.join(tokens)  # once for all tokens: every answer is checked
    if not all(tokens) or any(part in marked for part in UNREADABLE):
        return None
    return plain_token("".join(tokens))


def covers(tokens: Sequence[str], text: str) -> bool:
    """Return whether tokens make up a text; True where that cannot be seen."""
    whole = joined(tokens)
    return whole is None or whole.strip() == text.strip()


def problem_of(scored: Scored, text: str, first_token: str | None) -> str | None:
    """Return what is wrong with the log-probabilities of a text, if anything is.

    Args:
        scored: all tokens that the server read.
        text: what was sent, without a first token of ours.
        first_token: the token that stands before every text; None if there is none.
    """
    body = scored.tokens[1:] if first_token is not None else scored.tokens
    values = scored.logprobs[1:]
    if not values or not covers(body, text):
        return "wrong number of entries: the tokens do not make up the text"
    if not all(map(math.isfinite, values)):
        return "the model's output was not a finite number"
    return "a log-probability is above 0" if max(values) > 1e-3 else None


def compare(name: str, left: float, right: float, allowed: float, what: str) -> Check:
    """Compare two numbers that should be equal."""
    difference = abs(left - right)
    passed = bool(difference <= allowed)  # False for NaN
    return Check(name, passed, f"{what}: {left:.4f} and {right:.4f}" + ("" if passed else f", {difference:.4f} apart"))


def basic_checks(scored: Scored, text: str, n_tokens: int | None) -> Iterator[Check]:
    """Check one answer by itself: as many entries as tokens, all but the first finite."""
    n = len(scored.tokens)
    matches = (n_tokens is None or n == n_tokens) and (covers(scored.tokens, text) or covers(scored.tokens[1:], text))
    counted = "" if n_tokens is None else f", {n_tokens} prompt tokens by its own count"
    yield Check("entries", matches, f"{n} entries{counted}" + ("" if matches else "; they do not make up the text"))
    values = scored.logprobs[1:]
    odd = sum(not (math.isfinite(value) and value <= 1e-3) for value in values)
    yield Check("finite", bool(values) and not odd, f"{len(values) - odd} of {len(values)} log-probabilities are finite")


def resolution_check(texts: Sequence[Scored]) -> Check:
    """Check that log-probabilities are neither rounded nor cut off at a smallest value.

    A model gives hardly ever two tokens the same value; the smallest one of several texts occurs once.

    >>> resolution_check([Scored(("a", "b", "c"), (math.nan, -1.25, -0.5))]).detail
    'log-probabilities have at most 3 decimals'
    >>> resolution_check([Scored(("a", "b", "c"), (math.nan, -9.0001, -9.0001))]).detail
    'the smallest log-probability, -9.00, occurs 2 times: values are cut off there'
    """
    values = [value for scored in texts for value in scored.logprobs[1:] if math.isfinite(value)]
    if not values or all(abs(value / GRID - round(value / GRID)) < GRID for value in values):
        return Check("resolution", False, "log-probabilities have at most 3 decimals")
    lowest, n = min(values), values.count(min(values))
    if n > 1:
        detail = f"the smallest log-probability, {lowest:.2f}, occurs {n} times: values are cut off there"
        return Check("resolution", False, detail)
    return Check("resolution", True, "log-probabilities are neither rounded nor cut off")
