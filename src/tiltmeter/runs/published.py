"""Scores that others published: imported by the family that knows their layout, as answers or as a run folder."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks import Benchmark
from tiltmeter.errors import TiltmeterError, UsageError
from tiltmeter.families import Answers, all_families
from tiltmeter.families.kit.refusals import NotOursError
from tiltmeter.runs.estimate import estimate
from tiltmeter.runs.folder import output_folder, refuse_other_run, reserved, write_errors, write_estimates
from tiltmeter.runs.reading import Run
from tiltmeter.storage.compression import require_file
from tiltmeter.storage.provenance import software
from tiltmeter.storage.seals import seal


def import_scores(  # noqa: PLR0913 (everything that any family's file may need)
    path: str | Path,
    *,
    model: str | None = None,
    scorer: str = "imported",
    benchmark: Benchmark | str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    data_dir: str | Path | None = None,
    encoding: str | None = None,
    judges: Sequence[str] = (),
    category: Sequence[str] = (),
) -> Answers:
    """Answers from a published file.

    Per-pair scores, StereoSet's, GEST's or BBQ's predictions, SafeNLP's perplexities, or texts that a model wrote.

    Args:
        path: The file.
        model: Name of the model that was scored.
        scorer: Name of the score.
        benchmark: The benchmark that was scored, where the file does not say.
        columns: Our field names → your column names.
        data_dir: The folder with the datasets.
        encoding: Encoding of the file.
        judges: CONSTRUCT=CLASSIFIER that judges texts.
        category: Categories of the benchmark that predictions answer.

    Returns:
        Answers, as `ask` gives them.

    Raises:
        InputError: The file does not exist, lacks a column, or is of no known layout.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import tiltmeter
        >>> text = "sent_more,sent_less,sent_more_score,sent_less_score\\nShe cooks.,He cooks.,-9.1,-9.4\\n"
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "theirs.csv")
        ...     _ = file.write_text(text)
        ...     tiltmeter.import_scores(file).to_pandas()["score"].tolist()
        [-9.1, -9.4]
    """
    how: dict[str, Any] = {"model": model, "scorer": scorer, "benchmark": benchmark, "columns": columns}
    how |= {"data_dir": data_dir, "encoding": encoding, "judges": tuple(judges), "category": tuple(category)}
    return _imported(path, how)


def _imported(path: str | Path, how: Mapping[str, Any]) -> Answers:
    require_file(Path(path), pipes=True)
    refused: list[TiltmeterError] = []
    benchmark = how["benchmark"]
    for name, family in all_families(lambda _: None).items():
        if isinstance(benchmark, Benchmark) and benchmark.family != name:
            continue
        known = inspect.signature(family.published).parameters
        if any(value and option not in known for option, value in how.items()):
            continue  # it would ignore what was given
        try:
            answers = family.published(path, **{option: value for option, value in how.items() if option in known})
        except TiltmeterError as error:
            refused.append(error)
        else:
            if answers is not None:
                return answers
    if isinstance(benchmark, Benchmark) and not refused:
        message = f"{path}: no published files of {benchmark.family} are read, the family of {benchmark.name}."
        raise UsageError(message, code="inapplicable-option", benchmark=benchmark.name, family=benchmark.family)
    if not refused:
        options = [name for name, value in how.items() if value]
        message = f"No family reads published files with these options: {', '.join(options)}."
        raise UsageError(message, code="inapplicable-option", options=options)
    raise next((error for error in refused if not isinstance(error, NotOursError)), refused[0])


def import_run(answers: Answers, output: str | Path, *, seed: int = 0, overwrite: bool = False) -> Run:
    """A run folder from scores that others published and `import_scores` read."""
    folder = output_folder(output)
    if not overwrite:
        refuse_other_run(folder, answers.manifest())
    table = estimate(answers, seed=seed)
    with reserved(folder, software() | {"status": "unfinished"}) as making, write_errors(making):
        answers.write_tables(making)
        write_estimates(making, table)
        manifest = seal(making, answers.manifest())
    return Run(folder, {answers.family: answers}, table, manifest)
