"""Tables of one kind from many files joined into one file, a piece at a time: memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tiltmeter.errors import RunError
from tiltmeter.storage.files import read_frame, write_atomically, write_frame

if TYPE_CHECKING:
    import pandas as pd

PIECE = 1 << 12
"""Rows that are held at a time."""
GROUP = 1 << 13
"""Rows of a group in the file that is written, at least: many small ones are slow to read."""
Keep = Callable[["pd.DataFrame"], "pd.DataFrame"]


def count_rows(path: Path) -> int:
    """The rows of a file, which is not read for it."""
    return int(_opened(path).metadata.num_rows)


def join_frames(paths: Sequence[Path], target: Path, keep: Keep | None = None) -> None:
    """Write the equivalent of `pandas.concat` of the files to one file.

    Files without rows are ignored: they could change a column's type. `keep` selects rows of a piece.
    """
    schemas = {path: file.schema_arrow for path in paths if (file := _opened(path)).metadata.num_rows}
    if not schemas:
        write_frame(target, read_frame(paths[0]))
        return
    shape = _shape_of(schemas)

    def write(place: Path) -> None:
        waiting: list[pa.Table] = []
        with pq.ParquetWriter(place, shape.schema, write_page_checksum=True) as writer:
            for piece in (piece for path in schemas for piece in _pieces(path)):
                waiting.append(shape.fitted(piece, keep))
                if sum(map(len, waiting)) >= GROUP:
                    writer.write_table(pa.concat_tables(waiting))
                    waiting = []
            if waiting:
                writer.write_table(pa.concat_tables(waiting))

    write_atomically(target, write)


class GrowingFrame:
    """A table that comes in pieces and is written as they come: what `pandas.concat` of them would hold, in one file."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._waiting: list[pd.DataFrame] = []
        self._rows = 0
        self._parts: list[Path] = []

    def add(self, piece: pd.DataFrame) -> None:
        """Add some rows. They are written once there are enough of them."""
        if len(piece) or not (self._waiting or self._parts):  # one without rows says what the columns are, and is enough
            self._waiting.append(piece)
            self._rows += len(piece)
        if self._rows >= PIECE:
            self._write()

    def finish(self) -> None:
        """Make one file of what was written."""
        if self._waiting:
            self._write()
        if len(self._parts) == 1:
            self._parts[0].replace(self._target)
            return
        join_frames(self._parts, self._target)
        for part in self._parts:
            part.unlink()

    def _write(self) -> None:
        part = self._target.with_name(f"{self._target.stem}.{len(self._parts):05d}.part")
        write_frame(part, concatenated(self._waiting))
        self._parts.append(part)
        self._waiting, self._rows = [], 0


def concatenated(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The frames as one, without empty ones, which could change the type of a column."""
    import pandas as pd

    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else frames[0]


@dataclass(frozen=True)
class _Shape:
    """The columns of the whole, as pandas and as Parquet have them."""

    columns: Sequence[str]
    kinds: dict[str, object]
    schema: pa.Schema

    def fitted(self, piece: pa.Table, keep: Keep | None) -> pa.Table:
        """A piece as a piece of the whole. Where it has the columns and types of the whole, pandas would change nothing."""
        if keep is None and self._has_types(piece.schema):
            return piece.select(list(self.columns)).cast(self.schema)
        frame = piece.to_pandas() if keep is None else keep(piece.to_pandas())
        whole = frame.reindex(columns=list(self.columns)).astype(self.kinds)
        return pa.Table.from_pandas(whole, self.schema, preserve_index=False).replace_schema_metadata(self.schema.metadata)

    def _has_types(self, schema: pa.Schema) -> bool:
        """The types of the whole, or none at all: a column of nothing."""
        types = dict(zip(schema.names, schema.types, strict=True))
        return set(types) == set(self.columns) and all(
            types[field.name] == field.type or pa.types.is_null(types[field.name]) for field in self.schema
        )


def _shape_of(schemas: Mapping[Path, pa.Schema]) -> _Shape:
    """Columns and types that pandas would give all files together.

    One row of each kind of file shows them; where it is empty, the types of the file do.
    """
    import pandas as pd

    distinct: dict[tuple[pa.Schema, str], Path] = {}
    for path, schema in schemas.items():
        distinct.setdefault((schema, str(schema.metadata)), path)
    whole = pd.concat([next(_pieces(path, 1)).to_pandas() for path in distinct.values()], ignore_index=True)
    whole = whole.astype(_with_room_for_none(whole, {name for path in schemas for name in _incomplete(path)}))
    kinds = {str(name): kind for name, kind in whole.dtypes.items()}
    bare = [schema.remove_metadata() for schema, _ in distinct]
    united = pa.unify_schemas(bare, promote_options="permissive")
    told = pa.Table.from_pandas(whole, preserve_index=False).schema
    fields = [united.field(one.name) if kinds[one.name] is np.dtype(object) else one for one in told]
    return _Shape(list(kinds), kinds, pa.schema(fields, told.metadata))


def _with_room_for_none(whole: pd.DataFrame, incomplete: Container[str]) -> dict[str, str]:
    """Types that pandas gives to booleans and integers with missing values, which one row may not show."""
    plain = {name: kind for name, kind in whole.dtypes.items() if name in incomplete and isinstance(kind, np.dtype)}
    room = {"b": "object", "i": "float64", "u": "float64"}
    return {str(name): room[kind.kind] for name, kind in plain.items() if kind.kind in room}


def _incomplete(path: Path) -> Iterator[str]:
    """The columns in which something is missing."""
    metadata = _opened(path).metadata
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            column = metadata.row_group(group).column(number)
            if column.statistics is None or column.statistics.null_count:
                yield column.path_in_schema


def _pieces(path: Path, rows: int = PIECE) -> Iterator[pa.Table]:
    try:
        for batch in _opened(path).iter_batches(batch_size=rows):
            yield pa.Table.from_batches([batch])
    except (OSError, pa.ArrowException) as error:
        raise RunError(f"Cannot read {path}: {' '.join(str(error).split())[:300]}", code="damaged-file", file=path) from None


def _opened(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path.absolute(), page_checksum_verification=True)
    except (OSError, pa.ArrowException) as error:
        raise RunError(f"Cannot read {path}: {' '.join(str(error).split())[:300]}", code="damaged-file", file=path) from None
