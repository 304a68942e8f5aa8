"""Caveats: what is missing, what is doubtful about the items, and which leans would have gone unnoticed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiltmeter.paired import Paired
from tiltmeter.reporting.html.gathering import Material
from tiltmeter.reporting.html.tabulating import pair_rows
from tiltmeter.reporting.words import headline
from tiltmeter.significance import smallest_difference
from tiltmeter.studies._evidence import Evidence
from tiltmeter.studies._flags import FLAGS, FLUENCY, Limits, flags_of

Flags = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Missing:
    """Why items have no estimate by some scores."""

    model: str
    benchmark: str
    scorer: str
    count: int
    of: int
    why: str


def missing(material: Material) -> list[Missing]:
    """Per model and benchmark: how many items are missing from the overall rows of which scores, and why."""
    rows = material.estimates
    rows = rows[rows["by"].isin(["all", "group", "gap"]) & (rows["n_missing"] > 0)]
    found: dict[tuple[Any, ...], list[str]] = {}
    for (model, benchmark, scorer), ours in rows.groupby(["model", "benchmark", "scorer"], sort=False):
        row = ours.loc[ours["n_missing"].idxmax()]
        reasons = Counter(json.loads(row["missing"])) if isinstance(row["missing"], str) and row["missing"] else {}
        why = "; ".join(f"{reason} ({count:,})" for reason, count in reasons.items()) or "no reason given"
        n = int(row["n_missing"])
        found.setdefault((str(model), str(benchmark), n, n + int(row["n"]), why), []).append(str(scorer))
    return [
        Missing(model, benchmark, ", ".join(names), n, of, why) for (model, benchmark, n, of, why), names in found.items()
    ]


def benchmark_remarks(material: Material) -> list[str]:
    """What was noted when a benchmark was read, and items that have no score at all."""
    said = []
    for source in material.sources:
        for one in source.evaluations():
            name = source.benchmarks.get(one["benchmark"]["name"], one["benchmark"]["name"])
            said += [f"{name}: {what} ({count:,})" for what, count in one["benchmark"].get("notes", {}).items()]
            items, scored = one["benchmark"].get("items"), one["benchmark"].get("scored_items")
            if items and scored and scored < items:
                said.append(f"{name}: {items - scored:,} of {items:,} items are not scored")
    return list(dict.fromkeys(said))


def power(material: Material) -> Iterator[tuple[str, str, str, str, str]]:
    """Model, benchmark, measure, pairs, and the smallest lean that they show with 80 % power, from the interval's width."""
    confidence = material.settings.confidence
    for (model, benchmark), ours in pair_rows(material).groupby(["model", "benchmark"], sort=False):
        head = headline(ours)
        if head is None or not np.isfinite(head["low"]):
            continue
        # An interval reaches as far as a lean that is noticed half of the time.
        error = (head["high"] - head["low"]) / (2 * smallest_difference(1.0, confidence, power=0.5))
        least = smallest_difference(error, confidence)
        shown = f"{least:.1f}" if least < head["neutral"] else "none: too few pairs"
        yield str(model), str(benchmark), f"{head['measure']} by {head['scorer']}", f"{head['n']:,}", shown


def item_flags(material: Material) -> Flags:
    """Benchmark → flag → which of its scored items have it (see the study `quality`)."""
    evidence = Evidence(material.scores)
    pairs = list(_fluency_pairs(evidence.pairs))
    used = {(one.model, one.benchmark, one.scorer) for one in pairs}
    found: Flags = {}
    for benchmark in material.scores.frame["benchmark"].unique():
        items = evidence.items(str(benchmark))
        ours = [one for one in pairs if one.benchmark == benchmark]
        flags = flags_of(items, ours, _lengths(material, str(benchmark), used), Limits())
        found[str(benchmark)] = {name: set(items["item"][at]) for name, at in flags.items()}
    return found


def _fluency_pairs(pairs: Sequence[Paired]) -> Iterator[Paired]:
    """Of each model and benchmark the score that tells fluency: the others are not read."""
    best: dict[tuple[str, str], Paired] = {}
    for one in sorted((one for one in pairs if one.scorer in FLUENCY), key=lambda one: FLUENCY.index(one.scorer)):
        best.setdefault((one.model, one.benchmark), one)
    yield from best.values()


def _lengths(material: Material, benchmark: str, used: set[tuple[str, str, str]]) -> dict[Any, int]:
    """Tokens of each sentence, by model, scorer, item and role."""
    frame = material.scores.frame[material.scores.frame["benchmark"] == benchmark]
    counts: dict[Any, int] = {}
    for model, _, scorer in (key for key in used if key[1] == benchmark):
        ours = frame[(frame["model"] == model) & (frame["scorer"] == scorer)]
        columns = (ours[name].tolist() for name in ("item", "role", "n_tokens"))
        counts |= {(model, scorer, item, role): count for item, role, count in zip(*columns, strict=True)}
    return counts


def flag_remarks(flags: Flags, sizes: dict[str, int]) -> Iterator[tuple[str, str, str, str]]:
    """Benchmark, flag in words, how many, share."""
    for benchmark, found in flags.items():
        for name, items in found.items():
            if items:
                share = 100 * len(items) / max(1, sizes[benchmark])
                yield benchmark, FLAGS.get(name, name), f"{len(items):,}", f"{share:.1f} %"
