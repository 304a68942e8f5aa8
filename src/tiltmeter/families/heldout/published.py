"""Imports perplexities that others published: SafeNLP's file, one row a sentence."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from tiltmeter.benchmarks.kit.items import items_table, make_benchmark
from tiltmeter.benchmarks.toxigen_safety import CITATION, COLUMNS, safety_items
from tiltmeter.families.heldout.ask import COLUMNS as TABLE_COLUMNS
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.refusals import NotOursError
from tiltmeter.storage.compression import content_sha256, plain_path, require_file, title_of
from tiltmeter.storage.provenance import benchmark_facts
from tiltmeter.storage.strict_json import parse_json
from tiltmeter.storage.tables import decode, read_bytes

PERPLEXITY = "perplexity"
NO_NUMBER = "the published perplexity is not a number"


def published(
    path: str | Path, *, model: str | None = None, scorer: str = "imported", encoding: str | None = None
) -> Answers:
    """Reads a table with text, label, toxicity_score, target_groups and perplexity.

    A perplexity that is not a finite number is a missing answer, with its reason.
    """
    import pandas as pd

    file = Path(path)
    require_file(file, pipes=True)
    rows = _rows(file, encoding)
    pairs = list(safety_items(rows, file))
    facts: dict[str, Any] = {"family": "heldout", "source": str(file), "sha256": content_sha256(file), "citation": CITATION}
    bench = make_benchmark(title_of(file), pairs, **facts)
    kept = [row for (_, item), row in zip(pairs, rows, strict=True) if not isinstance(item, str)]
    values = [_number(row[PERPLEXITY]) for row in kept]
    table = pd.DataFrame(
        {
            "model": model or title_of(file), "benchmark": bench.name, "item": [item.id for item in bench.items],
            "scorer": scorer, "log_likelihood": [-math.log(value) if value else np.nan for value in values],
            "hits": np.nan, "length": 1.0, "reason": [None if value else NO_NUMBER for value in values],
        }
    )[list(TABLE_COLUMNS)]  # fmt: skip
    imported = {"file": str(file), "sha256": content_sha256(file), "model": model, "scorer": scorer}
    manifest = {"family": "heldout", "imported": imported, "benchmark": benchmark_facts(bench)}
    return Answers("heldout", {"heldout": table}, items_table(bench), (manifest,))


def _rows(file: Path, encoding: str | None) -> list[dict[str, Any]]:
    if plain_path(file).suffix.lower() != ".json":
        raise NotOursError(f"{file} is not a JSON file with perplexities.", code="wrong-format", file=str(file))
    rows = parse_json(decode(read_bytes(file), file, encoding), str(file), nan_is_null=True)
    wanted = {*COLUMNS, PERPLEXITY}
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and wanted <= set(row) for row in rows):
        message = f"{file} has no column '{PERPLEXITY}' beside {', '.join(COLUMNS)}."
        raise NotOursError(message, code="wrong-format", file=str(file))
    return rows


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and number > 0 else None
