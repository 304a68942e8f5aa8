"""Checks of a server one by one: prompts in both orders, at once, longer and shuffled, what it writes, its first token."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tiltmeter.errors import UsageError
from tiltmeter.models.served.checks import (
    NOISIEST,
    TOLERANCE,
    Check,
    basic_checks,
    compare,
    covers,
    plain_token,
    resolution_check,
)
from tiltmeter.models.served.connection import Connection
from tiltmeter.models.served.description import Server
from tiltmeter.models.served.dialects import DIALECTS, Dialect, Scored, Writing, Written, first_choice
from tiltmeter.models.served.messages import Missing, Parse, Request
from tiltmeter.models.served.responses import TransientError

SENTENCES = ("The nurse said she was late for work.", "The nurse said he was late for work.")
SHUFFLED = "late she for nurse work. said The was"
START = (
    "My neighbour moved here many years ago with two small children. She worked at the hospital, and in the evenings she "
    "taught other people to read and write. Everyone in our street liked her, and when she was ill"
)
END = " somebody cooked for her every day."
CHAT_QUESTION = "Name a colour. Answer with one word."
OTHER_QUESTIONS = ("Is water wet, yes or no?", "Count from one to ten: one,")
LONG_ANSWER = 48
"""Tokens of answers that are compared where a server gives text alone."""
FIRST_TOKENS = ("<|endoftext|>", "<s>", "<|begin_of_text|>", "<bos>", "<|startoftext|>", "<|im_start|>", "[BOS]", "</s>")
"""Tokens that models are used to at the beginning of a text, where a server puts none there itself."""
CHATML = "<|im_start|>"
"""The first token of many chat models, whose base models have `<|endoftext|>`. Their tokenizers have both."""


@dataclass
class Prober:
    """One probe in progress."""

    connection: Connection
    checks: list[Check] = field(default_factory=list)
    noise: float = 0.0
    dialect: Dialect | None = None
    first_token: str | None = None
    is_prefix_ours: bool = False

    @property
    def model(self) -> str:
        """The name that is sent."""
        return self.connection.address.model

    def add(self, *checks: Check) -> None:
        """Record results."""
        self.checks.extend(checks)

    def passed(self, names: Sequence[str]) -> bool:
        """Return whether all of these checks were made and passed."""
        found = {check.name: check.passed for check in self.checks}
        return all(found.get(name, False) for name in names)

    @property
    def allowed(self) -> float:
        """Return by how much two sums may differ."""
        return max(TOLERANCE, 4 * min(self.noise, NOISIEST))

    def score(self, text: str, temperature: float = 1.0) -> Scored:
        """Ask for the log-probabilities of a text, in the dialect that was found; NaN where the answer has none."""
        assert self.dialect is not None
        try:
            return self._scored(self.dialect, text, temperature)[0]
        except TransientError:
            return Scored((), ())

    def _scored(self, dialect: Dialect, text: str, temperature: float = 1.0) -> tuple[Scored, int | None]:
        content = self.connection.ask(dialect.request(self.model, text, temperature), _whole, retries=4)
        if isinstance(content, Missing):
            raise TransientError(content.reason)
        scored = dialect.read(content)
        counted = (content.get("usage") or {}).get("prompt_tokens")
        return scored, counted if isinstance(counted, int) else None

    def _at_once(self, requests: Sequence[Request], parse: Parse) -> list[Any]:
        """Send requests together, as those of a benchmark are sent; Missing where a server gives no answer."""
        answers: dict[int, Any] = {}
        parses = dict.fromkeys(range(len(requests)), parse)
        self.connection.ask_all(iter(enumerate(requests)), parses, answers.__setitem__, retries=4)
        return [answers[number] for number in range(len(requests))]

    def check_prompt(self, server: Server) -> float:
        """Make all checks of prompt log-probabilities; return the sum of the first sentence."""
        found = self._find_dialect(server)
        if found is None:
            if self.connection.options.first_token is not None:
                raise self._inapplicable("the server gives no log-probabilities of the prompt")
            return math.nan
        one, n_tokens = found
        self.add(*basic_checks(one, SENTENCES[0], n_tokens))
        again, *others = (self.score(SENTENCES[at]) for at in (0, 1, 1, 0))
        self._check_repeats(one, again)
        self._check_order(again, others)
        start, first, second, whole, mixed = self._scored_at_once((START, *SENTENCES, START + END, SHUFFLED))
        self._check_together((total(again), total(others[1])), (total(first), total(second)))
        self._check_additivity(start, whole)
        self._check_shuffled(one, mixed)
        self.add(resolution_check((one, whole, mixed)))
        warm = self.score(SENTENCES[0], 0.5)
        self.add(compare("temperature", total(one), total(warm), self.allowed, "sums at temperature 1 and 0.5"))
        self._check_first_token(one)
        return total(one)

    def _find_dialect(self, server: Server) -> tuple[Scored, int | None] | None:
        reasons = []
        for dialect in DIALECTS:
            if dialect.name == "generate" and server.name != "SGLang":
                continue
            try:
                scored, n_tokens = self._scored(dialect, SENTENCES[0])
            except TransientError as error:
                reasons.append(str(error))
                continue
            if len(scored.tokens) < 2:
                reasons.append(f"{dialect.name} is ignored: the answer has no log-probabilities of the prompt")
                continue
            self.dialect = dialect
            self.add(Check("echo", True, f"log-probabilities of the prompt by {dialect.name}"))
            return scored, n_tokens
        self.add(Check("echo", False, reasons[0] if reasons else "the answer has no log-probabilities of the prompt"))
        return None

    def _check_repeats(self, first: Scored, again: Scored) -> None:
        self.noise = abs(total(first) - total(again))
        passed = self.noise <= NOISIEST
        self.add(Check("repeats", passed, f"two repeats differ by {self.noise:.2g}"))
        self.noise = self.noise if math.isfinite(self.noise) else math.inf

    def _check_order(self, first: Scored, others: Sequence[Scored]) -> None:
        differences = [abs(total(first) - total(others[2])), abs(total(others[0]) - total(others[1]))]  # of each sentence
        worst = max(differences) if all(map(math.isfinite, differences)) else math.nan
        passed = worst <= self.allowed
        self.add(Check("order", passed, f"two prompts in both orders differ by {worst:.2g}"))

    def _scored_at_once(self, texts: Sequence[str]) -> list[Scored]:
        dialect = self.dialect
        assert dialect is not None
        found = self._at_once([dialect.request(self.model, text, 1.0) for text in texts], dialect.read)
        return [Scored((), ()) if isinstance(one, Missing) else one for one in found]

    def _check_together(self, singly: Sequence[float], together: Sequence[float]) -> None:
        """Check that an answer does not depend on requests at the same time. The difference is noise of batches."""
        apart = [abs(one - other) for one, other in zip(singly, together, strict=True)]
        worst = max(apart) if all(map(math.isfinite, apart)) else math.inf
        self.noise = max(self.noise, worst)
        passed = worst <= NOISIEST
        detail = f"prompts sent alone and at once differ by {worst:.2g}" + ("" if passed else "; try --concurrency 1")
        self.add(Check("together", passed, detail))

    def _check_additivity(self, start: Scored, whole: Scored) -> None:
        n = len(start.tokens)
        is_prefix = n > 1 and whole.tokens[:n] == start.tokens and covers(whole.tokens[-2:], whole.tokens[-2] + ".")
        if not is_prefix or len(whole.tokens) <= n:
            self.add(Check("additivity", False, "a longer prompt does not begin with the tokens of the shorter one"))
            return
        left, right = total(whole) - total(start), sum(whole.logprobs[n:])
        self.add(compare("additivity", left, right, self.allowed, "log p(ab) − log p(a) and the sum over b"))

    def _check_shuffled(self, scored: Scored, mixed: Scored) -> None:
        passed = bool(total(mixed) < total(scored) - self.allowed)
        self.add(Check("shuffled", passed, f"a sentence {total(scored):.2f}, its words shuffled {total(mixed):.2f}"))

    def check_generated(self, writing: Writing | None) -> None:
        """Check that a written token's log-probability is that of the token when it is echoed."""
        if writing is None:
            self.add(Check("generated", False, "the server writes no completions"))
            return
        written = self.write(writing, START)
        if not isinstance(written, Written) or not written.text or math.isnan(written.first):
            self.add(Check("generated", False, "a written token has no log-probability"))
            return
        echoed = self.score(START + written.text)
        last = echoed.logprobs[-1] if echoed.logprobs else math.nan
        self.add(compare("generated", written.first, last, self.allowed, "a token as it is written and as it is echoed"))

    def check_answers(self, writing: Writing) -> float:
        """Check that answers depend on the question, and not on requests at the same time.

        For servers whose answers do not show the prompt. Return the first token's log-probability; NaN for text alone.
        """
        first = self.first_of(writing)
        options = {"max_tokens": 1 if writing.top else LONG_ANSWER, "temperature": 0.0}
        questions = (CHAT_QUESTION, *OTHER_QUESTIONS)
        requests = [writing.request(self.model, question, options) for question in questions]
        found = [one for one in self._at_once(requests, writing.read) if isinstance(one, Written)]
        answers = {(one.text.strip(), str(one.top)) for one in found}
        varies = len(answers) > 1 or ("", "None") in answers
        detail = "different questions have different answers" if varies else "every question has the same answer"
        self.add(Check("varies", varies, detail))
        if writing.top and self.dialect is None and found:
            self._check_together([first], [found[0].first])
        return first

    def first_of(self, writing: Writing) -> float:
        """Return the log-probability of the likeliest first token of an answer; NaN for text alone."""
        written = self.write(writing, CHAT_QUESTION) if writing.top else None
        return written.first if isinstance(written, Written) else math.nan

    def _check_first_token(self, scored: Scored) -> None:
        tokens, values = scored.tokens, scored.logprobs
        if len(tokens) < 3 or not math.isnan(values[0]):
            self.add(Check("first-token", False, "the first token has a log-probability: something unseen precedes it"))
            return
        if not covers(tokens, SENTENCES[0]) and covers(tokens[1:], SENTENCES[0]):
            is_double = plain_token(tokens[0]).strip() == plain_token(tokens[1]).strip()
            self.first_token = tokens[0]
            if self.connection.options.first_token not in (None, tokens[0]):
                raise self._inapplicable(f"the server puts {tokens[0]!r} first itself")
            self.add(Check("first-token", not is_double, f"{tokens[0]!r} stands first"))
            return
        wanted = self.connection.options.first_token
        for token in FIRST_TOKENS if wanted is None else (wanted,):
            if self._is_token(token, tokens):
                self.first_token, self.is_prefix_ours = token, True
                other = wanted is None and token != CHATML and self._is_token(CHATML, tokens)
                more = f"; {CHATML!r} is known, too: --first-token chooses" if other else ""
                self.add(Check("first-token", True, f"the server puts none first; {token!r} is sent in front{more}"))
                return
        if wanted is not None:
            raise self._inapplicable(f"{wanted!r} is not one token of {self.model}")
        self.add(Check("first-token", True, "no token stands first: the first token of a text has no log-probability"))

    def _is_token(self, token: str, tokens: Sequence[str]) -> bool:
        """Return whether a text is one token that changes no other of the first sentence."""
        longer = self.score(token + SENTENCES[0])
        return len(longer.tokens) == len(tokens) + 1 and longer.tokens[2:] == tokens[1:]

    def _inapplicable(self, why: str) -> UsageError:
        return UsageError(
            f"--first-token does not apply: {why}.", code="inapplicable-option", option="--first-token", model=self.model
        )

    def write(self, writing: Writing, prompt: str, **options: Any) -> Written | Missing:
        """Ask for one token; Missing where the server gives none."""
        request = writing.request(self.model, prompt, {"max_tokens": 1, "temperature": 0.0, **options})
        content = self.connection.ask(request, _whole, retries=2)
        if isinstance(content, Missing):
            return content
        try:
            return writing.read(content)
        except TransientError as error:
            return Missing(str(error))


def _whole(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Refuse an answer without any choice: that is a failure, and says nothing of what a server can do."""
    if not first_choice(content) and "meta_info" not in content:
        raise TransientError("the answer has no choices")
    return content


def total(scored: Scored) -> float:
    """Return the sum of all but the first; NaN for nothing.

    >>> total(Scored(("a", "b", "c"), (math.nan, -1.0, -2.0)))
    -3.0
    """
    return scored.total if len(scored.logprobs) > 1 else math.nan
