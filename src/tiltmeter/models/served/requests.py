"""Requests to a served model: texts, choices and prompts in, answers out; each answer is journaled as it comes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tiltmeter.display import number_text
from tiltmeter.models.served.checks import plain_token, problem_of
from tiltmeter.models.served.connection import Connection
from tiltmeter.models.served.dialects import Scored, Writing, Written
from tiltmeter.models.served.journal import Journal
from tiltmeter.models.served.messages import Missing, Request
from tiltmeter.models.served.probe import Probe, token_ids
from tiltmeter.models.served.responses import TransientError

NOT_AMONG_TOP = "an answer is not among the likeliest tokens that the server gives"
MERGED = "the server's tokenizer joins the prompt and the answer"
Advance = Callable[..., None]
Parse = Callable[[Mapping[str, Any]], Any]


class Asker:
    """One served model and its journal. `sent`: how many requests were not found there."""

    def __init__(self, connection: Connection, probe: Probe, journal: Journal) -> None:
        self.connection, self.probe, self.journal = connection, probe, journal
        self.sent = self.reused = 0
        self._ids: dict[str, int] = {}

    @property
    def note(self) -> str:
        """The cost so far, for a progress bar; empty without a price."""
        budget = self.connection.budget
        return f"cost {number_text(budget.cost, 2)}" if budget.options.price else ""

    def logprobs(self, texts: Sequence[str], advance: Advance = lambda *_: None) -> list[Scored | Missing]:
        """Ask for the log-probabilities of texts. The first token of each belongs to the text unless one is put before."""
        dialect, model = self.probe.dialect, self.connection.address.model
        assert dialect is not None
        prefix = self.probe.first_token if self.probe.is_prefix_ours and self.probe.first_token else ""
        requests = [dialect.request(model, prefix + text, 1.0) for text in texts]

        def reader(text: str) -> Parse:
            def read(content: Mapping[str, Any]) -> dict[str, Any]:
                scored = dialect.read(content)
                if problem := problem_of(scored, text, self.probe.first_token):
                    raise TransientError(problem)
                values = [None if math.isnan(value) else value for value in scored.logprobs]
                return {"tokens": list(scored.tokens), "logprobs": values}

            return read

        found = self._all(requests, [reader(text) for text in texts], advance)
        return [answer if isinstance(answer, Missing) else _scored(answer) for answer in found]

    def write(
        self,
        prompts: Sequence[str],
        options: Sequence[Mapping[str, Any]],
        writing: Writing,
        advance: Advance = lambda *_: None,
    ) -> list[Written | Missing]:
        """Ask for texts. `options`: those of each request, in OpenAI's names."""
        model = self.connection.address.model
        requests = [writing.request(model, prompt, own) for prompt, own in zip(prompts, options, strict=True)]

        def read(content: Mapping[str, Any]) -> dict[str, Any]:
            written = writing.read(content)
            return {name: _plain(value) for name, value in vars(written).items()}

        found = self._all(requests, [read] * len(requests), advance)
        return [answer if isinstance(answer, Missing) else _written(answer) for answer in found]

    def choices(
        self, prompts: Sequence[str], continuations: Sequence[Sequence[str]], *, chat: bool = False
    ) -> list[list[float] | Missing]:
        """Ask for the log-probability of each continuation of each prompt: single tokens such as " A"."""
        if self.probe.can_choose and not chat and min(map(min, ids := self._chosen_ids(continuations)), default=0) >= 0:
            return self._by_top(prompts, continuations, ids, chat)
        if self.probe.capability == "prompt" and not chat:
            found = self.continuations(prompts, continuations)
            return [one if isinstance(one, Missing) else [sum(values) for values in one] for one in found]
        return self._by_top(prompts, continuations, None, chat)

    def continuations(
        self, prompts: Sequence[str], continuations: Sequence[Sequence[str]], advance: Advance = lambda *_: None
    ) -> list[list[list[float]] | Missing]:
        """Ask for the log-probabilities of the tokens of each continuation of each prompt, by echoing both together."""
        starts = self.logprobs(prompts)
        wholes = iter(
            self.logprobs(
                [prompt + each for prompt, some in zip(prompts, continuations, strict=True) for each in some], advance
            )
        )
        values: list[list[list[float]] | Missing] = []
        for start, some in zip(starts, continuations, strict=True):
            own = [next(wholes) for _ in some]
            lacking = next((each for each in (start, *own) if isinstance(each, Missing)), None)
            values.append(lacking or _behind(start, own))  # type: ignore[arg-type]
        return values

    def _chosen_ids(self, continuations: Sequence[Sequence[str]]) -> list[list[int]]:
        wanted = sorted({each for some in continuations for each in some} - set(self._ids))
        for text, ids in zip(wanted, token_ids(self.connection, wanted), strict=True):
            self._ids[text] = ids[0] if len(ids) == 1 else -1
        return [[self._ids[each] for each in some] for some in continuations]

    def _by_top(
        self, prompts: Sequence[str], continuations: Sequence[Sequence[str]], ids: list[list[int]] | None, chat: bool
    ) -> list[list[float] | Missing]:
        """Read continuations among the likeliest first tokens, or among those that were chosen by their ids."""
        writing = self.probe.chat if chat else self.probe.completion or self.probe.chat
        assert writing is not None
        plain = {"max_tokens": 1, "temperature": 0.0}
        options = [plain | {"logprob_token_ids": own} for own in ids] if ids else [plain] * len(prompts)
        prefix = self.probe.first_token or "" if self.probe.is_prefix_ours and not writing.chat else ""
        written = self.write([prefix + prompt for prompt in prompts], options, writing)
        results: list[list[float] | Missing] = []
        for answer, some in zip(written, continuations, strict=True):
            if isinstance(answer, Missing):
                results.append(answer)
                continue
            top = _by_text(answer.top or {}, keep_space=not writing.chat)
            values = [top.get(each if not writing.chat else each.strip(), math.nan) for each in some]
            results.append(Missing(NOT_AMONG_TOP) if any(map(math.isnan, values)) else values)
        return results

    def _all(self, requests: Sequence[Request], parses: Sequence[Parse], advance: Advance) -> list[Any]:
        """Answer requests from the journal or by the server. Equal requests are sent once."""
        keys = [request.key for request in requests]
        places: dict[str, list[int]] = {}
        for place, key in enumerate(keys):
            places.setdefault(key, []).append(place)
        answers: dict[str, Any] = {}

        def keep(place: int, answer: Any) -> None:
            key = keys[place]
            if isinstance(answer, Missing):
                if answer.is_final:
                    self.journal.add(key, {"missing": answer.reason})
            else:
                self.journal.add(key, answer)
            answers[key] = answer
            self.sent += 1
            self._advance(advance, len(places[key]))

        def jobs() -> Iterator[tuple[int, Request]]:
            for key, (first, *_) in places.items():
                known = self.journal.find(key)
                if known is None:
                    yield first, requests[first]
                    continue
                answers[key] = Missing(known["missing"], is_final=True) if "missing" in known else known
                self.reused += 1
                self._advance(advance, len(places[key]))

        self.connection.ask_all(jobs(), dict(enumerate(parses)), keep)
        return [answers[key] for key in keys]

    def _advance(self, advance: Advance, n: int) -> None:
        advance(n, self.note) if self.note else advance(n)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _by_text(top: Mapping[str, float], *, keep_space: bool) -> dict[str, float]:
    best: dict[str, float] = {}
    for token, value in top.items():
        text = plain_token(token) if keep_space else plain_token(token).strip()
        best[text] = max(value, best.get(text, -math.inf))
    return best


def _behind(start: Scored, wholes: Sequence[Scored]) -> list[list[float]] | Missing:
    """Return the log-probabilities of what follows the tokens of the prompt."""
    n = len(start.tokens)
    if any(whole.tokens[:n] != start.tokens or len(whole.tokens) <= n for whole in wholes):
        return Missing(MERGED, is_final=True)
    return [list(whole.logprobs[n:]) for whole in wholes]


def _scored(answer: Mapping[str, Any]) -> Scored:
    values = tuple(math.nan if value is None else float(value) for value in answer["logprobs"])
    return Scored(tuple(answer["tokens"]), values)


def _written(answer: Mapping[str, Any]) -> Written:
    numbers = {name: math.nan if answer[name] is None else float(answer[name]) for name in ("logprob", "first")}
    return Written(**{**answer, **numbers})
