"""Caveats: missing items, doubtful items, and the smallest leans that can be detected."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiltmeter import catalog
from tiltmeter.display import number_text, share_text
from tiltmeter.families import find_family
from tiltmeter.families.kit.reading import readings
from tiltmeter.families.kit.reading import remarks as reading_remarks
from tiltmeter.families.kit.story import Story
from tiltmeter.reporting.html.material import Material
from tiltmeter.reporting.narratives import overall_rows
from tiltmeter.stats.significance import smallest_difference


@dataclass(frozen=True)
class Missing:
    """Why items are missing from the estimates by some scorers."""

    model: str
    benchmark: str
    scorer: str
    count: int
    of: int
    why: str


def missing(material: Material) -> list[Missing]:
    """How many items are missing from the overall rows, per model, benchmark and scorers, and why."""
    rows = overall_rows(material.estimates)
    rows = rows[rows["n_missing"] > 0]
    scorers: dict[tuple[Any, ...], list[str]] = {}
    for (model, benchmark, scorer), of_scorer in rows.groupby(["model", "benchmark", "scorer"], sort=False):
        row = of_scorer.loc[of_scorer["n_missing"].idxmax()]
        reasons = Counter(json.loads(row["missing"])) if isinstance(row["missing"], str) and row["missing"] else {}
        why = "; ".join(f"{reason} ({count:,})" for reason, count in reasons.items()) or "no reason given"
        n = int(row["n_missing"])
        scorers.setdefault((str(model), str(benchmark), n, n + int(row["n"]), why), []).append(str(scorer))
    return [
        Missing(model, benchmark, ", ".join(names), n, of, why) for (model, benchmark, n, of, why), names in scorers.items()
    ]


def benchmark_remarks(material: Material) -> list[str]:
    """Notes from reading the benchmarks, and counts of items that are not scored."""
    remarks = []
    for source in material.sources:
        for evaluation in source.evaluations():
            facts = evaluation["benchmark"]
            name = source.benchmarks.get(facts["name"], facts["name"])
            remarks += [f"{name}: {what} ({count:,})" for what, count in facts.get("notes", {}).items()]
            items, scored = facts.get("items"), facts.get("scored_items")
            if items and scored and scored < items:
                remarks.append(f"{name}: {items - scored:,} of {items:,} items are not scored")
    return list(dict.fromkeys(remarks))


def reading(material: Material) -> list[tuple[str, str, str]]:
    """Model, benchmark, and what the model could not read as text."""
    found = [
        (source.models.get(model, model), source.benchmarks.get(benchmark, benchmark), remark)
        for source in material.sources
        for model, benchmark, counts in readings(source.evaluations())
        for remark in reading_remarks(counts)
    ]
    return list(dict.fromkeys(found))


def units(material: Material) -> str:
    """Name the items of all families of the page."""
    *some, last = (find_family(str(name)).UNIT for name in dict.fromkeys(material.estimates["family"]))
    return f"{', '.join(some)} and {last}" if some else last


def power(stories: Sequence[Story], confidence: float) -> Iterator[tuple[str, str, str, str, str]]:
    """Model, benchmark, measure, items, and the smallest lean detected with 80 % power, from the interval's width."""
    for story in stories:
        head = story.head
        if head is None or not np.isfinite(head["low"]):
            continue
        # An interval reaches as far as a lean that is detected half of the time.
        error = (head["high"] - head["low"]) / (2 * smallest_difference(1.0, confidence, power=0.5))
        least = smallest_difference(error, confidence)
        room = catalog.find("measures", str(head["measure"])).spec.range[1] - head["neutral"]
        places = 1 if least >= 1 else 2
        shown = number_text(least, places) if least < room else f"none: too few {find_family(head['family']).UNIT}"
        yield story.model, story.benchmark, f"{head['measure']} by {head['scorer']}", f"{head['n']:,}", shown


def flag_remarks(cards: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str, str, str]]:
    """Benchmark, meaning of a flag, how many items have it, and their share."""
    for card in cards:
        items = card.get("items", {})
        names = list(items.get("flag_names", {}).values())
        counts = Counter(n for flags in items.get("flags", ()) for n in flags)
        for n, count in sorted(counts.items()):
            some = f" of the {len(items['id']):,} shown" if "sample" in card else ""
            yield card["name"], names[n], f"{count:,}{some}", share_text(count / max(1, len(items["id"])))
