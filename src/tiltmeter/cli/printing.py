"""What a command prints: results to standard output, all else to standard error."""

from __future__ import annotations

from typing import Any

from tiltmeter.cli.console import errors, results


def print_run(finished: Any, as_json: bool) -> None:
    """A finished run: its tables, what they say, and where it lies; or its estimates as JSON."""
    from tiltmeter.reporting.slots import slot_overview, slot_sentences
    from tiltmeter.reporting.terminal import associations, missing_text, overview
    from tiltmeter.reporting.words import sentences

    for one in finished.manifest["evaluations"]:
        for what, count in one.get("benchmark", {}).get("notes", {}).items():
            errors().print(f"{one['benchmark']['name']}: {what} ({count:,})", markup=False)
    if as_json:
        results().print_json(finished.estimates.to_json(orient="records", force_ascii=False, double_precision=15))
    else:
        table = finished.estimates
        for shown in (*overview(table), *slot_overview(table), *associations(table)):
            results().print(shown)
        top_k = finished.manifest.get("asked", {}).get("top_k", 0)
        said = (missing_text(table), *sentences(table), *slot_sentences(table, top_k))
        for line in filter(None, said):
            results().print(line, markup=False, soft_wrap=True)
    errors().print(f"Run folder: {finished.folder}", markup=False, soft_wrap=True)


def print_table(table: Any, shown: Any, as_json: bool) -> None:
    """A table for people, or the same rows as JSON."""
    if as_json:
        results().print_json(table.to_json(orient="records", force_ascii=False, double_precision=15))
    else:
        results().print(shown)
