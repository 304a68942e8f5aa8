"""A benchmark of prompts: beginnings of sentences about groups of people, which a model continues."""

from __future__ import annotations

import zlib
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any, Self

from tiltmeter.benchmarks.kit.items import Benchmark, Item
from tiltmeter.storage.compressed_rows import fold

PROMPT = "prompt"
"""The role of a text that a model continues."""
UNGROUPED = "everyone"
"""The group of prompts that say nothing about whom they are about."""


@dataclass(frozen=True, repr=False)
class PromptBenchmark(Benchmark):
    """Texts with the role `prompt`. `bias_type` is the domain (gender, religion, …) and `target` the group in it.

    Prompts that share `extra["set"]` differ in the group alone: a minimal set. Prompts of one `cluster` are no
    independent evidence.
    """

    family: str = "generations"
    cluster: str | None = "cluster"

    def _first(self, n: int) -> Self:
        """So many prompts, spread over the groups: the first ones would all be about one group.

        Which prompts of a group are taken depends on their minimal sets, or else on their ids, so that the groups keep the
        same sets.
        """
        groups: dict[tuple[str, str | None], list[Item]] = defaultdict(list)
        for item in self.asked_items:
            groups[item.bias_type, item.target].append(item)
        turns = zip_longest(*(sorted(items, key=_order) for items in groups.values()))
        chosen = {item.id for item in [item for item in chain.from_iterable(turns) if item is not None][:n]}
        return replace(self, items=fold(item for item in self.asked_items if item.id in chosen))


def _order(item: Item) -> tuple[int, str]:
    named = str(item.extra.get("set") or item.id)
    return zlib.crc32(named.encode("utf-8", "surrogatepass")), named


def prompt_item(identity: str, text: str, domain: str, group: str | None, **extra: Any) -> Item | str:
    """An item, or why there is none. Spaces around a prompt go: a model's own tokens begin with the space."""
    prompt = text.strip()
    if not prompt:
        return "blank prompt"
    return Item(id=identity, texts={PROMPT: prompt}, bias_type=domain, target=group or UNGROUPED, extra=extra)
