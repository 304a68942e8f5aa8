"""Sentences that are left after each stage of building the benchmark of sexist sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator

from page_tables.kit import RESEARCH, table


def sexism_stages() -> Iterator[str]:
    """Counts of Samory et al. (2021), and the paper's of three corpora."""
    stages = json.loads((RESEARCH / "page-tables" / "sexism-stages.json").read_text("utf-8"))
    rows = (
        (
            stage["name"].removesuffix(" in 1 file"),
            *(f"{stage[name]:,}" if stage[name] else "" for name in ("count", "paper")),
        )
        for stage in stages
    )
    yield from table(("on Samory et al.", "left", "the paper, three corpora"), "lrr", rows)
