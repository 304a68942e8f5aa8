"""`tiltmeter report RUN…`, and the page that `tiltmeter run` ends with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tiltmeter.cli.console import errors, progress_bar

NAME = "report.html"
Folders = Annotated[list[Path], typer.Argument(help="Run folders.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="File. Default: RUN/report.html; of several, here.")]


def report(runs: Folders, output: Output = None) -> None:
    """One HTML page about stored runs: the story, the figures and every pair. Needs no model and no network."""
    write(runs, output or (runs[0] / NAME if len(runs) == 1 else Path(NAME)))


def write(runs: Any, path: Path) -> None:
    """Writes the page and says where it is."""
    from tiltmeter.reporting.html import write_report
    from tiltmeter.storage.progress import showing

    with showing(progress_bar):
        written = write_report(runs, path)
    errors().print(f"Report: {written} ({written.stat().st_size / 1e6:.1f} MB)", markup=False, soft_wrap=True)
