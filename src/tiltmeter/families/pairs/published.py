"""Imports scores that others published: per-pair CrowS tables, StereoSet predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tiltmeter.benchmarks import GROUP_COLUMNS, Benchmark, Item, load_benchmark
from tiltmeter.benchmarks.crows_pairs import COLUMNS, type_notes
from tiltmeter.benchmarks.kit.items import encoding_notes, items_table, make_benchmark
from tiltmeter.benchmarks.pairs import check_fields, table_items
from tiltmeter.errors import InputError, TiltmeterError, UsageError
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.pairs.ask import scores_table
from tiltmeter.families.pairs.log_ratios import log_ratios
from tiltmeter.storage.compression import content_sha256, plain_path, require_file, title_of
from tiltmeter.storage.provenance import benchmark_facts
from tiltmeter.storage.strict_json import parse_json
from tiltmeter.storage.tables import decode, read_bytes, read_table, require_columns

Scores = dict[tuple[str, str], float]
"""By item and role."""
NOT_IMPORTED = "no score in the imported file"
SCORE_COLUMN_OF_ROLE = {"stereo": "sent_more_score", "anti": "sent_less_score"}


def published(
    path: str | Path,
    *,
    model: str | None = None,
    scorer: str = "imported",
    benchmark: Benchmark | str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    data_dir: str | Path | None = None,
    encoding: str | None = None,
) -> Answers:
    """Reads scores from a published file.

    A table with sent_more, sent_less and a score column for each (what nyu-mll's metric.py writes), columns mapped as
    for `pairs` plus `stereo_score` and `anti_score`; StereoSet's predictions JSON, joined with the benchmark's items; or
    GEST's predictions, one number a line.
    """
    file = Path(path)
    require_file(file, pipes=True)
    if plain_path(file).suffix.lower() == ".txt" and benchmark is not None:
        parts = [log_ratios(file, benchmark, data_dir)]
    elif plain_path(file).suffix.lower() == ".json":
        parts = _stereoset_predictions(file, benchmark, data_dir)
    else:
        _refuse_other_family(file, benchmark, data_dir)
        parts = [_score_table(file, dict(columns or {}), encoding)]
    imported = {"file": str(file), "sha256": content_sha256(file), "model": model, "scorer": scorer}
    return Answers.concat(
        [answers_of_scores(bench, scores, model or title_of(file), scorer, imported=imported) for bench, scores in parts]
    )


def _refuse_other_family(file: Path, benchmark: Benchmark | str | Path | None, data_dir: str | Path | None) -> None:
    """Refuse a named benchmark without pairs. A table has its own sentences, so no other benchmark is needed."""
    if benchmark is None:
        return
    try:
        loaded = benchmark if isinstance(benchmark, Benchmark) else load_benchmark(benchmark, data_dir=data_dir)
    except TiltmeterError as error:
        if "url" in error.fields:  # a benchmark whose data are not here
            return
        raise
    if loaded.family != "pairs":
        raise UsageError(
            f"{file} is a table of pairs, and {loaded.name} belongs to {loaded.family}. Leave it out.",
            code="inapplicable-option", benchmark=loaded.name, family=loaded.family,
        )  # fmt: skip


def answers_of_scores(bench: Benchmark, scores: Scores, model: str, scorer: str, **facts: Any) -> Answers:
    """Make answers of scores that another program computed; a sentence without a score is missing, with a reason.

    Args:
        bench: The benchmark whose sentences were scored.
        scores: A score by item and role.
        model: Name of the model.
        scorer: Name of the score.
        facts: Further facts for the manifest.
    """
    keys = [(item, role) for item in bench.asked_items for role in item.texts]
    columns: dict[str, Any] = {
        "item": [item.id for item, _ in keys],
        "role": [role for _, role in keys],
        "scorer": scorer,
        "score": [scores.get((item.id, role), np.nan) for item, role in keys],
        "n_tokens": -1,
        "reason": [None if (item.id, role) in scores else NOT_IMPORTED for item, role in keys],
    } | {column: [getattr(item, column) for item, _ in keys] for column in GROUP_COLUMNS}
    table = scores_table(columns, model, bench.name)
    manifest = {"family": bench.family, **facts, "benchmark": benchmark_facts(bench)}
    return Answers(bench.family, {"scores": table}, items_table(bench), (manifest,))


def _score_table(file: Path, columns: dict[str, str], encoding: str | None) -> tuple[Benchmark, Scores]:
    """Items and scores, aligned by row: two rows with the same id are two different items."""
    score_columns = {role: columns.pop(f"{role}_score", name) for role, name in SCORE_COLUMN_OF_ROLE.items()}
    check_fields(columns)
    rows = read_table(file, encoding)
    require_columns(rows, list(score_columns.values()), file)
    mapping = COLUMNS | columns
    if "id" not in columns and "id" not in rows[0] and "index" in rows[0]:
        mapping["id"] = "index"
    require_columns(rows, [mapping["stereo"], mapping["anti"]], file)
    pairs = list(table_items(rows, mapping, str(file)))
    notes = (*encoding_notes(file, encoding), *type_notes(pairs))
    bench = make_benchmark(title_of(file), pairs, source=str(file), sha256=content_sha256(file), notes=notes)
    kept_rows = [row for (_, item), row in zip(pairs, rows, strict=True) if not isinstance(item, str)]
    scores: Scores = {
        (item.id, role): value
        for item, row in zip(bench.items, kept_rows, strict=True)
        for role, column in score_columns.items()
        if (value := _number(row.get(column))) is not None
    }
    return bench, scores


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _stereoset_predictions(
    file: Path, benchmark: Benchmark | str | Path | None, data_dir: str | Path | None
) -> list[tuple[Benchmark, Scores]]:
    """Both parts, each under its own name, because the authors evaluate them separately."""
    if not isinstance(benchmark, Benchmark):
        benchmark = load_benchmark(benchmark or "stereoset", data_dir=data_dir)
    parts = parse_json(decode(read_bytes(file), file), str(file))
    try:
        rows = [row for part in parts.values() for row in part]
        scores = {row["id"]: float(row["score"]) for row in rows if not isinstance(row["score"], bool | str)}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{file} is not in the layout of StereoSet's predictions: a list of id and score for each part.",
            code="wrong-format", file=str(file),
        ) from None  # fmt: skip
    known = {
        (item.id, role): scores[item.extra[f"{role}_id"]]
        for item in benchmark.items
        for role in item.texts
        if item.extra.get(f"{role}_id") in scores
    }
    if not known:
        raise InputError(
            f"No sentence id of {file} is in {benchmark.name}; is it the right benchmark?",
            code="empty-selection", file=str(file), benchmark=benchmark.name,
        )  # fmt: skip
    return [
        (replace(benchmark, name=name, items=items), known)
        for name, part in (("stereoset", "intrasentence"), ("stereoset-intersentence", "intersentence"))
        if (items := _scored_part(benchmark, part, known))
    ]


def _scored_part(benchmark: Benchmark, part: str, scores: Scores) -> tuple[Item, ...]:
    """The items of a part that have scores, also intersentence items, which tiltmeter itself does not score."""
    items = (item for item in benchmark.items if item.extra.get("part", "intrasentence") == part)
    return tuple(replace(item, scored=True) for item in items if any((item.id, role) in scores for role in item.texts))
