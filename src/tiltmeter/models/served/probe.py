"""The probe: some ten requests that show what a server can be believed about, before the first item is sent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.errors import ServerError
from tiltmeter.models.served.checks import TOLERANCE, Check, compare, plain_token
from tiltmeter.models.served.connection import Connection
from tiltmeter.models.served.description import Server, describe_server
from tiltmeter.models.served.dialects import TOP, Dialect, Writing, Written
from tiltmeter.models.served.messages import Missing, Request
from tiltmeter.models.served.prober import CHAT_QUESTION, START, Prober

CAPABILITIES = ("prompt", "chosen", "top-k", "text")
ABILITIES = {
    "prompt": frozenset({"prompt_logprobs", "choice_logprobs", "top_logprobs", "text", "answers"}),
    "chosen": frozenset({"choice_logprobs", "top_logprobs", "text", "answers"}),
    "top-k": frozenset({"top_logprobs", "text", "answers"}),
    "text": frozenset({"text", "answers"}),
}
OF_PROMPT = (
    "echo", "entries", "finite", "repeats", "order", "together", "additivity", "shuffled", "resolution", "generated",
    "temperature", "first-token",
)  # fmt: skip
"""The checks that a server must pass before its log-probabilities of texts are used."""


@dataclass(frozen=True)
class Probe:
    """Capabilities of a server, with reasons. `noise`: the largest difference between repeats, which is part of no key."""

    capability: str
    checks: tuple[Check, ...]
    server: Server
    dialect: Dialect | None = None
    completion: Writing | None = None
    chat: Writing | None = None
    first_token: str | None = None
    is_prefix_ours: bool = False
    can_choose: bool = False
    reference: float = math.nan
    """Log-probability of the first sentence, or of an answer's first token where prompts are not shown; NaN for text."""
    noise: float = 0.0
    versions: tuple[tuple[str, str], ...] = ()
    requests: int = 0

    @property
    def abilities(self) -> frozenset[str]:
        """The capabilities that families ask for."""
        return ABILITIES[self.capability] | ({"chat"} if self.chat else frozenset())

    @property
    def reason(self) -> str:
        """The first check that failed, in words; empty if none did."""
        failed = next((check for check in self.checks if not check.passed), None)
        return f"the check '{failed.name}' failed ({failed.detail})" if failed else ""

    def describe(self) -> dict[str, Any]:
        """Return the result as `tiltmeter probe --json` prints it."""
        checks = [{"name": check.name, "passed": check.passed, "detail": check.detail} for check in self.checks]
        return {
            "capability": self.capability, "checks": checks, "server": self.server.name, "version": self.server.version,
            "first_token": self.first_token, "chat": self.chat is not None,
            "noise": self.noise if math.isfinite(self.noise) and self.dialect else None, "requests": self.requests,
        }  # fmt: skip


def probe_server(connection: Connection) -> Probe:
    """Probe a server.

    Raises:
        ServerError: nothing answers there, the key is wrong, the model is unknown, or it writes nothing at all.
    """
    server = describe_server(connection)
    prober = Prober(connection)
    reference = prober.check_prompt(server)
    completion = find_writing(prober, chat=False)
    chat = find_writing(prober, chat=True)
    if prober.dialect is not None:
        prober.check_generated(completion)
    if completion is None and chat is None:
        raise ServerError(
            f"{connection.address.source} answers neither completions nor chats. Does its path end in /v1?",
            code="no-text",
            url=connection.address.url,
        )
    if (writing := completion or chat) and not prober.passed(OF_PROMPT):
        reference = prober.check_answers(writing)
    can_choose = bool(completion and completion.top and _check_chosen(prober, completion, server))
    is_steady = all(check.passed for check in prober.checks if check.name == "together")
    best = max(one.top for one in (completion, chat) if one) if is_steady else 0
    prober.add(Check("top-k", best > 0, f"the {best} likeliest tokens" if best else "no likeliest tokens"))
    prober.add(Check("chat", chat is not None, "answers chats" if chat else "answers no chats"))
    capability = "prompt" if prober.passed(OF_PROMPT) else "chosen" if can_choose else "top-k" if best else "text"
    connection.is_fixed = True
    return Probe(
        capability, tuple(sorted(prober.checks, key=_order)), server, prober.dialect, completion, chat, prober.first_token,
        prober.is_prefix_ours, can_choose, reference, prober.noise, tuple(sorted(connection.versions)),
        connection.budget.requests,
    )  # fmt: skip


def find_writing(prober: Prober, *, chat: bool) -> Writing | None:
    """Find how a server writes: with as many likeliest tokens as it gives; None if it does not write so."""
    question = CHAT_QUESTION if chat else START
    for top in TOP:
        written = prober.write(Writing(chat, top), question)
        if isinstance(written, Written) and written.top and _is_sound(written):
            return Writing(chat, min(top, len(written.top)))
        if isinstance(written, Written):
            return Writing(chat)
        if not written.is_final:
            break
    return Writing(chat) if isinstance(prober.write(Writing(chat), question), Written) else None


def _is_sound(written: Written) -> bool:
    """Return whether the likeliest tokens are a part of a distribution, and the written one is among them."""
    values = list((written.top or {}).values())
    mass = sum(map(math.exp, values)) if all(map(math.isfinite, values)) else math.inf
    return mass <= 1.01 and abs(max(values) - written.first) < TOLERANCE


def _check_chosen(prober: Prober, completion: Writing, server: Server) -> bool:
    """Check vLLM's `logprob_token_ids`: a token that is not written has the log-probability that an echo gives it."""
    if server.name != "vLLM":
        return False
    ids = token_ids(prober.connection, [" the", " A"])
    if any(len(found) != 1 for found in ids):
        return False
    written = prober.write(completion, START, logprob_token_ids=[found[0] for found in ids])
    top = written.top if isinstance(written, Written) else None
    values = {plain_token(token): value for token, value in (top or {}).items()}
    passed = " A" in values and " the" in values and math.isfinite(values[" A"])
    if passed and prober.dialect is not None:
        echoed = prober.score(START + " A").logprobs
        prober.add(
            compare("chosen", values[" A"], echoed[-1] if echoed else math.nan, prober.allowed, "' A' chosen, echoed")
        )
        return prober.checks[-1].passed
    prober.add(Check("chosen", passed, "log-probabilities of chosen tokens"))
    return passed


def token_ids(connection: Connection, texts: Sequence[str]) -> list[list[int]]:
    """Ask vLLM for the ids of texts without special tokens; empty where it does not say."""
    found = []
    for text in texts:
        body = {"model": connection.address.model, "prompt": text, "add_special_tokens": False}
        content = connection.ask(Request("/tokenize", body, 0, 0))
        ids = [] if isinstance(content, Missing) else content.get("tokens")
        found.append([int(token) for token in ids] if isinstance(ids, list) else [])
    return found


def _order(check: Check) -> int:
    names = (*OF_PROMPT, "varies", "chosen", "top-k", "chat")
    return names.index(check.name)
