"""A folder of a cache, named by the digest of everything that decides what is stored in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from tiltmeter.storage.cache_users import mark_used
from tiltmeter.storage.files import write_json
from tiltmeter.storage.temporary import sweep

KEY = "key.json"
"""The file with the facts whose digest names the folder."""


class KeyedFolder:
    """`<root>/<key>`. Without a root nothing is kept, and `folder` is None."""

    def __init__(self, root: Path | None, identity: Mapping[str, str]) -> None:
        self.identity = dict(identity)
        self.key = hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()[:32]
        self.folder = None if root is None else root / self.key
        if root is None or self.folder is None:
            return
        if not (self.folder / KEY).is_file():
            write_json(self.folder / KEY, self.identity)
        mark_used(self.folder / KEY, root.parent)
        sweep(self.folder.rglob(".*.tmp"))
