"""A cluster that has to answer in time: Ray itself may wait for ever for one that is gone, or end the process."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

from tiltmeter.errors import TiltmeterError

SILENCE = 30.0
"""Seconds in which every call must have come back. None of ours waits for work."""
LOOK = 5.0
"""Seconds after which the cluster is asked whether it is there."""
GONE = (
    "The Ray cluster does not answer any more{why}. What was finished is kept: run the same command again when it is there, "
    "or without --engine ray."
)
STUCK = " This process cannot leave it: do so in a new one."
THEIRS = " It was joined before: call ray.shutdown() first, or do so in a new process."
ENDING = "RAY_gcs_rpc_server_reconnect_timeout_s"
"""After so many seconds without its cluster Ray ends the whole process, a notebook's too, even if it has left it since."""
YEAR = 365 * 24 * 3600
P = ParamSpec("P")
T = TypeVar("T")


def import_ray() -> Any:
    """Ray, which reads only while it is loaded how long it lets a process live without a cluster: a year.

    It is read by this process alone; those that Ray starts keep to their own time.
    """
    if "ray" in sys.modules or ENDING in os.environ:
        import ray
    else:
        os.environ[ENDING] = str(YEAR)
        try:
            import ray
        finally:
            del os.environ[ENDING]
    return ray


class Answering:
    """Makes calls of Ray, each in a thread of its own that can be left behind."""

    def __init__(self, ray: Any) -> None:
        self.ray, self.gone = ray, False
        self._looked = time.monotonic()

    def ask(self, call: Callable[P, T], *words: P.args, **named: P.kwargs) -> T:
        """What the call gives, or raises. An error for users where it does not come back."""
        box: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()

        def act() -> None:
            try:
                box.put((call(*words, **named), None))
            except BaseException as error:  # raised below, where it can be seen to
                box.put((None, error))

        threading.Thread(target=act, daemon=True).start()
        try:
            given, error = box.get(timeout=SILENCE)
        except Empty:
            raise self._lost(f": nothing for {SILENCE:g} seconds") from None
        if error is not None:
            raise error
        return given  # type: ignore[return-value]

    def resources(self) -> Mapping[str, float]:
        """What the cluster has: a question that it must answer, if it is there."""
        try:
            found: Mapping[str, float] = self.ask(self.ray.cluster_resources)
        except TiltmeterError:
            raise
        except Exception as error:  # Ray's errors have no common type
            raise self._lost(f": {' '.join(str(error).split())[:200]}") from None
        self._looked = time.monotonic()
        return found

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Where a call of Ray fails inside: the cluster's end, if it is gone, or else the fault that it is."""
        try:
            yield
        except TiltmeterError:
            raise
        except Exception:
            self.resources()
            raise

    def check(self) -> None:
        """From time to time, whether the cluster is there at all: waiting for work to end would not tell."""
        if time.monotonic() - self._looked > LOOK:
            self.resources()

    @contextmanager
    def left(self, mine: bool) -> Iterator[None]:
        """Leaves a cluster that is gone, so that another one can be joined in this process, if that one was joined here."""
        try:
            yield
        except TiltmeterError as error:
            if self.gone and not mine:
                raise TiltmeterError(f"{error}{THEIRS}") from None
            if self.gone and not self._is_left():
                raise TiltmeterError(f"{error}{STUCK}") from None
            raise

    def _is_left(self) -> bool:
        try:
            self.ask(self.ray.shutdown)
        except Exception:  # Ray's errors have no common type
            return False
        atexit.register(self.ray.shutdown, _exiting_interpreter=True)  # for the next cluster, as Ray has it
        return True

    def _lost(self, why: str) -> TiltmeterError:
        self.gone = True
        atexit.unregister(self.ray.shutdown)  # it would wait as well
        return TiltmeterError(GONE.format(why=why))
