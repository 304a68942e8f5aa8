"""What a command prints: results to standard output, all else to standard error."""

from __future__ import annotations

from typing import Any

from tiltmeter.cli.console import errors, results


def print_run(finished: Any, as_json: bool) -> None:
    """A finished run: its tables, what they say, and where it lies; or its estimates as JSON."""
    from tiltmeter.reporting.terminal import missing_text, overview
    from tiltmeter.reporting.told import stories_of

    said = dict.fromkeys(
        f"{evaluation['benchmark']['name']}: {what} ({count:,})"
        for evaluation in finished.manifest["evaluations"]
        for what, count in evaluation.get("benchmark", {}).get("notes", {}).items()
    )
    for line in said:
        errors().print(line, markup=False)
    if as_json:
        results().print_json(finished.estimates.to_json(orient="records", force_ascii=False, double_precision=15))
    else:
        table = finished.estimates
        for shown in overview(table):
            results().print(shown)
        for line in filter(None, (missing_text(table), *(story.text for story in stories_of(table)))):
            results().print(line, markup=False, soft_wrap=True)
    errors().print(f"Run folder: {finished.folder}", markup=False, soft_wrap=True)


def print_table(table: Any, shown: Any, as_json: bool) -> None:
    """A table for people, or the same rows as JSON."""
    if as_json:
        results().print_json(table.to_json(orient="records", force_ascii=False, double_precision=15))
    else:
        results().print(shown)
