"""Tables of one kind from many files joined into one file, a piece at a time: memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tiltmeter.errors import TiltmeterError
from tiltmeter.storage.files import read_frame, write_atomically, write_frame
from tiltmeter.storage.memory import give_back

if TYPE_CHECKING:
    import pandas as pd

PIECE = 1 << 13
"""Rows that are held at a time."""
GROUP = 1 << 15
"""Rows of a group in the file that is written, at least: many small ones are slow to read."""
Keep = Callable[["pd.DataFrame"], "pd.DataFrame"]


def count_rows(path: Path) -> int:
    """The rows of a file, which is not read for it."""
    return int(_opened(path).metadata.num_rows)


def join_frames(paths: Sequence[Path], target: Path, keep: Keep | None = None) -> None:
    """What `pandas.concat` of the files would hold, in one file. Files without rows do not count: they could change a
    column's type. `keep`: what of a piece is taken.
    """
    filled = [path for path in paths if count_rows(path)]
    if not filled:
        write_frame(target, read_frame(paths[0]))
        return
    shape = _shape_of(filled)

    def write(place: Path) -> None:
        waiting: list[pa.Table] = []
        with pq.ParquetWriter(place, shape.schema, write_page_checksum=True) as writer:
            for table in (shape.fitted(frame) for path in filled for frame in _pieces(path, keep)):
                waiting.append(table)
                if sum(map(len, waiting)) >= GROUP:
                    writer.write_table(pa.concat_tables(waiting))
                    waiting = []
            if waiting:
                writer.write_table(pa.concat_tables(waiting))

    write_atomically(target, write)
    give_back()


@dataclass(frozen=True)
class _Shape:
    """The columns of the whole, as pandas and as Parquet have them."""

    columns: Sequence[str]
    kinds: dict[str, object]
    schema: pa.Schema

    def fitted(self, frame: pd.DataFrame) -> pa.Table:
        """A piece as a piece of the whole."""
        whole = frame.reindex(columns=list(self.columns)).astype(self.kinds)
        return pa.Table.from_pandas(whole, self.schema, preserve_index=False).replace_schema_metadata(self.schema.metadata)


def _shape_of(paths: Sequence[Path]) -> _Shape:
    """As pandas would make it of all: one row of each file tells, and the types of the files where a row holds nothing."""
    import pandas as pd

    schemas: dict[tuple[pa.Schema, str], Path] = {}
    for path in paths:
        schema = _opened(path).schema_arrow
        schemas.setdefault((schema, str(schema.metadata)), path)
    whole = pd.concat([next(_pieces(path, None, 1)) for path in schemas.values()], ignore_index=True)
    kinds = {str(name): kind for name, kind in whole.dtypes.items()}
    given = pa.unify_schemas([schema.remove_metadata() for schema, _ in schemas], promote_options="permissive")
    told = pa.Table.from_pandas(whole, preserve_index=False).schema
    fields = [given.field(one.name) if kinds[one.name] is np.dtype(object) else one for one in told]
    return _Shape(list(kinds), kinds, pa.schema(fields, told.metadata))


def _pieces(path: Path, keep: Keep | None, rows: int = PIECE) -> Iterator[pd.DataFrame]:
    try:
        for batch in _opened(path).iter_batches(batch_size=rows):
            frame = batch.to_pandas()
            yield keep(frame) if keep else frame
    except (OSError, pa.ArrowException) as error:
        raise TiltmeterError(f"Cannot read {path}: {' '.join(str(error).split())[:300]}") from None


def _opened(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path.absolute(), page_checksum_verification=True)
    except (OSError, pa.ArrowException) as error:
        raise TiltmeterError(f"Cannot read {path}: {' '.join(str(error).split())[:300]}") from None
