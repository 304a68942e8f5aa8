"""Inventory of a cache: its entries by kind, with their size, their last use, and whether they can still be used."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tiltmeter.storage.cache_layout import CELL, is_current, read_object
from tiltmeter.storage.cache_users import used_since
from tiltmeter.storage.files import digest_of
from tiltmeter.storage.keyed_folder import KEY
from tiltmeter.storage.observations import LAYOUT_VERSION
from tiltmeter.storage.temporary import is_left_over

CELLS, OBSERVATIONS, DOWNLOADS, CARDS = "cells", "observations", "downloads", "cards"
FOLDERS = {
    CELLS: "cells",
    OBSERVATIONS: "observations",
    "vectors": "vectors",
    "templates": "templates",
    "choice_logprobs": "choice_logprobs",
    "attached": "attached",
    "judgements": "judgements",
    "served": "served",
    "classifiers": "classifiers",
    "corpora": "corpora",
    "digests": "digests",
    "trials": "trials",
    CARDS: "models",
    DOWNLOADS: "data",
}
"""Kind of entry → its folder in a cache. Anything else in a cache is not ours and is never listed or removed.

Earlier versions kept cards of models, which nothing reads any more."""
NAME = re.compile(r"[0-9a-f]{16,64}(-[0-9a-f]{8,64})?(\.parquet|\.json|\.unfinished)?")
"""The names of entries that we write. Only downloads have names of others."""
USABLE, OLD, BROKEN, LEFT_OVER = "usable", "old layout", "attachments missing", "left over"


@dataclass(frozen=True)
class CacheEntry:
    """One entry of a cache: a folder, or a file with its digest.

    `used` is the time of its last use, in seconds since 1970. `attachments` are files of other entries that a cell refers
    to; `cells` are the names of the cells that refer to this entry. `in_use`: a running process has used it.
    """

    kind: str
    name: str
    path: Path
    size: int
    used: float
    status: str = USABLE
    models: tuple[str, ...] = ()
    benchmark: str = ""
    attachments: tuple[Path, ...] = ()
    cells: tuple[str, ...] = ()
    in_use: bool = False

    def describe(self) -> dict[str, Any]:
        """Return its facts for JSON."""
        facts = {name: value for name, value in vars(self).items() if name != "attachments"}
        return facts | {"path": str(self.path), "models": list(self.models), "cells": list(self.cells)}


def list_cache(root: Path) -> list[CacheEntry]:
    """List the entries of a cache, the kinds in the order of FOLDERS and each kind by its last use.

    Attachments count as used when a cell that refers to them was used.
    """
    found = [entry for kind in FOLDERS for entry in _entries(root, kind)]
    since = used_since(root)
    found = [replace(entry, in_use=since is not None and entry.used >= since) for entry in _linked(found)]
    order = list(FOLDERS)
    return sorted(found, key=lambda entry: (order.index(entry.kind), entry.used, entry.name))


def _entries(root: Path, kind: str) -> Iterator[CacheEntry]:
    folder = root / FOLDERS[kind]
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        return
    for path in paths:
        if is_left_over(path):
            yield CacheEntry(kind, path.name, path, *measure(path), status=LEFT_OVER)
        elif NAME.fullmatch(path.name) or (kind == DOWNLOADS and not path.name.startswith(".") and _has_files(path)):
            yield _entry(kind, path)


def _entry(kind: str, path: Path) -> CacheEntry:
    entry = CacheEntry(kind, path.name, path, *measure(path))
    if kind == CELLS:
        return _cell(entry)
    if kind == OBSERVATIONS:
        current = read_object(path / KEY).get("layout") == str(LAYOUT_VERSION)
        return replace(entry, status=USABLE if current else OLD)
    return replace(entry, status=OLD) if kind == CARDS else entry


def _cell(entry: CacheEntry) -> CacheEntry:
    about = read_object(entry.path / CELL)
    manifest = _mapping(about.get("manifest"))
    model, benchmark = _mapping(manifest.get("model")), _mapping(manifest.get("benchmark"))
    places = [_mapping(kept).get("place") for kept in _mapping(about.get("attachments")).values()]
    attachments = tuple(Path(place) for place in places if isinstance(place, str))
    status = OLD if not is_current(about) else USABLE if all(place.is_file() for place in attachments) else BROKEN
    return replace(
        entry,
        status=status,
        models=tuple(str(model[name]) for name in ("shown_as",) if name in model),
        benchmark=str(benchmark.get("name", "")),
        attachments=attachments,
    )


def _linked(entries: list[CacheEntry]) -> Iterator[CacheEntry]:
    """The entries, with the cells that refer to them and the models that those cells are of."""
    cells = [entry for entry in entries if entry.kind == CELLS]
    by_folder: dict[Path, list[CacheEntry]] = defaultdict(list)
    for cell in cells:
        for folder in {folder for place in cell.attachments for folder in place.absolute().parents[:2]}:
            by_folder[folder].append(cell)
    by_weights = _models_by_weights(cells)
    for entry in entries:
        owners = by_folder.get(entry.path.absolute(), [])
        names = [name for cell in owners for name in cell.models]
        names += by_weights.get(str(read_object(entry.path / KEY).get("weights")), []) if entry.kind != CELLS else []
        yield (
            entry
            if entry.kind == CELLS
            else replace(
                entry,
                cells=tuple(cell.name for cell in owners),
                models=tuple(dict.fromkeys(names)),
                used=max([entry.used, *(cell.used for cell in owners)]),
            )
        )


def _models_by_weights(cells: Iterable[CacheEntry]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = defaultdict(list)
    for cell in cells:
        model = _mapping(_mapping(read_object(cell.path / CELL).get("manifest")).get("model"))
        names[str(model.get("weights_sha256"))] += cell.models
    return names


def measure(path: Path) -> tuple[int, float]:
    """Return the bytes and the latest modification of a file with its digest, or of everything in a folder."""
    size, latest = 0, 0.0
    for file in _files(path):
        try:
            facts = file.lstat()
        except OSError:  # removed meanwhile, or a file without a digest
            continue
        size, latest = size + facts.st_size, max(latest, facts.st_mtime)
    return size, latest


def _files(path: Path) -> Iterator[Path]:
    if path.is_symlink() or not path.is_dir():
        yield from (path, digest_of(path))
        return
    for folder, _, names in os.walk(path):
        yield from (Path(folder, name) for name in names)


def _has_files(path: Path) -> bool:
    """Return False for a folder without a file in it, such as one of a download that never began."""
    return not path.is_dir() or next(_files(path), None) is not None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
