"""A cache of rows of numbers by key: vectors of texts, log-probabilities of tokens. Written in parts that survive a kill."""

from __future__ import annotations

import hashlib
import json
import uuid
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiltmeter.storage.cache_users import mark_used
from tiltmeter.storage.files import is_whole, write_checked, write_json
from tiltmeter.storage.keys import unmistakable
from tiltmeter.storage.temporary import sweep

Rows = NDArray[np.float32]


def key_of(*said: object) -> int:
    """64-bit key of a query."""
    digest = hashlib.blake2b("\x1f".join(map(unmistakable, map(str, said))).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "little")


class RowCache:
    """`<root>/<key>/part-….npz`, the key made of everything that decides the numbers. Without a root nothing is kept."""

    def __init__(self, root: Path | None, identity: dict[str, str]) -> None:
        self.identity = identity
        self.key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]
        self.folder = None if root is None else root / self.key
        if self.folder is not None and not (self.folder / "key.json").is_file():
            write_json(self.folder / "key.json", identity)
        if root is not None and self.folder is not None:
            mark_used(self.folder / "key.json", root.parent)
        sweep(self.folder.glob(".*.tmp") if self.folder else ())

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
