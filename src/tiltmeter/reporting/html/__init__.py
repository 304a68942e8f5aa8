"""The HTML report: one page with sentences, figures and every item, in one file that needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tiltmeter.errors import UsageError
from tiltmeter.reporting.html.material import Given, gather
from tiltmeter.reporting.html.page import page
from tiltmeter.storage.compression import is_folder
from tiltmeter.storage.files import write_text
from tiltmeter.storage.seals import adding

__all__ = ["Given", "gather", "page", "write_report"]


def write_report(runs: Given | Sequence[Given], output: str | Path = "report.html", baseline: str | None = None) -> Path:
    """Writes the report of one or several runs (folders, finished runs, or answers in memory); returns its path.

    `baseline` is the model that others are compared with: that of the gate's decision unless named, else the first.
    """
    path = Path(output)
    if is_folder(path):
        message = f"{path} is a folder. Give a file name, such as {path / 'report.html'}."
        raise UsageError(message, code="not-a-file", file=path)
    text = page(gather(runs, baseline))
    with adding(path):
        write_text(path, text)
    return path
