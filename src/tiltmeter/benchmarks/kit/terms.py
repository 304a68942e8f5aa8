"""Lists of words per group: what may fill a slot, and which group it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.errors import InputError
from tiltmeter.storage.compression import plain_path, require_file
from tiltmeter.storage.strict_json import parse_json
from tiltmeter.storage.tables import NO_GROUP, TYPES, decode, read_bytes, read_table, refuse_long_rows

Terms = dict[str, tuple[str, ...]]


def read_terms(path: str | Path, encoding: str | None = None) -> Terms:
    """Groups and their words from a file, in its order.

    Three layouts: rows with `group` and `term`; aligned rows with one column per group ({"female": "woman", "male":
    "man"}); one JSON object of lists ({"female": ["woman", …], …}). Words are taken as they are written: list "Woman" too
    if it may begin a sentence and the model knows case.
    """
    path = Path(path)
    require_file(path, " (--terms)", pipes=True)
    if plain_path(path).suffix.lower() == ".json" and (groups := _object_of_lists(path, encoding)) is not None:
        return check_terms(groups, str(path))
    rows = read_table(path, encoding)
    refuse_long_rows(rows, path)
    in_rows = "group" in rows[0] and "term" in rows[0]
    gathered: dict[str, list[str]] = {}
    for number, row in enumerate(rows, 1):
        where = f"{path}, row {number}"
        pairs = [(row.get("group"), row.get("term"))] if in_rows else row.items()
        for group, word in pairs:
            if in_rows or group not in NO_GROUP:
                _gather(gathered, _clean(group, where), _clean(word, where), where)
    return check_terms(gathered, str(path))


def _gather(gathered: dict[str, list[str]], group: str, word: str, where: str) -> None:
    if word and not group:
        raise InputError(
            f"{where}: the term '{word}' has no group.", code="missing-value", file=str(where), term=word, keys=["group"]
        )
    gathered.setdefault(group, []).append(word)


def check_terms(groups: Mapping[str, Sequence[str]], where: str) -> Terms:
    """Words without repeats; refuses a group without words, a word of two groups, and fewer than two groups."""
    terms = {group: tuple(dict.fromkeys(word for word in words if word)) for group, words in groups.items() if group}
    empty = [group for group, words in terms.items() if not words]
    if empty:
        raise InputError(
            f"{where}: the group '{empty[0]}' has no terms.",
            code="missing-value",
            file=str(where),
            group=empty[0],
            keys=["term"],
        )
    if len(terms) < 2:
        raise InputError(
            f"{where} names {len(terms)} group(s) of terms; a lean needs two. Give rows with group and term, or one column "
            "per group.",
            code="wrong-shape",
            file=str(where),
            groups=len(terms),
        )
    owner: dict[str, str] = {}
    for group, words in terms.items():
        for word in words:
            if owner.setdefault(word, group) != group:
                raise InputError(
                    f"{where}: '{word}' is a term of {owner[word]} and of {group}; it can stand for one.",
                    code="duplicate-name",
                    file=str(where),
                    kind="term",
                    name=word,
                    groups=[owner[word], group],
                )
    return terms


def _object_of_lists(path: Path, encoding: str | None) -> dict[str, list[str]] | None:
    document = parse_json(decode(read_bytes(path), path, encoding), str(path))
    if not isinstance(document, dict):
        return None
    if not all(isinstance(words, list) for words in document.values()):
        raise InputError(f"{path}: expected a list of words for each group.", code="wrong-type", file=str(path))
    return {
        _clean(group, str(path)): [_clean(word, f"{path}, '{group}'") for word in words] for group, words in document.items()
    }


def _clean(value: Any, where: str) -> str:
    """A group or a word in one line; missing is empty."""
    if value is not None and not isinstance(value, str):
        raise InputError(
            f"{where}: expected a word, not {TYPES.get(type(value), 'this')}.", code="wrong-type", file=str(where)
        )
    return " ".join((value or "").split())
