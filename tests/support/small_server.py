"""A small OpenAI-compatible server that can misbehave on purpose. `python tests/support/small_server.py --port 8001`.

It computes the log-probabilities of a real distribution. Each of its faults is one that real servers have, or could have.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import math
import sys
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.small_models import BOS, CausalModel, CountModel, Model

SILENT = (
    "one-row-late", "echo-ignored", "order-dependent", "repeated-row", "temperature", "double-bos", "hidden-bos",
    "truncated", "nan", "wrong-count", "positive", "null-logprobs", "other-tokens", "crosstalk", "rounded", "cut-off",
    "constant",
)  # fmt: skip
"""Faults of answers that look right."""
PASSING = ("error-200", "slow", "trickle", "429", "500", "503", "cut", "half-json", "html", "no-choices")
"""Faults that a retry overcomes: of every request, the first `times` attempts."""
REFUSAL = "I'm sorry, but I can't help with that."
"""What a chat answers where a prompt holds `refuses`; a completion is filtered there."""
MARK = b"times that"
"""What the prompts hold that /stats counts: those of a benchmark, without those of the probe."""
PROBED = (b"nurse", b"neighbour", b"colour")
"""Words of the probe, which "quotes-key" answers; it refuses all else and quotes the headers."""
LOWEST = -6.0
"""The smallest log-probability that "cut-off" gives."""
STATES = (
    "wrong-key", "unknown-model", "always-html", "chat-only", "no-logprobs", "model-changed", "filter", "rejects-long",
    "cookies", "quotes-key", "constant-chat",
)  # fmt: skip


class SmallServer:
    """Serves one model under one name."""

    def __init__(
        self,
        model: Model | None = None,
        *,
        name: str = "small",
        fault: str = "",
        times: int = 2,
        rate: float = 1.0,
        key: str = "",
        delay: float = 0.0,
        refuses: str = "",
    ) -> None:
        assert not fault or fault in (*SILENT, *PASSING, *STATES), fault
        self.model, self.name, self.fault = model or CountModel(), name, fault
        self.times, self.rate, self.key, self.delay = times, rate, key, delay
        self.refuses = refuses
        self.seen: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.marked: set[str] = set()
        self.requests = 0
        self.before: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.fingerprint = "fp-1"
        self.in_flight = 0
        self.is_crowded = False
        self.canned: dict[str, tuple[int, dict[str, Any]]] = {}
        self.port = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def url(self) -> str:
        """What clients are given."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def address(self) -> str:
        """The model's address for `-m`."""
        return f"{self.url}#{self.name}"

    def __enter__(self) -> SmallServer:
        started = threading.Event()
        self._loop = asyncio.new_event_loop()

        def serve() -> None:
            assert self._loop is not None
            asyncio.set_event_loop(self._loop)
            self._loop.run_until_complete(self.start(0))
            started.set()
            self._loop.run_forever()

        self._thread = threading.Thread(target=serve, daemon=True)
        self._thread.start()
        started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0)  # closed connections end in the next round

    async def start(self, port: int) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                method, path, _ = line.decode().split(" ", 2)
                headers = {}
                while (head := await reader.readline()) not in (b"\r\n", b""):
                    name, _, value = head.decode().partition(":")
                    headers[name.strip().lower()] = value.strip()
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                if not await self._reply(writer, method, path, headers, body):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ValueError):
            pass
        finally:
            writer.close()

    async def _reply(
        self, writer: asyncio.StreamWriter, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> bool:
        self.headers = [*self.headers[-20:], headers]
        status, content, more = 200, b"", {}
        kind = "application/json"
        fault = self._passing(path, body) if method == "POST" else ""
        await self._wait()
        if (self.key and headers.get("authorization") != f"Bearer {self.key}") or self.fault == "wrong-key":
            status, content = 401, _error("Incorrect API key provided")
        elif fault == "slow":
            await asyncio.sleep(30)
        elif fault == "trickle":
            await _trickle(writer)
            return False
        elif fault in ("429", "500", "503"):
            status, content, more = int(fault), _error("try again"), {"Retry-After": "0.01"}
        elif fault == "error-200":
            content = _error("internal error")
        elif fault == "no-choices":
            content = json.dumps({"id": "x", "choices": []}).encode()
        elif fault == "html" or self.fault == "always-html":
            kind, content = "text/html", b"<html><body>Please sign in</body></html>"
        else:
            status, answer = self._answer(method, path, body)
            content = json.dumps(answer).encode()
            if method == "POST" and status == 200:
                self.answered[_digest(path, body)] += 1
                if MARK in body:
                    self.marked.add(_digest(path, body))
        if fault == "half-json":
            content = content[: len(content) // 2]
        more |= {"Set-Cookie": f"session={self.requests}; Path=/"} if self.fault == "cookies" else {}
        extra = "".join(f"{name}: {value}\r\n" for name, value in more.items())
        head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n{extra}Content-Length: {len(content)}\r\n\r\n".encode()
        if fault == "cut":
            writer.write(head + content[: len(content) // 2])
            await writer.drain()
            return False
        writer.write(head + content)
        await writer.drain()
        return True

    async def _wait(self) -> None:
        self.in_flight += 1
        if self.delay or self.fault == "crosstalk":
            await asyncio.sleep(self.delay or 0.01)
        self.is_crowded = self.fault == "crosstalk" and self.in_flight > 1
        self.in_flight -= 1

    def _passing(self, path: str, body: bytes) -> str:
        """The fault of this attempt, if it has one."""
        self.requests += 1
        name = _digest(path, body)
        self.seen[name] += 1
        if self.fault not in PASSING or self.seen[name] > self.times:
            return ""
        share = int(hashlib.sha256(f"{name}{self.seen[name]}".encode()).hexdigest()[:8], 16) / 16**8
        return self.fault if share < self.rate else ""

    def _answer(self, method: str, path: str, body: bytes) -> tuple[int, dict[str, Any]]:
        if method == "GET":
            return self._page(path)
        asked = json.loads(body)
        if asked.get("model") != self.name or self.fault == "unknown-model":
            return 404, {"error": {"message": f"The model `{asked.get('model')}` does not exist."}}
        if self.fault == "rejects-long" and len(asked.get("prompt", "")) > 300:
            return 400, {"error": {"message": "This model's maximum context length is exceeded."}}
        if self.fault == "quotes-key" and not any(word in body for word in PROBED):
            return 400, {"error": {"message": f"Bad request with {self.headers[-1]}"}}
        pages = {"/v1/completions": self._completion, "/v1/chat/completions": self._chat, "/tokenize": self._tokens}
        if path not in pages or (path == "/v1/completions" and self.fault in ("chat-only", "constant-chat")):
            return 404, {"error": {"message": "Not Found"}}
        answer = 200, pages[path](asked)
        return self.canned.setdefault(path, answer) if "constant" in self.fault else answer

    def _tokens(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        return {"tokens": [self.model.id_of(token) for token in self.model.tokenize(asked["prompt"])]}

    def _page(self, path: str) -> tuple[int, dict[str, Any]]:
        if path == "/v1/models":
            return 200, {"data": [{"id": self.name, "owned_by": "small"}]}
        if path == "/stats":
            marked = [count for name, count in self.answered.items() if name in self.marked]
            return 200, {"requests": self.requests, "answered": len(marked), "answered_again": sum(marked) - len(marked)}
        return 404, {"error": {"message": "Not Found"}}

    def _completion(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        prompt = asked["prompt"]
        tokens = self.model.tokenize(prompt)
        if self.fault == "truncated":
            tokens = tokens[:12]
        read = (
            [BOS, BOS, *tokens] if self.fault == "double-bos" else [BOS, *tokens] if self.fault == "hidden-bos" else tokens
        )
        rows = self.model.rows(read) if read else [{BOS: 0.0}]
        heat = float(asked.get("temperature", 1.0))
        written, values, tops = self._written(asked, read, rows, prompt)
        found: dict[str, Any] = {"tokens": written, "token_logprobs": values, "top_logprobs": tops}
        if asked.get("echo") and self.fault != "echo-ignored":
            before = self._prompt_values(read, rows, heat)
            shown = list(read)
            if self.fault == "hidden-bos":
                shown, before = shown[1:], before[1:]
            if self.fault == "wrong-count":
                shown, before = shown[:-1], before[:-1]
            if self.fault == "other-tokens":
                shown = ["x"] * len(shown)
            found = {
                "tokens": shown + written,
                "token_logprobs": before + values,
                "top_logprobs": [None] * len(shown) + tops,
            }
        self.before = list(tokens)
        choice = {"text": "".join(written), "finish_reason": "length", "index": 0}
        if self.fault == "filter" and "?" in prompt and len(prompt) % 3 == 0:
            choice |= {"text": "", "finish_reason": "content_filter"}
        if self.refuses and self.refuses in prompt:
            choice |= {"text": "", "finish_reason": "content_filter"}
        if asked.get("logprobs") is not None and self.fault not in ("no-logprobs",):
            choice["logprobs"] = None if self.fault == "null-logprobs" else found
        return self._whole([choice], len(read) - (self.fault == "hidden-bos"), len(written))

    def _prompt_values(self, read: Sequence[str], rows: Sequence[Mapping[str, float]], heat: float) -> list[float | None]:
        late = 0 if self.fault == "one-row-late" else 1
        values: list[float | None] = [None]
        for at in range(1, len(read)):
            row = rows[0] if self.fault == "repeated-row" else rows[at - late]
            value = row[read[at]]
            if self.fault == "temperature" and heat:
                value = value / heat - math.log(sum(math.exp(each / heat) for _, each in row.items()))
            values.append(value)
        if self.fault == "repeated-row":
            values[1:] = [values[1]] * (len(values) - 1)
        if self.is_crowded and values[1:]:
            values[-1] = (values[-1] or 0.0) - 1.5
        if self.fault == "rounded":
            values[1:] = [round(value or 0.0, 2) for value in values[1:]]
        if self.fault == "cut-off":
            values[1:] = [max(value or 0.0, LOWEST) for value in values[1:]]
        if self.fault == "order-dependent" and self.before and self.before != list(read):
            values[-1] = (values[-1] or 0.0) - 1.5
        if self.fault == "nan":
            values[len(values) // 2] = float("nan")
        if self.fault == "positive":
            values[-1] = 0.7
        return values

    def _written(
        self, asked: Mapping[str, Any], read: Sequence[str], rows: Sequence[Mapping[str, float]], prompt: str
    ) -> tuple[list[str], list[float], list[dict[str, float]]]:
        """Greedy text, or for a temperature above 0 one that depends on the seed."""
        tokens, values, tops = list(read), [], []
        row = rows[-1]
        for step in range(int(asked.get("max_tokens", 1))):
            best = sorted(row.items(), key=lambda entry: -entry[1])[: max(20, int(asked.get("logprobs") or 0))]
            number = 0
            if asked.get("temperature", 1.0) and not asked.get("echo"):
                drawn = hashlib.sha256(f"{asked.get('seed')} {prompt} {step}".encode()).hexdigest()
                number = int(drawn[:4], 16) % min(5, len(best))
            token, value = best[number]
            top = dict(best[: int(asked.get("logprobs") or 0)])
            for wanted in asked.get("logprob_token_ids") or ():
                top |= {name: row[name] for name in row if self.model.id_of(name) == wanted}
            tokens.append(token)
            values.append(value)
            tops.append(top)
            if step + 1 < int(asked.get("max_tokens", 1)):
                row = self.model.rows(tokens)[-1]
        return tokens[len(read) :], values, tops

    def _chat(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        prompt = asked["messages"][-1]["content"]
        tail = " Is it true?" if "yes or no" in prompt else " Answer:"
        tokens = self.model.tokenize(f"{BOS}{prompt}{tail}")
        top = int(asked.get("top_logprobs") or 0)
        written, values, tops = self._written({**asked, "logprobs": top}, tokens, self.model.rows(tokens), prompt)
        content = [
            {"token": token, "logprob": value, "top_logprobs": [{"token": a, "logprob": b} for a, b in best.items()]}
            for token, value, best in zip(written, values, tops, strict=True)
        ]
        choice: dict[str, Any] = {"message": {"role": "assistant", "content": "".join(written)}, "finish_reason": "stop"}
        if self.refuses and self.refuses in prompt:
            choice["message"]["content"] = REFUSAL
        elif asked.get("logprobs") and self.fault not in ("no-logprobs", "constant-chat"):
            choice["logprobs"] = {"content": content}
        return self._whole([choice], len(tokens), len(written))

    def _whole(self, choices: list[dict[str, Any]], n_prompt: int, n_written: int) -> dict[str, Any]:
        name = "another" if self.fault == "model-changed" and self.requests > 40 else self.name
        usage = {"prompt_tokens": n_prompt, "completion_tokens": n_written}
        return {"model": name, "system_fingerprint": self.fingerprint, "choices": choices, "usage": usage}


def _digest(path: str, body: bytes) -> str:
    return hashlib.sha256(path.encode() + body).hexdigest()[:24]


async def _trickle(writer: asyncio.StreamWriter) -> None:
    """Begin an answer, and go on for half a minute."""
    writer.write(b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(600):
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


def _error(message: str) -> bytes:
    return json.dumps({"error": {"message": message}}).encode()


def main() -> None:
    """Serve until killed; the first line of output is the port."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--model", help="a folder; default: the model of word counts")
    parser.add_argument("--name", default="small")
    parser.add_argument("--fault", default="")
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--delay", type=float, default=0.0)
    options = parser.parse_args()
    model = CausalModel(options.model) if options.model else None
    server = SmallServer(
        model, name=options.name, fault=options.fault, times=options.times, rate=options.rate, delay=options.delay
    )

    async def serve() -> None:
        await server.start(options.port)
        print(server.port, flush=True)
        await asyncio.Event().wait()

    asyncio.run(serve())


if __name__ == "__main__":
    main()
