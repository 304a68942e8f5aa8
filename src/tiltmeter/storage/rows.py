"""A cache of rows of numbers by key: vectors of texts, log-probabilities of tokens. Written in parts that survive a kill."""

from __future__ import annotations

import hashlib
import uuid
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiltmeter.storage.files import is_whole, write_checked
from tiltmeter.storage.keyed_folder import KeyedFolder
from tiltmeter.storage.keys import unmistakable

Rows = NDArray[np.float32]


def key_of(*said: object) -> int:
    """64-bit key of a query."""
    digest = hashlib.blake2b("\x1f".join(map(unmistakable, map(str, said))).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "little")


class RowCache(KeyedFolder):
    """`<root>/<key>/part-….npz`, the key made of everything that decides the numbers. Without a root nothing is kept."""

    def load(self, keys: Sequence[int]) -> dict[int, Rows]:
        """Load the stored rows, by key. A damaged part is ignored, so its rows are computed again."""
        wanted = np.unique(np.array(keys, dtype=np.uint64))
        rows: dict[int, Rows] = {}
        for path in sorted(self.folder.glob("part-*.npz")) if self.folder else ():
            if not is_whole(path):
                continue
            try:
                with np.load(path) as part:
                    at = np.flatnonzero(np.isin(part["keys"], wanted))
                    if len(at):
                        rows.update(zip(part["keys"][at].tolist(), part["rows"][at], strict=True))
            except (OSError, ValueError, KeyError, EOFError, NotImplementedError, zipfile.BadZipFile):
                continue
        return rows

    def save(self, keys: Sequence[int], rows: Rows) -> None:
        """Store one more part."""
        if self.folder is None or not len(keys):
            return

        def write(target: Path) -> None:
            with target.open("wb") as stream:  # given a name, numpy would append a suffix of its own
                np.savez(stream, keys=np.array(keys, dtype=np.uint64), rows=rows)

        write_checked(self.folder / f"part-{uuid.uuid4().hex[:12]}.npz", write)
