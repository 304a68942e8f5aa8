"""Input of studies: the answers of one or several runs. No model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.protocol import Watch
from tiltmeter.probes import Advance


@contextmanager
def unwatched(_: str, __: int) -> Iterator[Advance]:
    """Shows no progress: the default for calls from Python."""
    yield lambda _: None


@dataclass(frozen=True)
class Evidence:
    """Loaded runs.

    `reads` is the family that the study is about; `named` are the scorers that the user requested, if any; `watch` shows
    progress.
    """

    answers: Mapping[str, Answers]
    reads: str
    folders: tuple[Path, ...] = ()
    named: tuple[str, ...] = ()
    watch: Watch = unwatched

    @cached_property
    def models(self) -> list[str]:
        """Names of the models."""
        return self.answers[self.reads].models
