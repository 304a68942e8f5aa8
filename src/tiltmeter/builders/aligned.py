"""Aligned terms: rows of words that differ in the group they stand for and in nothing else (woman, man)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from tiltmeter.errors import InputError
from tiltmeter.storage.files import read_json
from tiltmeter.storage.lines import read_lines
from tiltmeter.storage.places import at_home
from tiltmeter.storage.tables import NO_GROUP, read_table

PRONOUNS = frozenset(("her", "hers", "him", "his"))
"""Not aligned: her is his or him, his is her or hers. The words around decide."""
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
    """True if her, hers, him and his belong to these groups; first the group of "her", then that of "his"."""
    pronoun_rows: tuple[tuple[str, ...], ...] = ()
    """Rows of such pronouns alone (his and her): a swap follows the words around instead, other methods read them."""

    @property
    def pairs(self) -> tuple[tuple[str, ...], ...]:
        """All rows of the list, once each, with those of pronouns."""
        return tuple(dict.fromkeys((*self.rows, *self.pronoun_rows)))

    @property
    def repeated(self) -> tuple[str, ...]:
        """Words in several rows. A swap takes the first."""
        rows = dict.fromkeys(tuple(word.lower() for word in row) for row in self.rows)
        counts = Counter(word for row in rows for word in row)
        return tuple(sorted(word for word, n in counts.items() if n > 1))

    @property
    def sha256(self) -> str:
        """Digest of the rows, for a manifest."""
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


def read_aligned(path: str | Path, *, names: bool = False, repeats: bool = False) -> Aligned:
    """From a table (CSV, TSV, JSON, JSONL) with one column per group and one row per meaning.

    Lists of papers are read as they are: text files with a term a line, one file per group, with commas between
    (`female.txt,male.txt`), and JSON with lists of rows under a name (`words.json#gender`).

    Args:
        path: The file or files.
        names: The terms are first names.
        repeats: A term may be in several rows, as in most published lists.
    """
    text = str(path)
    if "," in text and not at_home(text).is_file():
        return _from_columns([at_home(part.strip()) for part in text.split(",")], names=names, repeats=repeats)
    if "#" in text and not at_home(text).is_file():
        return _from_key(*text.rsplit("#", 1), names=names, repeats=repeats)
    place = at_home(path)
    if not place.is_file():
        raise InputError(f"There is no file {place} of aligned terms.", code="missing-file", file=place)
    return make_aligned(place.stem, read_table(place, None), str(place), names=names, repeats=repeats)


def _from_columns(places: Sequence[Path], *, names: bool, repeats: bool) -> Aligned:
    if absent := [place for place in places if not place.is_file()]:
        raise InputError(f"There is no file {absent[0]} of terms.", code="missing-file", file=str(absent[0]))
    columns = [[line.strip() for line in read_lines(place) if line.strip()] for place in places]
    where = ", ".join(map(str, places))
    if len({len(column) for column in columns}) != 1:
        counts = [len(column) for column in columns]
        raise InputError(f"{where}: as many terms are needed in each; found {counts}.", code="wrong-shape", counts=counts)
    rows = [dict(zip([place.stem for place in places], row, strict=True)) for row in zip(*columns, strict=True)]
    return make_aligned("-".join(place.stem for place in places), rows, where, names=names, repeats=repeats)


def _from_key(file: str, key: str, *, names: bool, repeats: bool) -> Aligned:
    said = read_json(at_home(file))
    rows = said.get(key) if isinstance(said, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows):
        raise InputError(f"{file} has no rows of terms under '{key}'.", code="missing-value", file=file, key=key)
    found = [{f"{key} {n}": word for n, word in enumerate(row, 1)} for row in rows]
    return make_aligned(key, found, f"{file}#{key}", names=names, repeats=repeats)


def make_aligned(
    name: str, rows: Sequence[Mapping[str, Any]], where: str, *, names: bool = False, repeats: bool = False
) -> Aligned:
    """Check that every term has its counterparts, and, unless `repeats`, only one row: else a swap could not be undone."""
    groups = tuple(dict.fromkeys(key for row in rows for key in row if key not in NO_GROUP))
    if len(groups) < 2:
        message = f"{where}: one column per group is needed, two at least; found {', '.join(groups) or 'none'}."
        raise InputError(message, code="missing-column", file=where, columns=list(groups))
    found = [tuple(str(row.get(group) or "").strip() for group in groups) for row in rows]
    pronouns = not names and any({word.lower() for word in row} >= {"she", "he"} for row in found)
    apart = [row for row in found if pronouns and {word.lower() for word in row} <= PRONOUNS]
    kept = [row for row in found if row not in apart]
    _check(kept, groups, where, repeats=repeats)
    if pronouns:
        order = _her_group_first(kept)
        groups = tuple(groups[n] for n in order)
        kept, apart = ([tuple(row[n] for n in order) for row in some] for some in (kept, apart))
    return Aligned(name, groups, tuple(kept), names, pronouns, tuple(apart))


def _check(rows: Iterable[tuple[str, ...]], groups: Sequence[str], where: str, *, repeats: bool) -> None:
    seen: dict[str, tuple[int, int]] = {}
    for number, row in enumerate(rows, 1):
        if empty := [group for group, word in zip(groups, row, strict=True) if not word]:
            word = next((word for word in row if word), "")
            message = f"{where} is not aligned: row {number} ('{word}') has no term for {empty[0]}."
            raise InputError(message, code="missing-value", file=where, row=number, group=empty[0])
        if len({word.lower() for word in row}) < len(row):
            message = f"{where} is not aligned: row {number} has '{row[0]}' for two groups."
            raise InputError(message, code="duplicate-name", file=where, row=number, term=row[0])
        for column, word in enumerate(row):
            first, group = seen.setdefault(word.lower(), (number, column))
            if group != column or (first != number and not repeats):
                raise InputError(
                    f"{where} is not aligned: '{word}' is in rows {first} and {number}"
                    + (", for two groups." if group != column else ", so a swap could not be undone."),
                    code="duplicate-name", term=word, rows=[first, number], file=where,
                )  # fmt: skip
    if not seen:
        raise InputError(f"{where} has no terms.", code="empty-file", file=where)


def _her_group_first(rows: Sequence[tuple[str, ...]]) -> list[int]:
    """The order of the columns in which that of "she" is the first and that of "he" the second."""
    she = next(row for row in rows if {word.lower() for word in row} >= {"she", "he"})
    low = [word.lower() for word in she]
    return [low.index("she"), low.index("he"), *(n for n, word in enumerate(low) if word not in ("she", "he"))]
