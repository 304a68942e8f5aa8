"""A sequential check: items in a fixed random order, until every rule is decided or the budget is spent.

Two kinds of looks decide, and each spends one half of the error rate that a rule allows. Early looks use confidence
sequences (`stats/sequential.py`), which hold at any stopping time. A rule that they leave open until its last item gets the
verdict of the full gate. At 95 % either kind errs on one side of a limit with probability 2.5 % at most, so a model at its
limit fails with probability 5 % at most, whenever the check stops.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from tiltmeter import catalog
from tiltmeter.benchmarks.kit.items import group_column
from tiltmeter.errors import UsageError
from tiltmeter.families import Answers, find_family
from tiltmeter.families.kit.clusters import clusters_of
from tiltmeter.gate.decision import FAIL, UNDECIDED, Decision
from tiltmeter.gate.evidence import plain
from tiltmeter.gate.judge import judge, refuse_baseline, refuse_itself
from tiltmeter.gate.numbers import refuse_unfounded
from tiltmeter.gate.rule import Rule
from tiltmeter.gate.rules_file import RuleBook
from tiltmeter.gate.sense import check_sense
from tiltmeter.gate.sequential_result import ALL_ITEMS, EARLY, OPEN, SequentialDecision, SequentialFinding
from tiltmeter.gate.sources import Source
from tiltmeter.gate.track import Track

FIRST = 50
"""Clusters before the first look."""
GROWTH = 1.5
"""Growth of the sample from one look to the next."""


def decide_sequentially(source: Source, book: RuleBook, *, seed: int = 0, budget: int | None = None) -> SequentialDecision:
    """Check rules on as few items as decide them.

    Args:
        source: A stored run, or models to query.
        book: The rules. Each must be about a measure that is a share of items.
        seed: Decides the order of items.
        budget: Most items to read or ask, over all benchmarks.

    Raises:
        UsageError: A rule cannot be checked sequentially (`inapplicable-option`), or a baseline is missing or not needed.
        RunError: A number cannot be judged, as in the full gate.
    """
    for rule in book.rules:
        _refuse(rule)
    refuse_baseline(book.rules, has_baseline=bool(source.baseline))
    refuse_itself(source, book.rules)
    source.refuse(book.rules)
    queues = {name: _Queue(source, name, seed) for name in dict.fromkeys(rule.benchmark for rule in book.rules)}
    tracks = [track for rule in book.rules for track in queues[rule.benchmark].tracks(rule)]
    spent, left = 0, budget if budget is not None else sum(len(queue.table) for queue in queues.values())
    while left > 0:
        blocks = [
            (queue, block) for queue in queues.values() if (block := queue.next_block(needed_items(tracks, queue), left))
        ]
        if not blocks:
            break
        for queue, block in blocks:
            queue.read(block, [track for track in tracks if track.rule.benchmark == queue.benchmark])
            spent += sum(map(len, block))
            left -= sum(map(len, block))
        decided = [track for track in tracks if track.look(len(tracks))]
        if decided:
            refuse_unfounded(source.evidence(), [(track.rule, track.model, track.group) for track in decided])
    full = judge(source.evidence(), book) if _exhausted(tracks) else None
    total = sum(len(queue.table) for queue in queues.values())
    findings = tuple(_finding(track, full) for track in tracks)
    return SequentialDecision(book.rules, findings, book.undecided, source.baseline, spent, total, seed)


def _refuse(rule: Rule) -> None:
    measure = check_sense(rule)
    why = "pooled groups have no confidence sequence" if rule.pooled else "" if measure.spec.proportion else "it is no share"
    if why:
        raise _not_sequential(rule, why)


def _not_sequential(rule: Rule, why: str) -> UsageError:
    message = f"{rule.text} cannot be checked sequentially: {why}. Check the whole run without --sequential."
    return UsageError(message, code="inapplicable-option", rule=rule.text, option="--sequential", reason=why)


def is_open(track: Track, tracks: Sequence[Track]) -> bool:
    """Return whether a number still matters: it is undecided, and no other group has failed the same rule."""
    same = (other for other in tracks if (other.rule, other.model) == (track.rule, track.model))
    return track.verdict == UNDECIDED and not any(other.verdict == FAIL for other in same)


def needed_items(tracks: Sequence[Track], queue: _Queue) -> frozenset[str]:
    """Return the items that some open number is about."""
    ours = [track for track in tracks if track.rule.benchmark == queue.benchmark]
    return frozenset().union(*(track.members for track in ours if is_open(track, ours)))


def _exhausted(tracks: Sequence[Track]) -> list[Track]:
    return [track for track in tracks if is_open(track, tracks) and track.items_read == len(track.members)]


def _finding(track: Track, full: Decision | None) -> SequentialFinding:
    place = (track.rule, track.model, track.group, len(track.members), track.items_read)
    if track.verdict != UNDECIDED:
        return SequentialFinding(*place, track.value(), *track.interval, track.verdict, EARLY)
    if full is not None and track.items_read == len(track.members):
        for ruling in full.rulings:
            for one in ruling.findings if (ruling.rule, ruling.model) == (track.rule, track.model) else ():
                if one.group == track.group:
                    return SequentialFinding(*place, one.value, one.low, one.high, one.verdict, ALL_ITEMS)
    return SequentialFinding(*place, track.value(), *track.interval, UNDECIDED, OPEN)


class _Queue:
    """The clusters of one benchmark in their order, and which have been read."""

    def __init__(self, source: Source, benchmark: str, seed: int) -> None:
        self.source, self.benchmark = source, benchmark
        self.table = source.items(benchmark)
        self.items = [str(item) for item in self.table["item"]]
        self.waiting = self._ordered(seed)
        self.done = 0
        self.scorers: dict[str, None] = {}

    def _ordered(self, seed: int) -> list[tuple[str, ...]]:
        about = Answers("", {"": self.table}, self.table)
        names, _ = clusters_of(about, self.table)
        clusters: dict[str, list[str]] = {}
        for item, name in zip(self.items, names, strict=True):
            clusters.setdefault(f"item {item}" if name is None else f"cluster {name}", []).append(item)
        self.largest = float(max(map(len, clusters.values()), default=1))
        lot = {name: hashlib.sha256(f"{seed} {self.benchmark} {name}".encode()).hexdigest() for name in clusters}
        return [tuple(clusters[name]) for name in sorted(clusters, key=lot.__getitem__)]

    def tracks(self, rule: Rule) -> Iterator[Track]:
        """The numbers of a rule: one for each model and group."""
        self.scorers[rule.scorer] = None
        labels = [rule.group] * len(self.items) if rule.by == "all" else group_column(self.table, self.items, rule.by)
        groups = sorted({label for label in labels if label is not None}) if rule.worst else [rule.group]
        for group in groups:
            ours = frozenset(
                item for item, of in zip(self.items, labels, strict=True) if of is not None and plain(of) == plain(group)
            )
            if not ours:
                raise UsageError(
                    f"{rule.text}: {self.benchmark} has no {rule.by} '{group}'.",
                    code="unknown-name",
                    kind="group",
                    name=group,
                    rule=rule.text,
                )
            for model in [rule.model] if rule.model else self.source.models:
                yield Track(rule, model, group, ours, self.largest)

    def next_block(self, needed: frozenset[str], most: int) -> list[tuple[str, ...]]:
        """Take the next clusters that have a needed item: as many as the sample grows by, with at most so many items."""
        wanted = max(FIRST, round(self.done * (GROWTH - 1)))
        block: list[tuple[str, ...]] = []
        kept: list[tuple[str, ...]] = []
        for cluster in self.waiting:
            size = sum(map(len, block)) + len(cluster)
            is_taken = len(block) < wanted and size <= most and not needed.isdisjoint(cluster)
            (block if is_taken else kept).append(cluster)
        self.waiting = kept
        self.done += len(block)
        return block

    def read(self, block: Sequence[Sequence[str]], tracks: Sequence[Track]) -> None:
        """Read the answers to a block and add them to the numbers that are still open."""
        ids = [item for cluster in block for item in cluster]
        answers = self.source.answers(self.benchmark, list(self.scorers), ids)
        values: dict[str, dict[Any, tuple[float, bool]]] = {}
        for track in (track for track in tracks if track.verdict == UNDECIDED):
            if track.rule.measure not in values:
                values[track.rule.measure] = _shares(answers, track.rule)
            known = values[track.rule.measure]
            for cluster in block:
                ours = [item for item in cluster if item in track.members]
                if ours:
                    track.add([_answer(known, track, self.source.baseline, item) for item in ours])


def _shares(answers: Answers, rule: Rule) -> dict[Any, tuple[float, bool]]:
    """Contribution of every answer to a measure: (model, scorer, item) to a share from 0 to 1, and True for a tie."""
    measure = catalog.find("measures", rule.measure)
    table = find_family(answers.family).unit_values(answers, measure)
    if table is None:
        raise _not_sequential(rule, f"{answers.family} does not say what each item adds to {rule.measure}")
    keys = zip(table["model"], table["scorer"], table["item"].astype(str), strict=True)
    tied = table["tied"].astype(bool) if "tied" in table else [False] * len(table)
    shares = (table["value"] / measure.spec.proportion).astype(float)
    return dict(zip(keys, zip(shares, tied, strict=True), strict=True))


def _answer(shares: dict[Any, tuple[float, bool]], track: Track, baseline: str, item: str) -> tuple[float, float, bool]:
    """Shares of the model and of the baseline for one item, and whether one of them is a tie."""
    absent = (float("nan"), False)
    ours = shares.get((track.model, track.rule.scorer, item), absent)
    theirs = shares.get((baseline, track.rule.scorer, item), absent) if track.rule.needs_baseline else (0.0, False)
    return ours[0], theirs[0], ours[1] or theirs[1]
