"""Cells: what one model answered to one benchmark, written whole and under a key of everything that decides it.

A cell is a folder: its tables and items as Parquet, and `cell.json` with their digests. It appears by a rename, so it is
there whole or not at all. Whoever makes cells, a loop, a scheduler or a second machine, they are read alike.
"""

from __future__ import annotations

import shutil
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.storage.cache_layout import CELL, LAYOUT, is_current
from tiltmeter.storage.cache_users import mark_used, register
from tiltmeter.storage.concatenation import GrowingFrame
from tiltmeter.storage.files import cannot_write, file_sha256, read_frame, read_json, write_json
from tiltmeter.storage.temporary import replace_folder, sweep, temporary_beside

if TYPE_CHECKING:
    import pandas as pd

ITEMS = "items"


@dataclass(frozen=True)
class Cell:
    """The content of a cell. `attachments` are files elsewhere that belong to it: path in a run folder → where it lies."""

    family: str
    tables: Mapping[str, pd.DataFrame]
    items: pd.DataFrame
    manifest: dict[str, Any]
    attachments: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class Kept:
    """A cell as it lies on disk, whole: where its files are. None of them is read yet; the first table is the main one."""

    family: str
    tables: Mapping[str, Path]
    items: Path
    manifest: dict[str, Any]
    attachments: Mapping[str, Path]
    key: dict[str, Any] = field(default_factory=dict)
    """The question that it answers."""

    def read(self, columns: Container[str] | None = None) -> Cell:
        """Load its content; of the items only these columns, if any are named."""
        tables = {name: read_frame(path) for name, path in self.tables.items()}
        return Cell(self.family, tables, read_frame(self.items, columns), self.manifest, self.attachments)


class CellStore:
    """Cells in a folder, one folder each. Without a root nothing is kept."""

    def __init__(self, root: Path | None) -> None:
        self.root = root

    def load(self, key: str) -> Cell | None:
        """A finished cell, or nothing. One that is damaged, or whose attachments are gone, counts as nothing."""
        try:
            kept = self.find(key)
            return kept.read() if kept else None
        except TiltmeterError:
            return None

    def find(self, key: str) -> Kept | None:
        """Paths of the files of a finished cell, each verified; None where `load` returns None."""
        if self.root is None or not self.root.is_dir():  # looking leaves no trace in a new cache
            return None
        register(self.root.parent)
        folder = self.root / key
        if not (folder / CELL).is_file():
            return None
        mark_used(folder / CELL, self.root.parent)
        try:
            about = read_json(folder / CELL)
            if not is_current(about):
                return None
            attachments = {path: Path(kept["place"]) for path, kept in about["attachments"].items()}
            digests = [(folder / f"{name}.parquet", sha) for name, sha in about["files"].items()]
            digests += [(attachments[path], kept["sha256"]) for path, kept in about["attachments"].items()]
            if any(not path.is_file() or file_sha256(path) != sha for path, sha in digests):
                return None
            tables = {name: folder / f"{name}.parquet" for name in about["files"] if name != ITEMS}
            items = folder / f"{ITEMS}.parquet"
            return Kept(about["family"], tables, items, about["manifest"], attachments, about["key"])
        except (TiltmeterError, KeyError, TypeError, AttributeError, OSError):
            return None

    def save(self, key: str, cell: Cell, question: Mapping[str, Any]) -> None:
        """Write a cell that is in memory. `question`: what the key stands for."""
        if self.root is not None:
            with self.writing(key) as writer:
                writer.add({**cell.tables, ITEMS: cell.items})
                writer.finish(cell.family, cell.manifest, cell.attachments, question)

    @contextmanager
    def writing(self, key: str) -> Iterator[CellWriter]:
        """Write a cell piece by piece, beside its place. It is renamed there when it is finished, or nothing is left."""
        assert self.root is not None
        register(self.root.parent)
        making = temporary_beside(self.root / key)
        try:
            yield CellWriter(self.root / key, making)
        finally:
            shutil.rmtree(making, ignore_errors=True)
            sweep(self.root.glob(".*.tmp"))


class CellWriter:
    """A cell in the making. Its first table is the main one, and its items come last."""

    def __init__(self, target: Path, making: Path) -> None:
        self._target, self._making = target, making
        self._tables: dict[str, GrowingFrame] = {}

    def add(self, tables: Mapping[str, pd.DataFrame]) -> None:
        """Add rows to its tables, or to its items."""
        for name, frame in tables.items():
            self._tables.setdefault(name, GrowingFrame(self._making / f"{name}.parquet")).add(frame)

    def finish(
        self, family: str, manifest: dict[str, Any], attachments: Mapping[str, Path], question: Mapping[str, Any]
    ) -> None:
        """Write the remaining files and the question, then move the cell to its final folder."""
        try:
            for table in self._tables.values():
                table.finish()
            about = {
                "layout": LAYOUT,
                "family": family,
                "key": dict(question),
                "files": {name: file_sha256(self._making / f"{name}.parquet") for name in self._tables},
                "attachments": {
                    path: {"place": str(place), "sha256": file_sha256(place)} for path, place in attachments.items()
                },
                "manifest": manifest,
            }
            write_json(self._making / CELL, about)
            replace_folder(self._target, self._making)
        except OSError as error:
            if not (self._target / CELL).is_file():  # else another process was faster, with the same cell
                raise cannot_write(self._target, error, "Free some space, or move TILTMETER_CACHE.") from None
