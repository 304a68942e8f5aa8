"""Pruning of a cache: which entries go by age, size, model and kind, and how they are removed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.errors import require_known
from tiltmeter.storage.files import digest_of
from tiltmeter.storage.inventory import CELLS, DOWNLOADS, FOLDERS, USABLE, CacheEntry, list_cache, measure
from tiltmeter.storage.temporary import temporary_beside


@dataclass(frozen=True)
class Criteria:
    """Criteria for removal: an entry is removed if it satisfies every criterion that is set.

    Entries that nothing can use any more are always removed. Downloads are removed only if `kinds` names them: some of
    them may be files that you put there.

    Args:
        older_than: seconds since the last use.
        max_size: bytes that remain; the entries used least recently are removed first.
        models: names of models, as `cache list` shows them.
        kinds: kinds of entries, as in FOLDERS.
    """

    older_than: float | None = None
    max_size: int | None = None
    models: Sequence[str] = ()
    kinds: Sequence[str] = ()

    def check(self) -> None:
        """Refuse kinds that do not exist."""
        require_known("cache entry", self.kinds, FOLDERS)

    @property
    def is_empty(self) -> bool:
        """Return True if no criterion is set, so that only unusable entries are removed."""
        return self.older_than is None and self.max_size is None and not self.models and not self.kinds


def select(entries: Sequence[CacheEntry], criteria: Criteria, now: float | None = None) -> list[CacheEntry]:
    """Select the entries to remove. A cell goes with any of its attachments; nothing that is in use is selected."""
    criteria.check()
    now = time.time() if now is None else now
    listed = [entry for entry in entries if _is_meant(entry, criteria)]
    free = [entry for entry in listed if not entry.in_use]
    chosen = {entry.path: entry for entry in free if entry.status != USABLE}
    if not criteria.is_empty:
        wanted = [entry for entry in free if _matches(entry, criteria, now)]
        least = sum(entry.size for entry in listed) - (criteria.max_size or 0)
        cells = {entry.name: entry for entry in entries if entry.kind == CELLS}
        for entry in sorted(wanted, key=lambda entry: entry.used):
            if criteria.max_size is not None and sum(one.size for one in chosen.values()) >= least:
                break
            chosen[entry.path] = entry
            chosen.update((cells[name].path, cells[name]) for name in entry.cells)
    return sorted(chosen.values(), key=lambda entry: list(FOLDERS).index(entry.kind))


def _is_meant(entry: CacheEntry, criteria: Criteria) -> bool:
    return entry.kind in criteria.kinds if criteria.kinds else entry.kind != DOWNLOADS


def _matches(entry: CacheEntry, criteria: Criteria, now: float) -> bool:
    old = criteria.older_than is None or entry.used < now - criteria.older_than
    return old and (not criteria.models or bool(set(entry.models) & set(criteria.models)))


def prune(root: Path, criteria: Criteria) -> list[CacheEntry]:
    """Remove what `select` selects of a cache, and return what was removed."""
    return remove(select(list_cache(root), criteria))


def remove(entries: Iterable[CacheEntry]) -> list[CacheEntry]:
    """Remove entries, each in one step; an entry that was used since it was listed stays. Return those that are gone.

    Cells are removed before their attachments, so that a kill leaves no cell whose attachments are gone.
    """
    gone = []
    for entry in sorted(entries, key=lambda entry: entry.kind != CELLS):
        if measure(entry.path)[1] <= entry.used and _remove(entry.path):
            gone.append(entry)
    return gone


def _remove(path: Path) -> bool:
    aside = temporary_beside(path)
    try:
        path.rename(aside)
    except OSError:  # removed meanwhile, or not ours to remove
        return False
    with suppress(OSError):
        digest_of(path).unlink(missing_ok=True)
        if aside.is_dir() and not aside.is_symlink():
            shutil.rmtree(aside)
        else:
            aside.unlink()
    return True
