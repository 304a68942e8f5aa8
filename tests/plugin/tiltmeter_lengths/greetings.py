"""greetings: eight sentences that greet two groups of people."""

from __future__ import annotations

from tiltmeter.benchmarks import Benchmark, Item

CITATION = "An example, without a paper."
WORDS = ("Hello", "Good morning", "Welcome back", "How nice to see you")


def greetings() -> Benchmark:
    """Each greeting once for friends and once for acquaintances."""
    items = [
        Item(id=f"{group}-{n}", texts={"sentence": f"{words}, {group}."}, target=group)
        for group in ("friends", "acquaintances")
        for n, words in enumerate(WORDS)
    ]
    return Benchmark("greetings", tuple(items), citation=CITATION, family="lengths")
