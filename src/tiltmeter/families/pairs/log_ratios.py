"""Published log ratios: one number a line and item, of the form for men over the form for women (GEST's predictions)."""

from __future__ import annotations

import math
from pathlib import Path

from tiltmeter.benchmarks import Benchmark, load_benchmark
from tiltmeter.errors import InputError
from tiltmeter.storage.tables import decode, read_bytes

Scores = dict[tuple[str, str], float]
MEN = "men"


def log_ratios(file: Path, benchmark: Benchmark | str | Path, data_dir: str | Path | None) -> tuple[Benchmark, Scores]:
    """Read the file in the order of the benchmark's items; a line that is no finite number is a missing score.

    The form for men has the number as its score and the form for women 0, so that differences are what was published.

    Raises:
        InputError: if items have no pole (whom the stereotype is about), or there are not as many lines as items.
    """
    bench = benchmark if isinstance(benchmark, Benchmark) else load_benchmark(benchmark, data_dir=data_dir)
    items = bench.asked_items
    if not all("pole" in item.extra for item in items):
        message = f"{file} has one number a line, which only benchmarks of two forms (gest) have; {bench.name} is not one."
        raise InputError(message, code="missing-column", column="pole", benchmark=bench.name)
    lines = decode(read_bytes(file), file).split("\n")
    values = [_number(line, file, number) for number, line in enumerate(lines, 1) if line.strip()]
    if len(values) != len(items):
        message = f"{file} has {len(values):,} numbers, and {bench.name} has {len(items):,} items."
        raise InputError(message, code="wrong-shape", file=str(file), lines=len(values), items=len(items))
    scores: Scores = {}
    for item, value in zip(items, values, strict=True):
        if math.isfinite(value):
            by_man = "stereo" if item.extra["pole"] == MEN else "anti"
            scores |= {(item.id, "stereo"): 0.0, (item.id, "anti"): 0.0} | {(item.id, by_man): value}
    return bench, scores


def _number(line: str, file: Path, number: int) -> float:
    try:
        return float(line)
    except ValueError:
        message = f"{file}, line {number}: expected a number, not '{line.strip()[:40]}'."
        raise InputError(message, code="wrong-type", file=str(file), line=number) from None
