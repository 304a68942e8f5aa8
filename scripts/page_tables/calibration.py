"""What a planted bias moved in the first calibration."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from page_tables.kit import RESEARCH, signed, table

DOMAINS = ("gender", "race", "religion")
BENCHMARKS = {"crows-pairs": "CrowS-Pairs", "stereoset": "StereoSet"}
SCORERS = {"crows-pairs": ("pll", "aul", "cps", "sss", "causal"),
           "stereoset": ("pll", "sss", "stereoset_masked", "causal")}  # fmt: skip


def planted_biases() -> Iterator[str]:
    """Change of `bias_score` per dose by benchmark, scorer and domain; bold where it is detected."""
    with (RESEARCH / "evidence" / "first-calibration.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["measure"] == "bias_score" and row["by"] == "bias_type"]
    found = {(row["benchmark"], row["scorer"], row["domain"]): row for row in rows}
    places = sorted(((name, scorer) for name, own in SCORERS.items() for scorer in own), key=lambda one: one[1] == "causal")
    yield from table(("", *DOMAINS), "llll", (
        (f"{BENCHMARKS[name]}, `{scorer}`{' (plumb-clm)' * (scorer == 'causal')}",
         *(change(found[name, scorer, domain]) for domain in DOMAINS))
        for name, scorer in places
    ))  # fmt: skip


def change(row: dict[str, str]) -> str:
    """Write a change with its sign and interval."""
    effect, low, high = (float(row[name]) for name in ("effect", "low", "high"))
    number = f"{'+' * (round(effect, 1) > 0)}{signed(effect, 1)}"
    shown = f"**{number}**" if row["verdict"] == "detects" else number
    return f"{shown} [{signed(low, 1)}, {signed(high, 1)}]"
