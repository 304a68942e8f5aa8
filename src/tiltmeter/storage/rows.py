"""A cache of rows of numbers by key: vectors of texts, log-probabilities of tokens. Written in parts that survive a kill."""

from __future__ import annotations

import hashlib
import uuid
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tiltmeter.storage.files import is_whole, write_checked
from tiltmeter.storage.keyed_folder import KeyedFolder
from tiltmeter.storage.keys import unmistakable

Rows = NDArray[np.float32]
T = TypeVar("T")


def key_of(*said: object) -> int:
    """64-bit key of a query."""
    return next(keys_of((), [said]))


def keys_of(said: Sequence[object], many: Iterable[Sequence[object]]) -> Iterator[int]:
    """64-bit keys of queries that begin alike: the beginning is read once.

    >>> list(keys_of(["a long text"], [(1, 2), (1, 3)])) == [key_of("a long text", 1, 2), key_of("a long text", 1, 3)]
    True
    """
    start = hashlib.blake2b(_joined(said), digest_size=8)
    for more in many:
        digest = start.copy()
        digest.update((b"\x1f" if said else b"") + _joined(more))
        yield int.from_bytes(digest.digest(), "little")


def _joined(said: Sequence[object]) -> bytes:
    return "\x1f".join(map(unmistakable, map(str, said))).encode("utf-8", "surrogatepass")


class RowCache(KeyedFolder):
    """`<root>/<key>/part-….npz`, the key made of everything that decides the numbers. Without a root nothing is kept.

    The keys of all parts are in memory, so that a part is opened only for the rows in it.
    """

    def __init__(self, root: Path | None, identity: dict[str, str]) -> None:
        super().__init__(root, identity)
        self._parts: dict[Path, int] = {}
        self._keys, self._part_of_key = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int32)

    def load(self, keys: Sequence[int]) -> dict[int, Rows]:
        """Load the stored rows, by key. A damaged part is ignored, so its rows are computed again."""
        if self.folder is None:
            return {}
        wanted = np.unique(np.array(keys, dtype=np.uint64))
        for path in sorted(set(self.folder.glob("part-*.npz")) - set(self._parts)):
            self._index(path, _read(path, lambda part: part["keys"], np.empty(0, dtype=np.uint64)))
        at = np.searchsorted(self._keys, wanted)
        at = at[at < len(self._keys)]
        holding = np.unique(self._part_of_key[at[np.isin(self._keys[at], wanted)]])
        nothing: dict[int, Rows] = {}
        parts = [path for path, number in self._parts.items() if number in holding]
        found = [_read(path, lambda part: _rows_of(part, wanted), nothing) for path in parts]
        return {key: row for rows in found for key, row in rows.items()}

    def save(self, keys: Sequence[int], rows: Rows) -> None:
        """Store one more part."""
        if self.folder is None or not len(keys):
            return
        own = np.array(keys, dtype=np.uint64)

        def write(target: Path) -> None:
            with target.open("wb") as stream:  # given a name, numpy would append a suffix of its own
                np.savez(stream, keys=own, rows=rows)

        path = self.folder / f"part-{uuid.uuid4().hex[:12]}.npz"
        write_checked(path, write)
        self._index(path, own)

    def _index(self, path: Path, keys: NDArray[np.uint64]) -> None:
        number = self._parts.setdefault(path, len(self._parts))
        keys = np.sort(keys)
        at = np.searchsorted(self._keys, keys)
        self._keys = np.insert(self._keys, at, keys)
        self._part_of_key = np.insert(self._part_of_key, at, number)


def _read(path: Path, read: Callable[[Any], T], otherwise: T) -> T:
    """Read a part; `otherwise` if it is damaged."""
    if not is_whole(path):
        return otherwise
    try:
        with np.load(path) as part:
            return read(part)
    except (OSError, ValueError, KeyError, EOFError, NotImplementedError, zipfile.BadZipFile):
        return otherwise


def _rows_of(part: Any, wanted: NDArray[np.uint64]) -> dict[int, Rows]:
    at = np.flatnonzero(np.isin(part["keys"], wanted))
    return dict(zip(part["keys"][at].tolist(), part["rows"][at], strict=True))
