"""The cells of the honesty bench: which designs of each family are simulated, and which of them are supported."""

from __future__ import annotations

from collections.abc import Iterator

from neutral_data.kit import Cell

KINDS = ("estimate", "compare")
SIZES = (5, 10, 30, 300)
LEAST_UNITS, LEAST_CLUSTERS = 30, 10
DESIGNS: dict[str, tuple[tuple[str, tuple[int, ...]], ...]] = {
    "pairs": (
        ("normal", SIZES), ("heavy tails", (30, 300)), ("cauchy", (30, 300)), ("ties", (10, 30, 300)),
        ("three types", (30,)), ("two directions", (60,)), ("nine types", (270,)), ("clusters of five", (4, 10, 30)),
        ("unlike clusters", (10, 30)), ("targets", (5, 10, 30, 300)), ("poles", (30, 300)),
        ("occupations", (10, 30)),
    ),
    "slots": (
        ("normal", SIZES), ("heavy tails", (30,)), ("ties", (30,)), ("unmatched", (30, 300)), ("four groups", (30,)),
        ("about a group", (30,)),
    ),
    "heldout": (("normal", SIZES), ("heavy tails", (30,)), ("hateful", (60,))),
    "associations": (
        ("seat", (5, 8, 30)), ("seat, heavy tails", (30,)), ("ilps", SIZES), ("ilps, skewed", (30,)),
        ("ilps, heavy tails", (30,)), ("ilps, nine groups", (30,)), ("ilps, causal", (30,)), ("kurita", (5, 10, 30)),
        ("ceat", (5, 10, 30)),
    ),
    "choices": (
        ("templates", SIZES), ("unlike templates", (10, 30)), ("decisions", (5, 10, 30, 300)),
        ("decisions, nine groups", (30,)), ("words", (5, 10, 30)), ("refusals", (10, 30)),
    ),
    "labels": (
        ("rates", (10, 30, 300)), ("rates, four groups", (30,)), ("rates, nine groups", (30,)),
        ("rates, three seeds", (30,)), ("rates, clusters of five", (10, 30)), ("rates, unlike clusters", (10, 30)),
        ("areas", (10, 30, 300)), ("swaps", (10, 30)),
    ),
    "generations": (
        ("two groups", SIZES), ("one group", (30,)), ("four groups", (30,)), ("nine groups", (30,)),
        ("two groups, heavy tails", (30,)), ("two groups, clusters of five", (3, 10, 30)),
        ("two groups, unlike clusters", (10, 30)), ("nine groups, clusters of five", (10,)), ("two groups, sets", (10, 30)),
        ("two judges", (30,)),
    ),
}  # fmt: skip
CLUSTERED = ("cluster", "targets", "templates", "decisions", "words", "refusals")
"""Words of designs whose n counts clusters of several units."""
NOT_COMPARED = ("two judges", "refusals")
"""Designs of measures that no two models are compared by."""


def _cells() -> Iterator[Cell]:
    for family, designs in DESIGNS.items():
        for design, sizes in designs:
            for n in sizes:
                for kind in KINDS[:1] if design in NOT_COMPARED else KINDS:
                    least = LEAST_CLUSTERS if any(word in design for word in CLUSTERED) else LEAST_UNITS
                    yield Cell(family, kind, design, n, n >= least, 20 if n <= 60 else 5)


CELLS: tuple[Cell, ...] = tuple(_cells())
