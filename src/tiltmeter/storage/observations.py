"""The observation table, and the cache of it: what models answered, token by token, under a key of all that decides it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from tiltmeter.storage.files import read_checked_table, remove_checked, write_checked_table
from tiltmeter.storage.keyed_folder import KeyedFolder

_WORD = pa.dictionary(pa.int32(), pa.string())
OBSERVATIONS = pa.schema(
    [
        ("item", _WORD), ("role", _WORD), ("view", _WORD),
        ("position", pa.int32()), ("token", _WORD), ("token_id", pa.int32()),
        ("special", pa.bool_()), ("modified", pa.bool_()),
        ("logprob", pa.float32()), ("rank", pa.int32()), ("attention", pa.float32()), ("block_logprob", pa.float32()),
        ("reason", _WORD),
    ]
)  # fmt: skip
"""One row per token read in a view. A sentence that cannot be scored has one row: position −1 and the reason.

`special` tokens are kept where a view reads them, and never scored. `block_logprob` is the mean log-probability of all
modified tokens at this position (view `changed`); `attention` is what the position receives (`unmasked_attention`).
"""
LAYOUT_VERSION = 2
"""Raised when older observations or their keys would be misread."""


class ObservationCache(KeyedFolder):
    """Observations on disk, under a key made of everything that decides them: weights, tokenizer, data, precision.

    `<root>/<key>/<view>/block-0003.parquet` is finished; `<root>/<key>/parts/block-0003.<batch>.parquet` holds what one
    batch gave to a block still in work, so that a killed run repeats no finished batch. Without a root nothing is kept.
    """

    def __init__(self, root: Path | None, identity: dict[str, str]) -> None:
        super().__init__(root, identity | {"layout": str(LAYOUT_VERSION)})

    def block_file(self, view: str, block: int) -> Path | None:
        """Path of a finished block of a view."""
        return self.folder and self.folder / view / f"block-{block:04d}.parquet"

    def load_block(self, view: str, block: int) -> pa.Table | None:
        """A finished block, or nothing. A damaged file counts as nothing: it is computed again."""
        path = self.block_file(view, block)
        return _load(path) if path else None

    def save_block(self, view: str, block: int, table: pa.Table, batches: Iterable[str]) -> None:
        """Store a finished block and remember which batches it came from."""
        path = self.block_file(view, block)
        if path:
            write_checked_table(path, table.replace_schema_metadata({"batches": json.dumps(sorted(batches))}))

    def _part_files(self, block: int) -> list[Path]:
        return sorted((self.folder / "parts").glob(f"block-{block:04d}.*.parquet")) if self.folder else []

    def load_parts(self, block: int) -> dict[str, pa.Table]:
        """Load the tables of the finished batches of an unfinished block, by batch name."""
        tables = {path.name.split(".")[1]: _load(path) for path in self._part_files(block)}
        return {batch: table for batch, table in tables.items() if table is not None}

    def save_part(self, block: int, batch: str, table: pa.Table) -> None:
        """Store what one batch gave."""
        if self.folder:
            write_checked_table(self.folder / "parts" / f"block-{block:04d}.{batch}.parquet", table)

    def drop_parts(self, block: int) -> None:
        """Forget the parts of a block whose views are all stored whole by now, and what a kill left of one."""
        if self.folder is None:
            return
        names = {path.name.split(".")[1] for path in (self.folder / "parts").glob(f"block-{block:04d}.*")}
        for path in (self.folder / "parts" / f"block-{block:04d}.{batch}.parquet" for batch in sorted(names)):
            table = _load(path)
            views = [] if table is None else table["view"].unique().to_pylist()
            if all((self.block_file(view, block) or self.folder).is_file() for view in views):
                remove_checked(path)


def batches_of(table: pa.Table) -> set[str]:
    """Names of the batches that a stored block came from."""
    return set(json.loads((table.schema.metadata or {}).get(b"batches", b"[]")))


def _load(path: Path) -> pa.Table | None:
    """A stored table; blocks written by version 0.1 call the reason a note."""
    table = read_checked_table(path)
    if table is None or "note" not in table.column_names:
        return table
    renamed = table.rename_columns(["reason" if name == "note" else name for name in table.column_names])
    return renamed.replace_schema_metadata(table.schema.metadata)
