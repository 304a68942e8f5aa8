"""The clusters of items: those of one article or template are no independent evidence, and are resampled together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tiltmeter.families.kit.answers import Answers

if TYPE_CHECKING:
    import pandas as pd


OWN = ("target",)
"""Columns of every item that may be its cluster."""


def clusters_of(answers: Answers, items: pd.DataFrame) -> tuple[list[Any], str]:
    """Returns the cluster of each of these items of one benchmark (None: alone), and the plural noun for clusters."""
    extra = [str(text) for text in items["extra"]]
    column, noun = _declared(answers, str(items["benchmark"].iloc[0]), extra) if extra else (None, "")
    if column in OWN:
        return [str(value) if isinstance(value, str) else None for value in items[column]], noun
    return [json.loads(text).get(column) if column and f'"{column}"' in text else None for text in extra], noun


def _declared(answers: Answers, benchmark: str, extra: Sequence[str]) -> tuple[str | None, str]:
    """Returns the column and the noun that the benchmark declared at inference."""
    for manifest in answers.manifests:
        facts = manifest.get("benchmark", {})
        if facts.get("name") == benchmark and "cluster" in facts:
            return facts["cluster"], facts["cluster_noun"]
    return _undeclared(extra)


def _undeclared(extra: Sequence[str]) -> tuple[str, str]:
    """Returns the column and the noun for answers that were stored before benchmarks declared them."""
    return ("entity", "articles") if any('"bold_group"' in text for text in extra) else ("cluster", "clusters")
