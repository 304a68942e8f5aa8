"""Adaptive concurrency: the number of requests at a time rises while that helps and falls when the server says stop."""

from __future__ import annotations

from dataclasses import dataclass

START = 4
GAIN = 1.05
"""A larger number has to answer so much faster, or it is not kept."""
GROWTH, REDUCTION = 1.5, 0.5
REST = 30
"""Windows until a larger number is tried again."""


@dataclass
class Limit:
    """How many requests may be in flight. A window is as many answers as that; its speed decides about the next."""

    most: int = 64
    now: int = START
    _best: float = 0.0
    _before: int = START
    _answers: int = 0
    _started: float | None = None
    _rest: int = 0

    def __post_init__(self) -> None:
        self.now = min(self.now, self.most)

    def answered(self, time: float) -> None:
        """Count an answer; at the end of a window, raise the limit or go back to the one that was faster."""
        if self._started is None:
            self._started = time
            return
        self._answers += 1
        if self._answers < max(8, self.now):
            return
        speed = self._answers / max(time - self._started, 1e-9)
        self._answers, self._started = 0, time
        if self._rest > 0:
            self._rest -= 1
            return
        if speed > GAIN * self._best:
            self._best, self._before = speed, self.now
            self.now = min(self.most, max(self.now + 1, int(self.now * GROWTH)))
        else:
            self.now, self._best, self._rest = self._before, speed / GAIN, REST

    def refused(self) -> None:
        """Halve the limit: the server has answered 429 or 503, or nothing in time."""
        self.now = self._before = max(1, int(self.now * REDUCTION))
        self._best, self._answers, self._started, self._rest = 0.0, 0, None, REST
