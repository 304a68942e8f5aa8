"""Reading and writing: atomic files, the observation table, the content-addressed cache. No arithmetic here."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tiltmeter.errors import TiltmeterError

_WORD = pa.dictionary(pa.int32(), pa.string())
OBSERVATIONS = pa.schema(
    [
        ("item", _WORD), ("role", _WORD), ("view", _WORD),
        ("position", pa.int32()), ("token", _WORD), ("token_id", pa.int32()),
        ("special", pa.bool_()), ("modified", pa.bool_()),
        ("logprob", pa.float32()), ("rank", pa.int32()), ("attention", pa.float32()), ("block_logprob", pa.float32()),
        ("note", _WORD),
    ]
)  # fmt: skip
"""One row per token read in a view. A sentence that cannot be asked has one row: position −1 and a note that says why.

`special` tokens are kept where a view reads them, and never scored. `block_logprob` is the mean log-probability of all
modified tokens at this position (view `changed`); `attention` is what the position receives (`unmasked_attention`).
"""
LAYOUT_VERSION = 1


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Writes beside the target and renames, so that a reader sees the old file or the new one, never half of one."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        temporary.replace(path)
    except OSError as error:
        raise TiltmeterError(
            f"Cannot write {path}: {error.strerror or error}. Nothing that was finished is lost: free some space or "
            "choose a writable folder (-o, or TILTMETER_CACHE for the cache), and run the same command again."
        ) from None
    finally:
        temporary.unlink(missing_ok=True) if temporary.parent.is_dir() else None


def write_text(path: Path, text: str) -> None:
    """Text, atomically, in UTF-8."""

    def write(target: Path) -> None:
        target.write_text(text, encoding="utf-8")

    write_atomically(path, write)


def write_json(path: Path, value: Any) -> None:
    """JSON, atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")


def write_table(path: Path, table: pa.Table) -> None:
    """Parquet, atomically."""
    write_atomically(path, lambda target: pq.write_table(table, target))


def read_json(path: Path) -> Any:
    """JSON, or a message that names the file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TiltmeterError(f"Cannot read {path}: {error}.") from None


def read_table(path: Path) -> pa.Table:
    """Parquet, or a message that names the file."""
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise TiltmeterError(f"Cannot read {path}: {' '.join(str(error).split())[:300]}") from None


class ObservationCache:
    """Observations on disk, under a key made of everything that decides them: weights, tokenizer, data, precision.

    `<root>/<key>/<view>/block-0003.parquet` is finished; `<root>/<key>/parts/block-0003.<batch>.parquet` holds what one
    batch gave to a block still in work, so that a killed run repeats no finished batch. Without a root nothing is kept.
    """

    def __init__(self, root: Path | None, identity: dict[str, str]) -> None:
        self.identity = identity | {"layout": str(LAYOUT_VERSION)}
        self.key = hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()[:32]
        self.folder = None if root is None else root / self.key
        if self.folder is not None and not (self.folder / "key.json").is_file():
            write_json(self.folder / "key.json", self.identity)

    def block_file(self, view: str, block: int) -> Path | None:
        """Where a finished block of a view is, or will be."""
        return self.folder and self.folder / view / f"block-{block:04d}.parquet"

    def load_block(self, view: str, block: int) -> pa.Table | None:
        """A finished block, or nothing. A damaged file counts as nothing: it is computed again."""
        path = self.block_file(view, block)
        return _read_or_none(path) if path else None

    def save_block(self, view: str, block: int, table: pa.Table, batches: Iterable[str]) -> None:
        """Stores a finished block and remembers which batches it came from."""
        path = self.block_file(view, block)
        if path:
            write_table(path, table.replace_schema_metadata({"batches": json.dumps(sorted(batches))}))

    def _part_files(self, block: int) -> list[Path]:
        return sorted((self.folder / "parts").glob(f"block-{block:04d}.*.parquet")) if self.folder else []

    def load_parts(self, block: int) -> dict[str, pa.Table]:
        """What finished batches of an unfinished block gave, by batch name."""
        tables = {path.name.split(".")[1]: _read_or_none(path) for path in self._part_files(block)}
        return {batch: table for batch, table in tables.items() if table is not None}

    def save_part(self, block: int, batch: str, table: pa.Table) -> None:
        """Stores what one batch gave."""
        if self.folder:
            write_table(self.folder / "parts" / f"block-{block:04d}.{batch}.parquet", table)

    def drop_parts(self, block: int) -> None:
        """Forgets the parts of a block whose views are all stored whole by now."""
        for batch, table in self.load_parts(block).items():
            views = table["view"].unique().to_pylist()
            if self.folder and all((self.block_file(view, block) or self.folder).is_file() for view in views):
                (self.folder / "parts" / f"block-{block:04d}.{batch}.parquet").unlink(missing_ok=True)


def batches_of(table: pa.Table) -> set[str]:
    """Names of the batches that a stored block came from."""
    return set(json.loads((table.schema.metadata or {}).get(b"batches", b"[]")))


def _read_or_none(path: Path) -> pa.Table | None:
    if not path.is_file():
        return None
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowException):
        return None
