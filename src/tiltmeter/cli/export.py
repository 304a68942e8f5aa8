"""`tiltmeter export`, `cite`, `bundle` and `verify`: results for other programs, pages, papers and audits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.cli.completion import complete_run
from tiltmeter.cli.console import note, results, say
from tiltmeter.cli.folders import run_folder
from tiltmeter.errors import RunError, UsageError

if TYPE_CHECKING:
    from tiltmeter.runs import Run


class Form(StrEnum):
    """Formats of an export."""

    lm_eval = "lm-eval"
    every_eval_ever = "every-eval-ever"
    model_card = "model-card"


Forms = Annotated[Form, typer.Argument(help="lm-eval, every-eval-ever: files per model. model-card: metadata and a table.")]
OneRun = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        help="Run folder, the last part of its name, or last.",
        callback=run_folder,
        autocompletion=complete_run,
    ),
]
Place = Annotated[Path | None, typer.Option("-o", "--output", help="File for a model card, else a folder. Default: print.")]
OneModel = Annotated[str | None, typer.Option("-m", "--model", help="Model of the card, where a run has several.")]


def export(form: Forms, run: OneRun, output: Place = None, model: OneModel = None) -> None:
    """Write results for lm-evaluation-harness, Every Eval Ever or a model card.

    Needs no model.
    """
    from tiltmeter.runs import load_run

    loaded = load_run(run)
    if not len(loaded.estimates):
        raise RunError(f"{run} has no estimates to export.", code="empty-selection", run=run)
    if form is Form.model_card:
        from tiltmeter.exports.model_card import model_card

        _give(model_card(loaded, model), output)
        return
    if output is not None and output.exists() and not output.is_dir():
        raise UsageError(f"{output} is a file; -o names a folder.", code="not-a-folder", path=output)
    for path, text in _files(form, loaded):
        _give(text, output / path if output else None)


def _files(form: Form, run: Run) -> Iterator[tuple[str, str]]:
    if form is Form.every_eval_ever:
        from tiltmeter.exports.every_eval_ever import evaluation_files

        yield from evaluation_files(run)
        return
    from tiltmeter.exports.harness import harness_files

    for path, content in harness_files(run):
        yield path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def cite(run: OneRun, output: Place = None) -> None:
    """Print BibTeX for every measure, scorer and benchmark of a run."""
    from tiltmeter.exports.citations import cite as bibliography
    from tiltmeter.runs import load_run

    _give(bibliography(load_run(run)), output)


def bundle(
    run: OneRun, output: Annotated[Path, typer.Option("-o", "--output", help="File to write.")] = Path("audit.zip")
) -> None:
    """Write one zip for an audit: report, numbers, checksums.

    It also has the verdicts, the manifest and a one-page summary.
    """
    from tiltmeter.exports.bundle import bundle as pack

    made = pack(run, output)
    say(f"{made.sha256}  {made.path}")
    note(f"{len(made.files)} files. Keep the sha256 apart from the bundle.")


def verify(
    file: Annotated[Path, typer.Argument(help="Bundle to check.")],
    digest: Annotated[str | None, typer.Option(help="Expected sha256, as printed by `tiltmeter bundle`.")] = None,
) -> None:
    """Verify the checksums of a bundle; the exit code is the result.

    Exit codes: 0 unchanged, 1 changed, 2 not a bundle.
    """
    from tiltmeter.exports.verify import verify as problems_of

    problems = problems_of(file, digest)
    for problem in problems:
        say(f"{file}: {problem}")
    if not problems:
        say(f"{file}: whole")
    raise typer.Exit(1 if problems else 0)


def _give(text: str, path: Path | None) -> None:
    from tiltmeter.storage.files import write_text

    if path is None:
        results().print(text, markup=False, soft_wrap=True, end="")
        return
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file.", code="not-a-file", file=path)
    write_text(path, text)
    note(f"Written: {path}")
