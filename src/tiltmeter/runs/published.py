"""Scores that others published: taken in by the family that knows their layout, as answers or as a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.families import Answers, all_families
from tiltmeter.runs.estimate import estimate
from tiltmeter.runs.folder import output_folder, reserved, write_run
from tiltmeter.runs.reading import Run
from tiltmeter.storage.provenance import software


def import_scores(path: str | Path, **how: Any) -> Answers:
    """Answers from a published file: per-pair score tables, or StereoSet's predictions.

    `model` and `scorer` say what they are called; `columns`, `data_dir`, `benchmark` and `encoding` how the file is read.
    """
    readers = [family for family in all_families(lambda _: None).values() if hasattr(family, "published")]
    if not readers:
        raise TiltmeterError("No family reads published scores.")
    refused: list[TiltmeterError] = []
    for family in readers:
        try:
            answers: Answers = family.published(path, **how)
        except TiltmeterError as error:
            refused.append(error)
        else:
            return answers
    raise refused[0]


def import_run(file: str | Path, output: str | Path, *, seed: int = 0, **how: Any) -> Run:
    """A run folder from scores that others published; `how` goes to `import_scores`."""
    answers = import_scores(file, **how)
    folder, table = output_folder(output), estimate(answers, seed=seed)
    with reserved(folder, software() | {"status": "unfinished"}) as making:
        manifest = write_run(making, {answers.family: answers}, table, answers.manifest())
    return Run(folder, {answers.family: answers}, table, manifest)
