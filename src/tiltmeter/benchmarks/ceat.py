"""CEAT (Guo and Caliskan, 2021): word associations in the contexts of a corpus; also per group, as Cao et al. (2022) do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.association import AssociationBenchmark, AssociationTest, Polarity, WordSet, word_set
from tiltmeter.benchmarks.kit.items import Note
from tiltmeter.benchmarks.kit.word_sets import REPEATED, WordFile, read_document
from tiltmeter.errors import InputError
from tiltmeter.storage.compression import content_sha256, is_file, title_of
from tiltmeter.storage.places import user_cache

CITATION = "Guo and Caliskan (2021), AIES; groups and toxicity words: Cao et al. (2022), ACL, Table 4 and Appendix D."
FOLDER = "ceat-word-lists"
LISTS = "ceat_word_lists.json"
DOMAINS = {
    "C3": "race",
    "C4": "race",
    "C5": "race",
    "C6": "gender",
    "C7": "gender",
    "C8": "gender",
    "C9": "health",
    "C10": "age",
}


def ceat(
    words: str | Path | None = None, *, data_dir: str | Path | None = None, labels: bool = False
) -> AssociationBenchmark:
    """Protected groups against attributes: your own word sets; else the published ones in the data folder; else ours.

    Ours have several words for each group, or one label (`labels`), as Cao et al. print them in their Table 4. The toxic
    and anti-toxic words are those of their Appendix D.
    """
    file = WordFile(words)
    groups = file.groups(for_ceat=True, labels=labels)
    notes = file.notes
    polarities = (*file.polarities(), *file.polarities("ceat_attributes"))
    tests: tuple[AssociationTest, ...] = ()
    folder = _folder(data_dir) if words is None else None
    if folder is not None:
        lists = read_document(folder / LISTS)
        tests = tuple(_test(key, lists[key], notes, folder / LISTS) for key in lists)
    if words is None:
        polarities, further = published_attributes(data_dir)
        notes += further
    if not (groups and polarities):
        raise InputError(
            f"{file.path} has no groups or attributes.",
            code="missing-value",
            file=str(file.path),
            keys=["groups", "attributes"],
        )
    own = "ceat-labels" if labels else "ceat"
    return AssociationBenchmark(
        name=title_of(Path(words)) if words else own, items=(), source=str(folder or file.source),
        sha256=content_sha256(file.path), citation=CITATION,
        notes=tuple(notes), kind="ceat", tests=tests, groups=groups, polarities=polarities,
    )  # fmt: skip


def published_attributes(data_dir: str | Path | None = None) -> tuple[tuple[Polarity, ...], list[Note]]:
    """Pleasant and unpleasant words of the data folder, else ours, then the words of Cao et al.'s Appendix D; and a note."""
    file, folder = WordFile(), _folder(data_dir)
    toxicity = file.polarities("ceat_attributes")
    if folder is not None:
        return (_published(read_document(folder / LISTS), folder), *toxicity), []
    note = Note("attributes", f"the published words ({FOLDER}/) are not here, so tiltmeter's own attributes are used")
    return (*file.polarities(), *toxicity), [note]


def _published(lists: dict[str, Any], folder: Path) -> Polarity:
    pleasant, unpleasant = (_list(lists.get("C1"), side, folder / LISTS) for side in "AB")
    return Polarity("valence", WordSet("pleasant", tuple(pleasant)), WordSet("unpleasant", tuple(unpleasant)))


def _list(lists: Any, name: str, path: Path) -> list[str]:
    words = lists.get(name) if isinstance(lists, dict) else None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(
            f"{path} has no list of words '{name}' where one is expected.", code="missing-value", file=str(path), keys=[name]
        )
    return words


def _test(name: str, lists: Any, notes: list[Note], path: Path) -> AssociationTest:
    sets = []
    for side in ("X", "Y", "A", "B"):
        words, dropped = word_set(side, _list(lists, side, path))
        notes += [Note(f"{name} {side}", REPEATED)] * dropped
        sets.append(words)
    return AssociationTest(name, tuple(sets), DOMAINS.get(name, "intersectional" if name.startswith("I") else "baseline"))


def _folder(data_dir: str | Path | None) -> Path | None:
    given = data_dir or os.environ.get("TILTMETER_DATA")
    places = [Path(given) / FOLDER] if given else []
    return next((place for place in (*places, user_cache() / "data" / FOLDER) if is_file(place / LISTS)), None)
