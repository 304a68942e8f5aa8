"""Reports: what a person reads. Tables and sentences of the terminal, and the HTML page."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiltmeter.report.html import Given


def report(runs: Given | Sequence[Given], output: str | Path = "report.html") -> Path:
    """Writes one self-contained HTML page about runs (folders, finished runs, or scores in memory) and gives its path."""
    from tiltmeter.report.html import write_report

    return write_report(runs, output)


class _Callable(ModuleType):
    """`tiltmeter.report` names this folder and is a function as well, whichever of the two was reached first."""

    def __call__(self, runs: Given | Sequence[Given], output: str | Path = "report.html") -> Path:
        return report(runs, output)


sys.modules[__name__].__class__ = _Callable
