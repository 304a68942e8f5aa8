"""Output of commands: results to standard output, all else to standard error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.cli.console import note, print_data, results, say, width

CHAT_OPTIONS = ("chat", "chat_prompt")
"""Options that put a prompt into the model's chat template."""
LONG = 12
"""A name longer than this, such as a date, is not worth typing where `last` means the same."""


def print_run(finished: Any, as_json: bool, *, by: Sequence[str] = (), whole: bool = False) -> None:
    """A finished run: what its numbers say, the numbers, and where it lies; or its estimates as JSON."""
    from tiltmeter.reporting.headlines import headline_blocks
    from tiltmeter.reporting.narratives import stories_of
    from tiltmeter.reporting.terminal import left_out, missing_text, overview
    from tiltmeter.stats.settings import stored_settings

    said = dict.fromkeys(
        f"{evaluation['benchmark']['name']}: {what} ({count:,})"
        for evaluation in finished.manifest["evaluations"]
        for what, count in evaluation.get("benchmark", {}).get("notes", {}).items()
    )
    for line in (*said, *chat_notes(finished.manifest)):
        note(line)
    table = finished.estimates
    if as_json:
        print_json(table)
    else:
        confidence = stored_settings(finished.manifest.get("asked", {})).confidence
        stories = stories_of(table, finished.manifest["evaluations"])
        print_lines(headline_blocks(stories, width(), whole=whole, confidence=confidence))
        print_grids(overview(table, by, whole=whole))
        if missing := missing_text(table):
            say(missing)
        note("Each measure is explained by `tiltmeter list measures` and in the report.")
        more = 0 if whole else left_out(table)
        if more:
            note(f"{more:,} more numbers: --all, tiltmeter estimate {short(finished.folder)}, or the report.")
    note(f"Run folder: {finished.folder}")


def chat_notes(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Name the models with a chat template that were queried in plain text, and the options that use the template."""
    plain: dict[str, list[str]] = {}
    for evaluation in manifest["evaluations"]:
        model, options = evaluation.get("model", {}), manifest.get("asked", {}).get("options", {})
        is_chat = any((options.get(evaluation.get("family")) or {}).get(name) for name in CHAT_OPTIONS)
        if (model.get("tokenizer") or {}).get("chat_template") and not is_chat:
            plain.setdefault(str(model.get("shown_as")), []).append(str(evaluation["benchmark"]["name"]))
    for name, benchmarks in plain.items():
        yield (
            f"Note: {name} has a chat template and was queried in plain text ({', '.join(dict.fromkeys(benchmarks))}). In a "
            "chat it may lean differently: see -b plumb-prompts --chat, or -b plumb-choices --chat-prompt."
        )


def print_table(table: Any, shown: Any, as_json: bool) -> None:
    """A table for people, or the same rows as JSON."""
    if as_json:
        print_json(table)
    else:
        print_grids(shown)


def print_json(table: Any) -> None:
    """Rows as JSON, with every digit."""
    print_data(table.to_json(orient="records", force_ascii=False, double_precision=15))


def print_grids(grids: Iterable[Any]) -> None:
    """Tables as wide as the terminal; in a pipe with all columns, however wide."""
    from tiltmeter.reporting.columns import fitted

    for grid in grids:
        print_lines(fitted(grid, results().width, whole=not results().is_terminal))


def print_lines(lines: Iterable[Any]) -> None:
    """Lines that have been laid out: nothing is broken or cut any more."""
    for line in lines:
        results().print(line, soft_wrap=True)


def short(folder: Path) -> str:
    """How a run can be named on the command line: by its last part where that is enough."""
    from tiltmeter.cli.folders import LAST, last_run, run_folder

    if len(folder.name) > LONG and last_run() == folder:
        return LAST
    return folder.name if not Path(folder.name).exists() and run_folder(Path(folder.name)) == folder else str(folder)
