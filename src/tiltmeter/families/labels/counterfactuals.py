"""Counterfactual texts: the same text about another group, by our lists of terms or by one of the user's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.benchmarks import Item
from tiltmeter.benchmarks.kit.groups import group_name, group_terms
from tiltmeter.benchmarks.kit.labelled import TEXT, spread
from tiltmeter.builders.aligned import Aligned, read_aligned
from tiltmeter.builders.swapping import Swap

ARTICLE = re.compile(r"\b([Aa])n?(?=\s+(\w))")


@dataclass(frozen=True)
class Swapped:
    """A text that names another group: whose words were replaced, and by whose."""

    item: str
    domain: str
    group: str
    other: str
    text: str


def swaps_of(path: Path | None) -> Mapping[str, Aligned]:
    """Lists of aligned terms by domain."""
    if path is None:
        return group_terms()
    given = read_aligned(path)
    return {given.name: Aligned(given.name, tuple(map(group_name, given.groups)), given.rows, given.names, given.pronouns)}


def swapped(items: Sequence[Item], terms: Mapping[str, Aligned], most: int) -> list[Swapped]:
    """Every text that has words of exactly one group of a domain, about each other group of the domain."""
    lists = {
        domain: (Swap((one,)), [_pattern(one.column(n)) for n in range(len(one.groups))]) for domain, one in terms.items()
    }
    found = [of_item for item in items if (of_item := list(_swapped(item, lists)))] if most else []
    return [one for of_item in spread(found, most) for one in of_item] if found else []


def _swapped(item: Item, lists: Mapping[str, tuple[Swap, list[re.Pattern[str]]]]) -> Iterator[Swapped]:
    text = item.texts[TEXT]
    for domain, (swap, patterns) in lists.items():
        own = [n for n, pattern in enumerate(patterns) if pattern.search(text)]
        groups = swap.lists[0].groups
        for way in range(1, len(groups)) if len(own) == 1 else ():
            changed = _agreed(text, swap(text, way))
            if changed != text:
                yield Swapped(item.id, domain, groups[own[0]], groups[(own[0] + way) % len(groups)], changed)


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)", re.IGNORECASE)


def _agreed(before: str, after: str) -> str:
    """Correct articles whose next word has changed: "an Asian" becomes "a Black".

    >>> _agreed("an Asian man and an hour", "an Black man and an hour")
    'a Black man and an hour'
    """
    old = [found.group(2) for found in ARTICLE.finditer(before)]
    new = list(ARTICLE.finditer(after))
    if len(old) != len(new):
        return after
    parts, end = [], 0
    for first, found in zip(old, new, strict=True):
        if found.group(2).lower() != first.lower():
            article = found.group(1) + ("n" if found.group(2).lower() in "aeiou" else "")
            parts += [after[end : found.start()], article]
            end = found.end()
    return "".join([*parts, after[end:]])
