"""Annotations of a pair: how many annotators named its bias type."""

from __future__ import annotations

import ast
import json
from typing import Any

from tiltmeter.benchmarks import load_benchmark
from tiltmeter.benchmarks.kit.items import items_table
from tiltmeter.benchmarks.pairs import bias_type_name


def votes(items: Any, source: str | None = None, *, any_type: bool = False) -> dict[str, tuple[int, int]]:
    """Item → (annotators that named its bias type, annotators). Items without annotations are left out.

    `any_type` counts the annotators that named a bias type at all, whichever. `source` is a benchmark (a name or a file)
    whose annotations go to the items of the same two sentences.
    """
    own = {row["item"]: _count(row["extra"], row["bias_type"], any_type) for row in items.to_dict("records")}
    if source:
        own |= _borrowed(items, source, any_type)
    return {item: count for item, count in own.items() if count is not None}


def _borrowed(items: Any, source: str, any_type: bool) -> dict[str, tuple[int, int] | None]:
    donor = items_table(load_benchmark(source)).to_dict("records")
    by_text = {(row["stereo"], row["anti"]): row["extra"] for row in donor}
    return {
        row["item"]: _count(by_text[row["stereo"], row["anti"]], row["bias_type"], any_type)
        for row in items.to_dict("records")
        if (row["stereo"], row["anti"]) in by_text
    }


def _count(extra: str, bias_type: str, any_type: bool) -> tuple[int, int] | None:
    """Each annotator gave a list of bias types, possibly empty."""
    given = json.loads(extra).get("annotations")
    if isinstance(given, str):
        try:
            given = ast.literal_eval(given)
        except (ValueError, SyntaxError):
            return None
    if not isinstance(given, list) or not given:
        return None
    lists = [labels if isinstance(labels, list) else [labels] for labels in given]
    named = [{bias_type_name(str(label)) for label in labels} for labels in lists]
    return sum(bool(labels) if any_type else bias_type in labels for labels in named), len(named)
