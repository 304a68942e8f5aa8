"""What every benchmark becomes: items, each with one text per role."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, count
from typing import Any

from tiltmeter.errors import TiltmeterError

ROLES = ("stereo", "anti", "unrelated")
GROUP_COLUMNS = ("bias_type", "direction", "target")
CROWS_BIAS_TYPES = (
    "race-color", "gender", "socioeconomic", "nationality", "religion", "age", "sexual-orientation",
    "physical-appearance", "disability",
)  # fmt: skip
UNSPECIFIED = "unspecified"
SLOT = "slot"
"""The role of a sentence with one mask, which is no pair: what fills it is measured, not how likely it is."""


@dataclass(frozen=True)
class Item:
    """One row of a benchmark. `texts` maps a role to its sentence; `context` has a BLANK where the fills go."""

    id: str
    texts: Mapping[str, str]
    bias_type: str = UNSPECIFIED
    direction: str | None = None
    target: str | None = None
    context: str | None = None
    scored: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Note:
    """Something about one row that a reader should know: it was skipped, renamed, or kept although odd."""

    row: str
    what: str


@dataclass(frozen=True)
class Benchmark:
    """Items with where they came from. `notes` tells which rows were skipped or mended, and why.

    `terms` are the words of each group that may fill the slots of a benchmark that has them.
    """

    name: str
    items: tuple[Item, ...]
    source: str = ""
    sha256: str = ""
    citation: str = ""
    notes: tuple[Note, ...] = ()
    terms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        repeated = [name for name, n in Counter(item.id for item in self.items).items() if n > 1]
        if repeated:
            raise TiltmeterError(f"{self.name}: ids must be unique, and '{repeated[0]}' is not.")

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def scored_items(self) -> tuple[Item, ...]:
        """The items that sentence scores are defined for (StereoSet's intersentence part is loaded, unscored)."""
        return tuple(item for item in self.items if item.scored)

    @cached_property
    def slot_items(self) -> tuple[Item, ...]:
        """The items with a mask to be filled."""
        return tuple(item for item in self.items if SLOT in item.texts)

    @property
    def has_context(self) -> bool:
        """Whether any scored item has a context with a BLANK."""
        return any(item.context for item in self.items if item.scored)

    def limit(self, n: int | None) -> Benchmark:
        """The first n items that can be asked only."""
        if n is None:
            return self
        if n < 1:
            raise TiltmeterError(f"--limit must be at least 1, not {n}.")
        return replace(self, items=(self.scored_items or self.slot_items)[:n])

    @cached_property
    def data_hash(self) -> str:
        """Hash of everything a model is shown; group labels do not matter to it."""
        digest = hashlib.sha256()
        for item in self.scored_items or self.slot_items:
            shown = (item.id, *chain.from_iterable(sorted(item.texts.items())), item.context or "")
            digest.update(b"\x1e" + "\x1f".join(shown).encode("utf-8", "surrogatepass"))
        for group, words in self.terms.items():
            digest.update(b"\x1d" + "\x1f".join((group, *words)).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def note_counts(self) -> dict[str, int]:
        """How often each note was made."""
        return dict(Counter(note.what for note in self.notes))


def make_benchmark(name: str, rows: Iterable[tuple[str, Item | str]], **facts: Any) -> Benchmark:
    """Builds a benchmark from (row label, item or the reason to skip it), and looks after ids.

    A repeated id is renamed, not dropped; identical sentences stay (they tie). Both are noted.
    """
    items: list[Item] = []
    notes: list[Note] = list(facts.pop("notes", ()))
    taken: set[str] = set()
    for label, row in rows:
        if isinstance(row, str):
            notes.append(Note(label, f"skipped: {row}"))
            continue
        if row.id in taken:
            notes.append(Note(label, "kept: repeated id, a number was appended"))
            item = replace(row, id=next(unused for n in count(2) if (unused := f"{row.id}#{n}") not in taken))
        else:
            item = row
        taken.add(item.id)
        if SLOT not in item.texts and item.texts.get("stereo") == item.texts.get("anti"):
            notes.append(Note(label, "kept: both sentences are identical, so they tie"))
        items.append(item)
    if not items:
        reasons = "; ".join(f"{what} ({n})" for what, n in Counter(note.what for note in notes).items())
        raise TiltmeterError(f"No usable row in {facts.get('source') or name}. {reasons or 'The file has no data rows.'}")
    return Benchmark(name=name, items=tuple(items), notes=tuple(notes), **facts)
