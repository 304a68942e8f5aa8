"""`tiltmeter report RUN…` and `open RUN`, and the page that `tiltmeter run` ends with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tiltmeter.cli.completion import complete_run
from tiltmeter.cli.console import note, progress_bar, say
from tiltmeter.cli.folders import run_folder
from tiltmeter.cli.options import RunFolder
from tiltmeter.display import number_text
from tiltmeter.errors import RunError, TiltmeterError

NAME = "report.html"
Output = Annotated[Path | None, typer.Option("-o", "--output", help="File. Default: RUN/report.html; of several, here.")]
Baseline = Annotated[str | None, typer.Option(help="Model to compare with. Default: that of the gate, else the first.")]
One = Annotated[
    Path,
    typer.Argument(help="Run folder, the last part of its name, or last.", callback=run_folder, autocompletion=complete_run),
]


def report(runs: RunFolder, output: Output = None, baseline: Baseline = None) -> None:
    """Write one HTML page about runs: summary, figures and every item.

    It needs no model and no network.
    """
    write(runs, output or (runs[0] / NAME if len(runs) == 1 else Path(NAME)), baseline)


def open_(run: One = Path("last")) -> None:
    """Open the report of a run in your browser.

    Writes the report if the run has none. Without a browser, prints its path.
    """
    import webbrowser

    if not run.is_dir():
        raise RunError(f"There is no run folder {run}.", code="missing-file", run=run)
    page = run / NAME
    if not (page.is_file() and _is_as_written(run, page)):
        write([run], page)
    if not webbrowser.open(page.absolute().as_uri()):
        note("No browser can be opened from here. The report is a file:")
    say(str(page))


def _is_as_written(run: Path, page: Path) -> bool:
    """Return True if a report is the one sealed with its run; that of an unfinished or changed run is shown as it is."""
    from tiltmeter.storage.seals import is_added, read_seal

    try:
        return is_added(run, read_seal(run), page)
    except TiltmeterError:
        return True


def write(runs: Any, path: Path, baseline: str | None = None) -> None:
    """Writes the page and says where it is."""
    from tiltmeter.reporting.html import write_report
    from tiltmeter.storage.progress import showing

    with showing(progress_bar):
        written = write_report(runs, path, baseline)
    note(f"Report: {written} ({number_text(written.stat().st_size / 1e6)} MB)")
