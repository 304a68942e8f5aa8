"""A connection to a server: requests in flight, retries with back-off, adaptive concurrency, the budget."""

from __future__ import annotations

import asyncio
import random
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from tiltmeter.errors import ServerError
from tiltmeter.models.served.address import OPENAI_KEY, Address
from tiltmeter.models.served.budget import Budget
from tiltmeter.models.served.concurrency import Limit
from tiltmeter.models.served.options import ServerOptions
from tiltmeter.models.served.responses import RejectedError, TransientError, is_page, not_json, read_response

BACKOFF, LONGEST_BACKOFF = 0.5, 30.0
"""Seconds before a request is sent again; doubled each time."""
MOST_LOST = 8
"""Requests that fail for good one after another until the server counts as gone."""
WAITING = 5
"""Requests for each one in flight that may wait to be sent again."""
T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """A request without its credentials. `path` is below the server's URL, or below its root if it begins with `/`."""

    path: str
    body: Mapping[str, Any]
    characters: int = 0
    new_tokens: int = 1


@dataclass(frozen=True)
class Missing:
    """Why a request has no answer. `is_final`: the server would refuse it again."""

    reason: str
    is_final: bool = False


Parse = Callable[[Mapping[str, Any]], Any]
"""Reads an answer from JSON; raises TransientError for one that is malformed."""


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
        self._has_answered = False
        self._lost = 0

    def get(self, path: str) -> dict[str, Any]:
        """Fetch a description of the server, such as its models; empty where there is none."""
        return self._wait(self._get(path))

    def ask(self, request: Request, parse: Parse = dict, *, retries: int | None = None) -> Any:
        """Send one request and return its answer, or Missing. `retries`: fewer than usual, where a failure says enough."""
        found: list[Any] = []
        crowd = _Crowd(self, iter([(0, request)]), {0: parse}, lambda _, answer: found.append(answer))
        crowd.retries = self.options.retries if retries is None else min(retries, self.options.retries)
        self._wait(crowd.run())
        return found[0]

    def ask_all(
        self, jobs: Iterator[tuple[int, Request]], parses: Mapping[int, Parse], keep: Callable[[int, Any], None]
    ) -> None:
        """Send requests, as many at a time as the server bears, and pass each answer on as it comes.

        Raises:
            ServerError: the server is gone, refuses the key, changed its model, or the budget is spent. Requests in flight
                are finished first, and their answers passed on.
        """
        self._wait(_Crowd(self, jobs, parses, keep).run())

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
            self._client = httpx2.AsyncClient(headers=headers, timeout=self.options.timeout, limits=limits)
            weakref.finalize(self, _close, self._client).atexit = False
        return self._client

    def _url(self, path: str) -> str:
        return f"{self.address.root}{path}" if path.startswith("/") else f"{self.address.url}/{path}"

    async def _get(self, path: str) -> dict[str, Any]:
        import httpx2

        try:
            response = await self._http().get(self._url(path))
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise self._unreachable(error) from None
        except httpx2.HTTPError:
            return {}
        if response.status_code == 200 and is_page(response):
            raise not_json(self.address)
        self._has_answered = True
        try:
            return read_response(response, self.address)
        except (TransientError, RejectedError):
            return {}

    async def post(self, request: Request) -> dict[str, Any]:
        """Send a request once.

        Raises:
            TransientError, RejectedError, ServerError: as `read_response`.
        """
        import httpx2

        try:
            response = await self._http().post(self._url(request.path), json=dict(request.body))
        except httpx2.TimeoutException:
            raise TransientError(f"no answer within {self.options.timeout:g} s", crowded=True) from None
        except httpx2.ConnectError as error:
            if not self._has_answered:
                raise self._unreachable(error) from None
            raise TransientError("the server cannot be reached") from None
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise TransientError(f"the connection broke ({type(error).__name__})") from None
        if response.status_code == 200 and not self._has_answered and is_page(response):
            raise not_json(self.address)
        content = read_response(response, self.address)
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


class _Crowd:
    """The requests of one call: workers that take the next job, as many as the limit allows."""

    def __init__(
        self,
        connection: Connection,
        jobs: Iterator[tuple[int, Request]],
        parses: Mapping[int, Parse],
        keep: Callable[[int, Any], None],
    ) -> None:
        self.connection, self.jobs, self.parses, self.keep = connection, jobs, parses, keep
        self.active, self.is_empty = 0, False
        self.error: BaseException | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        self.pause, self.retries = 0.0, connection.options.retries

    async def run(self) -> None:
        try:
            self._fill()
            while self.tasks:
                await asyncio.wait(self.tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in self.tasks:
                task.cancel()
        if self.error is not None:
            raise self.error

    def _fill(self) -> None:
        limit, is_paused = self.connection.limit.now, asyncio.get_running_loop().time() < self.pause
        while not (self.is_empty or is_paused or self.error) and self.active < limit and len(self.tasks) < WAITING * limit:
            self.active += 1
            task = asyncio.get_running_loop().create_task(self._work())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def _work(self) -> None:
        try:
            while self.error is None and self.active <= self.connection.limit.now:
                job = next(self.jobs, None)
                if job is None:
                    self.is_empty = True
                    return
                number, request = job
                self.keep(number, await self._answer(request, self.parses[number]))
                self._fill()
        except BaseException as error:
            self.error = self.error or error
        finally:
            self.active -= 1
            self._fill()

    async def _answer(self, request: Request, parse: Parse) -> Any:
        """Send a request until it is answered, refused, or has failed too often."""
        connection, budget, loop = self.connection, self.connection.budget, asyncio.get_running_loop()
        estimate, reason = budget.estimate(request.characters, request.new_tokens), ""
        for attempt in range(self.retries + 1):
            if (wait := self.pause - loop.time()) > 0:
                await self._sleep(wait)
            if self.error is not None and attempt:
                raise self.error
            budget.reserve(estimate)
            try:
                content = await connection.post(request)
                answer = parse(content)
            except RejectedError as error:
                budget.release(estimate)
                return Missing(str(error), is_final=True)
            except TransientError as error:
                budget.release(estimate)
                reason = str(error)
                if error.crowded:
                    connection.limit.refused()
                if attempt < self.retries:
                    await self._back_off(attempt, error.wait, error.crowded)
                continue
            except BaseException:
                budget.release(estimate)
                raise
            budget.settle(estimate, content.get("usage"), request.characters, request.new_tokens)
            connection.limit.answered(loop.time())
            connection.has_answered()
            return answer
        return connection.lost(reason)

    async def _back_off(self, attempt: int, wait: float | None, crowded: bool) -> None:
        delay = wait if wait is not None else min(LONGEST_BACKOFF, BACKOFF * 2**attempt) * random.uniform(0.5, 1.0)
        if crowded:  # the server is asked nothing at all meanwhile
            self.pause = max(self.pause, asyncio.get_running_loop().time() + delay)
        await self._sleep(delay)

    async def _sleep(self, delay: float) -> None:
        """Wait without taking the place of a request in flight."""
        self.active -= 1
        self._fill()
        try:
            await asyncio.sleep(delay)
        finally:
            self.active += 1
