"""Dialects: requests for log-probabilities and text, and their fields in a server's answer.

OpenAI's `echo` and `logprobs`, vLLM's `prompt_logprobs` and `logprob_token_ids`, SGLang's `/generate`, llama.cpp's lists.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.models.served.messages import Request
from tiltmeter.models.served.responses import TransientError

TOP = (20, 10, 5, 1)
"""Numbers of likeliest tokens that are tried, the largest first: OpenAI gives 20 in chats and 5 in completions."""
CONTENT_FILTER = "content_filter"


@dataclass(frozen=True)
class Scored:
    """The tokens of a text and their log-probabilities; NaN for the first, which follows nothing."""

    tokens: tuple[str, ...]
    logprobs: tuple[float, ...]

    @property
    def total(self) -> float:
        """The sum of all but the first."""
        return sum(self.logprobs[1:])


@dataclass(frozen=True)
class Written:
    """A text that was written. `top`: the likeliest first tokens. `is_filtered`: by the server's content filter."""

    text: str
    logprob: float = math.nan
    n_tokens: int = 0
    first: float = math.nan
    top: Mapping[str, float] | None = None
    is_filtered: bool = False


@dataclass(frozen=True)
class Dialect:
    """A way to ask for the log-probabilities of a prompt."""

    name: str
    field: str

    def request(self, model: str, text: str, temperature: float) -> Request:
        """Build the request for the log-probabilities of a text."""
        body: dict[str, Any] = {"model": model, "prompt": text, "max_tokens": 1, "temperature": temperature}
        if self.name == "echo":
            return Request("completions", body | {"echo": True, "logprobs": 1}, len(text))
        if self.name == "prompt_logprobs":
            return Request("completions", body | {"prompt_logprobs": 0, "return_token_ids": True}, len(text))
        sampling = {"max_new_tokens": 1, "temperature": temperature}
        more = {"return_logprob": True, "logprob_start_len": 0, "return_text_in_logprobs": True}
        return Request("/generate", {"text": text, "sampling_params": sampling, **more}, len(text))

    def read(self, content: Mapping[str, Any]) -> Scored:
        """Read the tokens of the prompt and their log-probabilities.

        Raises:
            TransientError: the answer has no such field, or one of another form.
        """
        try:
            found = READERS[self.name](content)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise TransientError(f"the answer has no {self.field}") from None
        return found


def first_choice(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the first of an answer's alternatives; empty where it has none."""
    found = content.get("choices")
    return found[0] if isinstance(found, list) and found and isinstance(found[0], dict) else {}


def _echo(content: Mapping[str, Any]) -> Scored:
    choice = first_choice(content)
    found = choice["logprobs"]
    tokens, values = list(map(str, found["tokens"])), list(map(_number, found["token_logprobs"]))
    usage = content.get("usage") or {}
    n = int(usage.get("prompt_tokens") or len(tokens) - 1)
    if len(tokens) != len(values):
        raise TransientError("the answer has another number of tokens than of log-probabilities")
    return Scored(tuple(tokens[:n]), tuple(values[:n]))


def _prompt_logprobs(content: Mapping[str, Any]) -> Scored:
    choice = first_choice(content)
    rows = choice.get("prompt_logprobs") or content["prompt_logprobs"]
    entries = [next(iter(row.values())) if row else {} for row in rows]
    tokens = [str(entry.get("decoded_token", "")) for entry in entries]
    return Scored(tuple(tokens), tuple(_number(entry.get("logprob")) for entry in entries))


def _generate(content: Mapping[str, Any]) -> Scored:
    rows = content["meta_info"]["input_token_logprobs"]
    return Scored(tuple(str(row[2] or "") for row in rows), tuple(_number(row[0]) for row in rows))


READERS = {"echo": _echo, "prompt_logprobs": _prompt_logprobs, "generate": _generate}
DIALECTS = (
    Dialect("echo", "log-probabilities of the prompt (echo)"),
    Dialect("prompt_logprobs", "prompt_logprobs"),
    Dialect("generate", "input_token_logprobs"),
)


@dataclass(frozen=True)
class Writing:
    """Form of a request for text: a completion or a chat, with so many likeliest tokens (0: none)."""

    chat: bool = False
    top: int = 0

    def request(self, model: str, prompt: str, options: Mapping[str, Any]) -> Request:
        """Build the request for a text. `options`: OpenAI's names of max_tokens, temperature, top_p, seed, stop."""
        body: dict[str, Any] = {"model": model, **options}
        if self.chat:
            body["messages"] = [{"role": "user", "content": prompt}]
            body |= {"logprobs": True, "top_logprobs": self.top} if self.top else {}
        else:
            body["prompt"] = prompt
            body |= {"logprobs": self.top} if self.top else {}
        path = "chat/completions" if self.chat else "completions"
        return Request(path, body, len(prompt), int(options.get("max_tokens", 1)))

    def read(self, content: Mapping[str, Any]) -> Written:
        """Read the text, and its log-probabilities where there are any."""
        try:
            choice = first_choice(content)
            message = choice.get("message") or {}
            text = message.get("content") if self.chat else choice.get("text")
            is_filtered = choice.get("finish_reason") == CONTENT_FILTER
            refusal = message.get("refusal")
            values, top = _of_tokens(choice.get("logprobs"))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise TransientError("the answer has no text") from None
        if not isinstance(text, str):
            if not (is_filtered or isinstance(refusal, str)):
                raise TransientError("the answer has no text")
            text = refusal if isinstance(refusal, str) else ""
        total = sum(values) if values else math.nan
        return Written(text, total, len(values), values[0] if values else math.nan, top, is_filtered)


def _of_tokens(logprobs: Any) -> tuple[list[float], dict[str, float] | None]:
    """Read the log-probabilities of written tokens, and the likeliest first tokens."""
    if not logprobs:
        return [], None
    rows = logprobs.get("content")
    if isinstance(rows, Sequence):  # chats, and completions of llama.cpp
        tops = rows[0].get("top_logprobs") or [] if rows else []
        return [_number(row["logprob"]) for row in rows], {str(one["token"]): _number(one["logprob"]) for one in tops}
    tops = logprobs.get("top_logprobs") or [{}]
    values = [_number(value) for value in logprobs.get("token_logprobs") or []]
    return values, {str(token): _number(value) for token, value in (tops[0] or {}).items()}


def _number(value: Any) -> float:
    """Read a number; null is NaN."""
    if isinstance(value, bool):
        raise ValueError(value)
    return math.nan if value is None else float(value)
