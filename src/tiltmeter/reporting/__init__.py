"""Reports: tables and sentences for the terminal, notebooks and papers, and the HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiltmeter.reporting.html import Given


def report(runs: Given | Sequence[Given], output: str | Path = "report.html", *, baseline: str | None = None) -> Path:
    """Write one self-contained HTML page about runs (folders, finished runs, or answers in memory).

    Args:
        runs: One or several.
        output: The file.
        baseline: The model that others are compared with. Default: that of the gate's decision, else the first.

    Returns:
        The path of the page.

    Raises:
        RunError: A folder is not a finished run, or was changed.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> import tiltmeter
        >>> scores = tiltmeter.score("plumb-mlm", tiltmeter.load_benchmark("plumb-pairs", limit=8), "sss", cache=False)
        >>> with TemporaryDirectory() as folder:
        ...     tiltmeter.report(scores, f"{folder}/report.html").name
        'report.html'
    """
    from tiltmeter.reporting.html import write_report

    return write_report(runs, output, baseline)
