"""Cells between this machine's cache and a storage that all machines reach."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tiltmeter.storage.cache_layout import CELL
from tiltmeter.storage.cells import CellStore
from tiltmeter.storage.files import read_json, write_json
from tiltmeter.storage.object_store import Depot
from tiltmeter.storage.places import observations_folder
from tiltmeter.storage.temporary import replace_folder, temporary_beside


def push(store: CellStore, key: str, depot: Depot) -> None:
    """A cell of this machine to the storage: attached files first, so that what is there whole has all of them."""
    assert store.root is not None
    attached = read_json(store.root / key / CELL)["attachments"]
    for number, path in enumerate(sorted(attached)):
        depot.put_file(Path(attached[path]["place"]), f"answers/{key}/attached/{number}")
    depot.put(store.root / key, f"answers/{key}/cell")
    depot.drop(f"blocks/{key}")


def pull(store: CellStore, key: str, depot: Depot) -> bool:
    """A cell of the storage into this machine's cache; whether it was there."""
    if store.root is None or not depot.has(f"answers/{key}/cell"):
        return False
    making = temporary_beside(store.root / key)
    try:
        depot.get(f"answers/{key}/cell", making)
        about = read_json(making / CELL)
        home = store.root.parent / "attached" / key
        if about["attachments"]:
            depot.get(f"answers/{key}/attached", home)
        for number, path in enumerate(sorted(about["attachments"])):
            about["attachments"][path]["place"] = str(home / str(number))
        write_json(making / CELL, about)
        replace_folder(store.root / key, making)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return store.find(key) is not None


def push_blocks(cache: bool | str | Path, key: str, manifests: Iterable[Mapping[str, Any]], depot: Depot) -> None:
    """Finished blocks of a cell's answers, for whoever joins them. What is damaged on the way counts as not there."""
    root = observations_folder(cache)
    for name in (manifest["observations"]["key"] for manifest in manifests):
        for path in sorted((root / name).glob("*/block-*")) if root else ():
            depot.put_file(path, f"blocks/{key}/{path.relative_to(root).as_posix()}")


def pull_blocks(cache: bool | str | Path, key: str, depot: Depot) -> None:
    """The blocks that others finished, into this machine's cache."""
    if root := observations_folder(cache):
        depot.get(f"blocks/{key}", root)
