"""Lists of words per group: what may fill a slot, and which group it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.storage.tables import decode, read_bytes, read_table

Terms = dict[str, tuple[str, ...]]
NO_GROUP = ("form", "note", "comment", "id")
"""Columns of an aligned list that hold no words."""


def read_terms(path: str | Path, encoding: str | None = None) -> Terms:
    """Groups and their words from a file, in its order.

    Three layouts: rows with `group` and `term`; aligned rows with one column per group ({"female": "woman", "male":
    "man"}); one JSON object of lists ({"female": ["woman", …], …}). Words are taken as they are written: list "Woman" too
    if it may begin a sentence and the model knows case.
    """
    path = Path(path)
    if not path.is_file():
        raise TiltmeterError(f"There is no file {path} (--terms).")
    if path.suffix.lower() == ".json" and (groups := _object_of_lists(path, encoding)) is not None:
        return check_terms(groups, str(path))
    rows = read_table(path, encoding)
    if "group" in rows[0] and "term" in rows[0]:
        pairs = [(row.get("group"), row.get("term")) for row in rows]
    else:
        pairs = [(group, word) for row in rows for group, word in row.items() if group not in NO_GROUP]
    gathered: dict[str, list[str]] = {}
    for group, word in pairs:
        gathered.setdefault(_clean(group), []).append(_clean(word))
    return check_terms(gathered, str(path))


def check_terms(groups: Mapping[str, Sequence[str]], where: str) -> Terms:
    """Words without repeats; refuses a group without words, a word of two groups, and fewer than two groups."""
    terms = {group: tuple(dict.fromkeys(word for word in words if word)) for group, words in groups.items() if group}
    empty = [group for group, words in terms.items() if not words]
    if empty:
        raise TiltmeterError(f"{where}: the group '{empty[0]}' has no terms.")
    if len(terms) < 2:
        raise TiltmeterError(
            f"{where} names {len(terms)} group(s) of terms; a lean needs two. Give rows with group and term, or one column "
            "per group."
        )
    owner: dict[str, str] = {}
    for group, words in terms.items():
        for word in words:
            if owner.setdefault(word, group) != group:
                raise TiltmeterError(f"{where}: '{word}' is a term of {owner[word]} and of {group}; it can stand for one.")
    return terms


def _object_of_lists(path: Path, encoding: str | None) -> dict[str, list[str]] | None:
    import json

    try:
        found: Any = json.loads(decode(read_bytes(path), path, encoding))
    except json.JSONDecodeError as error:
        raise TiltmeterError(f"{path}: not JSON ({error.msg} at line {error.lineno}).") from None
    if not isinstance(found, dict):
        return None
    if not all(isinstance(words, list) for words in found.values()):
        raise TiltmeterError(f"{path}: expected a list of words for each group.")
    return {_clean(group): [_clean(word) for word in words] for group, words in found.items()}


def _clean(value: Any) -> str:
    return "" if value is None else " ".join(str(value).split())
