"""The budget of a run: requests and cost, estimated before and counted while a server answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tiltmeter.errors import ServerError
from tiltmeter.models.served.options import ServerOptions

CHARACTERS = 4
"""About so many characters make a token, until a server has counted them."""
MILLION = 1e6


@dataclass
class Budget:
    """Counts of what was sent and received. `reserved`: the estimated cost of requests that are in flight."""

    options: ServerOptions = field(default_factory=ServerOptions)
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    reserved: float = 0.0
    density: float = 1 / CHARACTERS
    """The most tokens that a character of a prompt had so far."""

    @property
    def cost(self) -> float:
        """The cost so far; 0 without a price."""
        return price_of(self.options, self.tokens_in, self.tokens_out)

    def estimate(self, characters: int, new_tokens: int) -> float:
        """Estimate the cost of requests by the length of their prompts and the most that may be written."""
        return price_of(self.options, characters * self.density, new_tokens)

    def reserve(self, estimate: float) -> None:
        """Count a request that is about to be sent, or refuse to send it.

        Raises:
            ServerError: the budget would be exceeded (`budget-spent`).
        """
        most, limit = self.options.max_requests, self.options.max_cost
        if most is not None and self.requests >= most:
            raise self._spent("--max-requests", most)
        if limit is not None and self.cost + self.reserved + estimate > limit:
            raise self._spent("--max-cost", limit)
        self.requests += 1
        self.reserved += estimate

    def settle(self, estimate: float, usage: Mapping[str, Any] | None, characters: int, new_tokens: int) -> None:
        """Replace the estimate of a request by what the server counted, or by lengths where it counts nothing."""
        self.release(estimate)
        usage = usage or {}
        read = int(usage.get("prompt_tokens") or -(-characters // CHARACTERS))
        self.density = max(self.density, read / characters if characters else 0.0)
        self.tokens_in += read
        self.tokens_out += int(usage.get("completion_tokens") or new_tokens)

    def release(self, estimate: float) -> None:
        """Take back the estimate of a request without an answer."""
        self.reserved = max(0.0, self.reserved - estimate)

    def facts(self) -> dict[str, Any]:
        """Return the counts for the manifest."""
        counts = {"requests": self.requests, "prompt_tokens": self.tokens_in, "completion_tokens": self.tokens_out}
        return counts | ({"cost": round(self.cost, 6), "price": self.options.price} if self.options.price else {})

    def _spent(self, option: str, limit: float) -> ServerError:
        return ServerError(
            f"The budget is spent ({option} {limit:g}): {self.requests:,} requests were sent. Their answers are kept; run "
            "the same command with a larger budget to continue.",
            code="budget-spent",
            option=option,
            limit=limit,
            requests=self.requests,
        )


def price_of(options: ServerOptions, tokens_in: float, tokens_out: float) -> float:
    """Return the price of tokens.

    >>> price_of(ServerOptions(price="2,10"), 1e6, 5e5)
    7.0
    """
    of_prompt, of_answer = options.prices
    return (tokens_in * of_prompt + tokens_out * of_answer) / MILLION
