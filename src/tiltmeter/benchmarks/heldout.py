"""heldout: a text that the models have not learned from, a sentence or paragraph a line (.txt). How well is it predicted?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.items import Benchmark, Item, make_benchmark
from tiltmeter.errors import UsageError
from tiltmeter.storage.compression import content_sha256
from tiltmeter.storage.lines import read_lines

TEXT = "text"
REPEATED = "the same line as an earlier one"
CITATION = "Your own text."


def heldout(path: str | Path | None = None, *, name: str = "heldout", **facts: Any) -> Benchmark:
    """The lines of a UTF-8 text file (plain, .gz or .xz); a line that was there before is left out, and counted."""
    if path is None:
        raise UsageError(
            "The benchmark 'heldout' needs your text, a sentence or paragraph a line: -b path/to/text.txt.",
            code="missing-value",
            benchmark="heldout",
            argument="path",
        )
    seen: set[str] = set()
    rows: list[tuple[str, Item | str]] = []
    for number, line in enumerate(read_lines(Path(path)), 1):
        repeated = line in seen
        seen.add(line)
        rows.append((str(number), REPEATED if repeated else Item(str(number), {TEXT: line})))
    facts = {"source": str(path), "sha256": content_sha256(Path(path)), "citation": CITATION} | facts
    return make_benchmark(name, rows, family="heldout", **facts)
