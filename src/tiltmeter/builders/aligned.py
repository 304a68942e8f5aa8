"""Aligned terms: rows of words that differ in the group they stand for and in nothing else (woman, man)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.storage.places import at_home
from tiltmeter.storage.tables import NO_GROUP, read_table

PRONOUNS = frozenset(("her", "hers", "him", "his"))
"""Not aligned: her is his or him, his is her or hers. Which one is told by the words around."""
GENDER = "gender"
NAMES = "names"


@dataclass(frozen=True)
class Aligned:
    """One row per meaning, one column per group. `names` are matched as they are written, or all in capitals."""

    name: str
    groups: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: bool = False
    pronouns: bool = False
    """Whether her, hers, him and his belong to these groups; first the group of "her", then that of "his"."""

    @property
    def sha256(self) -> str:
        """Of the rows, for a manifest."""
        return hashlib.sha256(json.dumps(self.rows, ensure_ascii=False).encode()).hexdigest()

    def column(self, group: int) -> tuple[str, ...]:
        """The words of one group."""
        return tuple(row[group] for row in self.rows)


def gender_terms() -> Aligned:
    """Our own list: that of plumb-slots, and more that people are called."""
    ours = files("tiltmeter.benchmarks") / "data" / "gender_terms.jsonl"
    more = files("tiltmeter.builders") / "data" / "more_gender_terms.jsonl"
    rows = [json.loads(line) for place in (ours, more) for line in place.read_text("utf-8").splitlines()]
    return make_aligned(GENDER, rows, "our list of gender terms")


def first_names() -> Aligned:
    """Our own short list of first names."""
    place = files("tiltmeter.builders") / "data" / "first_names.jsonl"
    rows = [json.loads(line) for line in place.read_text("utf-8").splitlines()]
    return make_aligned(NAMES, rows, "our list of first names", names=True)


def read_aligned(path: str | Path, *, names: bool = False) -> Aligned:
    """From a file (CSV, TSV, JSON, JSONL) with one column per group and one row per meaning."""
    place = at_home(path)
    if not place.is_file():
        raise TiltmeterError(f"There is no file {place} of aligned terms.")
    return make_aligned(place.stem, read_table(place, None), str(place), names=names)


def make_aligned(name: str, rows: Sequence[Mapping[str, Any]], where: str, *, names: bool = False) -> Aligned:
    """Checks that every term has its counterparts, and only one row: else a swap could not be undone."""
    groups = tuple(dict.fromkeys(key for row in rows for key in row if key not in NO_GROUP))
    if len(groups) < 2:
        raise TiltmeterError(f"{where}: one column per group is needed, two at least; found {', '.join(groups) or 'none'}.")
    found = [tuple(str(row.get(group) or "").strip() for group in groups) for row in rows]
    pronouns = not names and any({word.lower() for word in row} >= {"she", "he"} for row in found)
    kept = [row for row in found if not (pronouns and {word.lower() for word in row} <= PRONOUNS)]
    _check(kept, groups, where)
    if pronouns:
        groups, kept = _her_group_first(groups, kept)
    return Aligned(name, groups, tuple(kept), names, pronouns)


def _check(rows: Iterable[tuple[str, ...]], groups: Sequence[str], where: str) -> None:
    seen: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        if empty := [group for group, word in zip(groups, row, strict=True) if not word]:
            given = next((word for word in row if word), "")
            raise TiltmeterError(f"{where} is not aligned: row {number} ('{given}') has no term for {empty[0]}.")
        if len({word.lower() for word in row}) < len(row):
            raise TiltmeterError(f"{where} is not aligned: row {number} has '{row[0]}' for two groups.")
        for word in row:
            if (first := seen.setdefault(word.lower(), number)) != number:
                raise TiltmeterError(
                    f"{where} is not aligned: '{word}' is in rows {first} and {number}, so a swap could not be undone."
                )
    if not seen:
        raise TiltmeterError(f"{where} has no terms.")


def _her_group_first(groups: tuple[str, ...], rows: list[tuple[str, ...]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    she = next(row for row in rows if {word.lower() for word in row} >= {"she", "he"})
    low = [word.lower() for word in she]
    order = [low.index("she"), low.index("he"), *(n for n, word in enumerate(low) if word not in ("she", "he"))]
    return tuple(groups[n] for n in order), [tuple(row[n] for n in order) for row in rows]
