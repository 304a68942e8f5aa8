"""A connection to a server: requests in flight, retries with back-off, adaptive concurrency, the budget."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, TypeVar

from tiltmeter.errors import ServerError
from tiltmeter.models.served.address import OPENAI_KEY, Address
from tiltmeter.models.served.budget import Budget
from tiltmeter.models.served.concurrency import Limit
from tiltmeter.models.served.crowd import Crowd
from tiltmeter.models.served.messages import Missing, Parse, Request
from tiltmeter.models.served.options import ServerOptions
from tiltmeter.models.served.responses import RejectedError, TransientError, is_page, not_json, read_response

MOST_LOST = 8
"""Requests that fail for good one after another until the server counts as gone."""
T = TypeVar("T")


@cache
def running_loop() -> asyncio.AbstractEventLoop:
    """Return the loop of a thread of its own that all connections share, so that notebooks can use them, too."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="served models", daemon=True).start()
    return loop


def _close(client: Any) -> None:
    asyncio.run_coroutine_threadsafe(client.aclose(), running_loop())


class Connection:
    """One server: its client, how many requests may be in flight, what they cost, and which model answers."""

    def __init__(self, address: Address, options: ServerOptions, budget: Budget | None = None) -> None:
        options.check()
        self.address, self.options = address, options
        self.budget = budget or Budget(options)
        self.limit = Limit(options.concurrency)
        self.versions: set[tuple[str, str]] = set()
        self.is_fixed = False
        self._client: Any = None
        self._models: dict[str, Any] = {}
        self._has_answered = False
        self._lost = 0

    def get(self, path: str) -> dict[str, Any]:
        """Fetch a description of the server, such as its models; empty where there is none."""
        return self._wait(self._get(path))

    def ask(self, request: Request, parse: Parse = dict, *, retries: int | None = None) -> Any:
        """Send one request and return its answer, or Missing. `retries`: fewer than usual, where a failure says enough."""
        answers: list[Any] = []
        self.ask_all(iter([(0, request)]), {0: parse}, lambda _, answer: answers.append(answer), retries=retries)
        return answers[0]

    def ask_all(
        self,
        jobs: Iterator[tuple[int, Request]],
        parses: Mapping[int, Parse],
        keep: Callable[[int, Any], None],
        *,
        retries: int | None = None,
    ) -> None:
        """Send requests, as many at a time as the server bears, and pass each answer on as it comes. `retries`: as in `ask`.

        Raises:
            ServerError: the server is gone, refuses the key, changed its model, or the budget is spent. Requests in flight
                are finished first, and their answers passed on.
        """
        crowd = Crowd(self, jobs, parses, keep)
        crowd.retries = self.options.retries if retries is None else min(retries, self.options.retries)
        self._wait(crowd.run())

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, running_loop())
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _http(self) -> Any:
        if self._client is None:
            import httpx2

            headers = self.options.header_values() | {"User-Agent": "tiltmeter"}
            if key := self.address.key:
                headers["Authorization"] = f"Bearer {key}"
            limits = httpx2.Limits(max_connections=self.options.concurrency, max_keepalive_connections=None)
            no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))  # an answer depends on its request alone
            # httpx limits each part of an answer, so that a slow one never ends: `_send` limits all of it, at less cost.
            timeout = httpx2.Timeout(None, connect=self.options.timeout)
            self._client = httpx2.AsyncClient(headers=headers, timeout=timeout, limits=limits, cookies=no_cookies)
            weakref.finalize(self, _close, self._client).atexit = False
        return self._client

    @property
    def _secrets(self) -> tuple[str, ...]:
        return (self.address.key or "", *self.options.header_values().values())

    def _built(self, request: Request) -> Any:
        """Build a request.

        URL and headers are those of the first one to the same path: merging them again takes a tenth of the time of a
        short request.
        """
        import httpx2

        model = self._models.get(request.path)
        if model is None:
            model = self._http().build_request("POST", self._url(request.path), json={})
            self._models[request.path] = model
            del model.headers["content-length"]
        return httpx2.Request("POST", model.url, headers=model.headers, content=request.encoded, extensions=model.extensions)

    def _url(self, path: str) -> str:
        return f"{self.address.root}{path}" if path.startswith("/") else f"{self.address.url}/{path}"

    async def _send(self, request: Any) -> Any:
        async with asyncio.timeout(self.options.timeout):
            return await self._http().send(request)

    async def _get(self, path: str) -> dict[str, Any]:
        import httpx2

        try:
            response = await self._send(self._http().build_request("GET", self._url(path)))
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise self._unreachable(error) from None
        except (TimeoutError, httpx2.HTTPError):
            return {}
        if response.status_code == 200 and is_page(response):
            raise not_json(self.address)
        self._has_answered = True
        try:
            return read_response(response, self.address, self._secrets)
        except (TransientError, RejectedError):
            return {}

    async def post(self, request: Request) -> dict[str, Any]:
        """Send a request once.

        Raises:
            TransientError, RejectedError, ServerError: as `read_response`.
        """
        import httpx2

        try:
            response = await self._send(self._built(request))
        except (TimeoutError, httpx2.TimeoutException):
            raise TransientError(f"no answer within {self.options.timeout:g} s", crowded=True) from None
        except httpx2.ConnectError as error:
            if not self._has_answered:
                raise self._unreachable(error) from None
            raise TransientError("the server cannot be reached") from None
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise TransientError(f"the connection broke ({type(error).__name__})") from None
        if response.status_code == 200 and not self._has_answered and is_page(response):
            raise not_json(self.address)
        content = read_response(response, self.address, self._secrets)
        self._has_answered = True
        self._check_version(content)
        return content

    def _check_version(self, content: Mapping[str, Any]) -> None:
        """Record the model that answers; after the probe, refuse another one."""
        version = (str(content.get("model") or ""), str(content.get("system_fingerprint") or ""))
        if not version[0]:  # a page of the server's own, such as a tokenizer's
            return
        if not self.is_fixed:
            self.versions.add(version)
        elif version not in self.versions and not self._is_fleet(version[0]):
            raise self.changed(f"it now answers as {version[0] or 'another model'} {version[1]}".rstrip())

    def _is_fleet(self, model: str) -> bool:
        """OpenAI answers from many machines, whose fingerprints differ; the model's name must not."""
        return self.address.key_variable == OPENAI_KEY and model in {name for name, _ in self.versions}

    def changed(self, what: str) -> ServerError:
        """Return the error for a server that changed its model."""
        return ServerError(
            f"{self.address.source} is not the model that was probed: {what}. Answers that came before are kept under the "
            "old model; run the command again to ask the new one.",
            code="model-changed",
            url=self.address.url,
            model=self.address.model,
        )

    def _unreachable(self, error: Exception) -> ServerError:
        return ServerError(
            f"No server answers at {self.address.url} ({' '.join(str(error).split())[:120] or type(error).__name__}). "
            "Is it running, and is the address right?",
            code="no-server",
            url=self.address.url,
        )

    def lost(self, reason: str) -> Missing:
        """Count a request that failed for good.

        Raises:
            ServerError: so many failed one after another that the server counts as gone.
        """
        self._lost += 1
        if self._lost >= MOST_LOST:
            raise ServerError(
                f"{self.address.url} does not answer any more: {reason}, {self._lost} times in a row after "
                f"{self.options.retries} retries each. Answers that came are kept; run the same command to go on.",
                code="server-gone",
                url=self.address.url,
                reason=reason,
            )
        return Missing(f"request failed: {reason}")

    def has_answered(self) -> None:
        """Count an answer."""
        self._lost = 0
