"""What the engine of studies costs, measured and simulated."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from page_tables.kit import line, percent, read, table

SIMULATED = ("1", "8", "32", "128", "1000")


def costs() -> Iterator[str]:
    """What a cell, a question, a worker and a call cost."""
    stored = read("engine-two-cores")
    cpu, calls = stored["cpu"], stored["calls"]["milliseconds_of_a_call"]
    each = sorted(cpu["throughput_of_bare_probe"]["each"])
    turns = ", ".join(f"{100 * share:.0f}" for share in each)
    yield from table(("what", "figure"), "ll", (
        ("throughput of one cell (plumb-mlm, 600 pairs, aul) in a worker, against the bare probe without a cache",
         f"{percent(median(each), 0)} (median of 3: {turns} %)"),
        ("a cell of four pairs, tiny model: checked, queried, stored, its state written",
         f"{cpu['milliseconds_of_a_tiny_cell']:.0f} ms"),
        ("planning a question", f"{cpu['milliseconds_of_planning_a_question']:.0f} ms"),
        ("a worker's start: importing, loading plumb-mlm", f"{cpu['start_seconds']:.1f} s"),
        ("a call of a Ray actor that does nothing, for the driver",
         f"{median(calls):.1f} ms (median of 3: {', '.join(f'{call:.1f}' for call in sorted(calls))} ms)"),
    ))  # fmt: skip


def workers() -> Iterator[str]:
    """One worker against two."""
    stored = read("engine-two-cores-clock")["workers"]
    rows = (
        ("the whole command, seconds by the clock", "command_seconds", f"{stored['speedup']['2']:.2f}"),
        ("from the first cell's begin to the last one's end", "from_first_to_last_cell_seconds",
         f"{stored['speedup_from_first_to_last_cell']['2']:.2f}"),
        ("processor seconds of all processes", "processor_seconds", ""),
    )  # fmt: skip
    cells = (
        (what, *(", ".join(f"{turn:.1f}" for turn in stored[key][n]) for n in "12"), times) for what, key, times in rows
    )
    yield from table(("", "one worker", "two workers", "times as fast"), "llll", cells)


def engine_memory() -> Iterator[str]:
    """Peak memory of the driver and its worker, with more cells and with more items."""
    stored = read("engine-memory")
    now, before = stored["memory"], stored["before"][0]["memory"]
    yield from table(("megabytes", "1×", "4×", "16×", "64×", "before: 1×, 4×, 16×"), "llllll", (
        (what, *(f"{row[part]:.0f}" for row in now[key].values()), *[""] * (4 - len(now[key])),
         ", ".join(f"{row[part]:.0f}" for row in before[key].values()))
        for what, key, part in (
            ("8, 32, 128 cells of 400 pairs: the driver", "cells", "driver_mb"),
            ("the same: the worker", "cells", "workers_mb"),
            ("one cell of 1,000, 4,000, 16,000, 64,000 pairs: the driver", "items", "driver_mb"),
            ("the same: the worker", "items", "workers_mb"),
        )
    ))  # fmt: skip


def simulated_studies() -> Iterator[str]:
    """Hours of three studies by the number of workers, and the share of them that workers spend with questions."""
    studies = read("engine-two-cores")["simulate"]["studies"]
    yield line(("workers", *(name.replace("1 benchmark of ", "") for name in studies)))
    yield "|---|" + "---|" * len(studies)
    for n in SIMULATED:
        yield line((f"{int(n):,}", *(hours(n, study[n]["hours"], study[n]["efficiency"]) for study in studies.values())))


def hours(workers: str, number: float, efficiency: float) -> str:
    """Write hours with at least two digits; one worker needs no share."""
    places = 0 if number >= 100 else 1 if number >= 1 else 2 if number >= 0.1 else 3
    return f"{number:.{places}f}" + (f" ({percent(efficiency, 0)})" if workers != "1" else "")
