"""Scores that others published: taken in by the family that knows their layout, as answers or as a run folder."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.families import Answers, all_families
from tiltmeter.families.kit.refusals import NotOursError
from tiltmeter.runs.estimate import estimate
from tiltmeter.runs.folder import output_folder, reserved, write_run
from tiltmeter.runs.reading import Run
from tiltmeter.storage.packed import require_file
from tiltmeter.storage.provenance import software

OF_SOME = ("judges",)
"""What some families take and others do not."""


def import_scores(path: str | Path, **how: Any) -> Answers:
    """Answers from a published file: per-pair score tables, StereoSet's predictions, or texts that a model wrote.

    `model` and `scorer` say what they are called; `columns`, `data_dir`, `benchmark` and `encoding` how the file is read.
    """
    require_file(Path(path), pipes=True)
    readers = [family for family in all_families(lambda _: None).values() if hasattr(family, "published")]
    if not readers:
        raise TiltmeterError("No family reads published scores.")
    refused: list[TiltmeterError] = []
    for family in readers:
        known = inspect.signature(family.published).parameters
        if foreign := [name for name, value in how.items() if value and name not in known and name in OF_SOME]:
            refused.append(NotOursError(f"{family.TITLE}: nothing there takes {foreign[0]}."))
            continue
        try:
            answers: Answers = family.published(path, **{name: value for name, value in how.items() if name in known})
        except TiltmeterError as error:
            refused.append(error)
        else:
            return answers
    raise next((error for error in refused if not isinstance(error, NotOursError)), refused[0])


def import_run(file: str | Path, output: str | Path, *, seed: int = 0, **how: Any) -> Run:
    """A run folder from scores that others published; `how` goes to `import_scores`."""
    answers = import_scores(file, **how)
    folder, table = output_folder(output), estimate(answers, seed=seed)
    with reserved(folder, software() | {"status": "unfinished"}) as making:
        manifest = write_run(making, {answers.family: answers}, table, answers.manifest())
    return Run(folder, {answers.family: answers}, table, manifest)
