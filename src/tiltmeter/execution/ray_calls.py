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

from tiltmeter.errors import RunError, TiltmeterError

SILENCE = 30.0
"""Seconds in which every call must have come back. None of ours waits for work."""
LOOK = 5.0
"""Seconds between two checks that the cluster is reachable."""
GONE = (
    "The Ray cluster no longer responds{why}. Finished cells are kept: run the same command again when it is reachable, "
    "or without --engine ray."
)
STUCK = " This process cannot disconnect from it: use a new process."
THEIRS = " The connection was opened elsewhere: call ray.shutdown() first, or use a new process."
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
        """Return the result of a call, or raise its error. A call that does not return in time raises a RunError."""
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
        """Return the resources of the cluster, or raise a RunError if it is unreachable."""
        try:
            resources: Mapping[str, float] = self.ask(self.ray.cluster_resources)
        except TiltmeterError:
            raise
        except Exception as error:  # Ray's errors have no common type
            raise self._lost(f": {' '.join(str(error).split())[:200]}") from None
        self._looked = time.monotonic()
        return resources

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
        """Check from time to time that the cluster is reachable; waiting for results would not show it."""
        if time.monotonic() - self._looked > LOOK:
            self.resources()

    @contextmanager
    def left(self, mine: bool) -> Iterator[None]:
        """Leaves a cluster that is gone, so that another one can be joined in this process, if that one was joined here."""
        try:
            yield
        except TiltmeterError as error:
            if self.gone and not mine:
                raise RunError(f"{error}{THEIRS}", code=error.code, **error.fields) from None
            if self.gone and not self._is_left():
                raise RunError(f"{error}{STUCK}", code=error.code, **error.fields) from None
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
        return RunError(GONE.format(why=why), code="lost-cluster")
