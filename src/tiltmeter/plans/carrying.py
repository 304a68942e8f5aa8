"""Cells between this machine's cache and a storage that all machines reach."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

from tiltmeter.storage.cells import ABOUT, CellStore
from tiltmeter.storage.depot import Depot
from tiltmeter.storage.files import read_json, write_json


def push(store: CellStore, key: str, depot: Depot) -> None:
    """A cell of this machine to the storage: attached files first, so that what is there whole has all of them."""
    assert store.root is not None
    attached = read_json(store.root / key / ABOUT)["attachments"]
    for number, path in enumerate(sorted(attached)):
        depot.put_file(Path(attached[path]["place"]), f"answers/{key}/attached/{number}")
    depot.put(store.root / key, f"answers/{key}/cell")


def pull(store: CellStore, key: str, depot: Depot) -> bool:
    """A cell of the storage into this machine's cache; whether it was there."""
    if store.root is None or not depot.has(f"answers/{key}/cell"):
        return False
    making = store.root / f".{key}.{uuid.uuid4().hex[:8]}.tmp"
    try:
        depot.get(f"answers/{key}/cell", making)
        about = read_json(making / ABOUT)
        home = store.root.parent / "attached" / key
        if about["attachments"]:
            depot.get(f"answers/{key}/attached", home)
        for number, path in enumerate(sorted(about["attachments"])):
            about["attachments"][path]["place"] = str(home / str(number))
        write_json(making / ABOUT, about)
        shutil.rmtree(store.root / key, ignore_errors=True)
        making.rename(store.root / key)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return store.load(key) is not None
