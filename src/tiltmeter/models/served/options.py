"""Options of requests to a server: time-outs, retries, headers, the budget."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from tiltmeter.errors import UsageError

RESERVED = ("authorization", "content-type", "content-length", "host")


@dataclass(frozen=True)
class ServerOptions:
    """Options of requests to a served model. `first_token` alone decides answers; the model's identity has it.

    Attributes:
        max_requests: stop after so many requests; answers that came are kept.
        max_cost: stop before so much is spent; needs a price.
        price: per million tokens, of prompts and of answers: `2.5,10`, or one number for both.
        timeout: seconds until a request counts as failed.
        retries: how often a failed request is sent again.
        concurrency: the most requests at a time; the number adapts below it.
        headers: NAME=VARIABLE, a header and the environment variable with its value, so that no value is stored.
        first_token: stands before every text where the server puts none there. Default: the first usual one it knows.
    """

    max_requests: int | None = None
    max_cost: float | None = None
    price: str | None = None
    timeout: float = 120.0
    retries: int = 6
    concurrency: int = 64
    headers: Sequence[str] = ()
    first_token: str | None = None

    def check(self) -> None:
        """Refuse numbers that mean nothing, before anything is sent."""
        low = {"max_requests": 1, "max_cost": 0, "timeout": 0, "retries": 0, "concurrency": 1}
        for name, least in low.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                flag = f"--{name.replace('_', '-')}"
                raise UsageError(f"{flag} must be at least {least}, not {value}.", code="out-of-range", option=flag)
        if self.max_cost is not None and self.price is None:
            raise UsageError("--max-cost needs --price, per million tokens: --price 2.5,10.", code="missing-value")
        _ = self.prices, self.header_values()

    @property
    def prices(self) -> tuple[float, float]:
        """The price of a million tokens of prompts, and of answers.

        >>> ServerOptions(price="2.5,10").prices, ServerOptions().prices
        ((2.5, 10.0), (0.0, 0.0))
        """
        parts = (self.price or "0").split(",")
        try:
            values = [float(part) for part in parts]
        except ValueError:
            values = []
        if len(values) not in (1, 2) or min(values) < 0 or not all(value < float("inf") for value in values):
            raise UsageError(f"--price is one or two numbers such as 2.5,10, not '{self.price}'.", code="wrong-format")
        return values[0], values[-1]

    def header_values(self) -> dict[str, str]:
        """Read the values of the headers from the environment."""
        found = {}
        for text in self.headers:
            name, sign, variable = text.partition("=")
            if not sign or not name.strip() or name.strip().lower() in RESERVED:
                raise UsageError(
                    "--header is NAME=VARIABLE, a header and the environment variable with its value.", code="wrong-format"
                )
            if variable.strip() not in os.environ:
                raise UsageError(
                    f"--header {name.strip()}: there is no such environment variable. Set it to the header's value, so that "
                    "the value is in no file.",
                    code="missing-value",
                    header=name.strip(),
                )
            found[name.strip()] = os.environ[variable.strip()]
        return found
