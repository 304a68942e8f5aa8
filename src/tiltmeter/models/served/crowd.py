"""Requests in flight: as many as the server bears, each sent again with back-off until it is answered."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tiltmeter.models.served.messages import Missing, Parse, Request
from tiltmeter.models.served.responses import RejectedError, TransientError

if TYPE_CHECKING:
    from tiltmeter.models.served.connection import Connection

BACKOFF, LONGEST_BACKOFF = 0.5, 30.0
"""Seconds before a request is sent again; doubled each time."""
WAITING = 5
"""Requests for each one in flight that may wait to be sent again."""


class Crowd:
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
        """Send all requests, so many at a time, and collect their answers."""
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
