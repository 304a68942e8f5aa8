"""The tables that others rely on: items and scores, their columns, and how they are kept in a run folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.benchmarks import GROUP_COLUMNS, ROLES, Benchmark, Item
from tiltmeter.benchmarks._items import SLOT
from tiltmeter.errors import TiltmeterError

if TYPE_CHECKING:
    import pandas as pd

SCORE_COLUMNS = (
    "model",
    "benchmark",
    "item",
    "role",
    "scorer",
    "score",
    "n_tokens",
    "reason",
    *GROUP_COLUMNS,
)
ITEM_COLUMNS = ("benchmark", "item", "scored", *GROUP_COLUMNS, "context", *ROLES, "extra")


@dataclass(frozen=True)
class Scores:
    """Sentence scores of one or more models and benchmarks, with their items and where they came from."""

    frame: pd.DataFrame
    items: pd.DataFrame
    manifests: tuple[dict[str, Any], ...] = field(default=())

    @classmethod
    def from_frames(
        cls,
        columns: Sequence[dict[str, Any]],
        *,
        model: str,
        benchmark: str,
        items: pd.DataFrame,
        manifest: dict[str, Any],
    ) -> Scores:
        """Puts the blocks of one model and benchmark together."""
        import pandas as pd

        frame = pd.concat([pd.DataFrame(block) for block in columns], ignore_index=True)
        frame.insert(0, "model", model)
        frame.insert(1, "benchmark", benchmark)
        return cls(frame[list(SCORE_COLUMNS)], items, (manifest,))

    @classmethod
    def none(cls, items: pd.DataFrame) -> Scores:
        """No scores at all: the sentences of a run may all be slots."""
        import pandas as pd

        return cls(pd.DataFrame(columns=list(SCORE_COLUMNS)), items)

    @classmethod
    def concat(cls, parts: Sequence[Scores]) -> Scores:
        """Several models or benchmarks in one table."""
        import pandas as pd

        if not parts:
            return cls.none(pd.DataFrame(columns=list(ITEM_COLUMNS)))
        items = pd.concat([part.items for part in parts], ignore_index=True)
        return cls(
            pd.concat([part.frame for part in parts], ignore_index=True),
            items.drop_duplicates(["benchmark", "item"], ignore_index=True),
            tuple(manifest for part in parts for manifest in part.manifests),
        )

    def to_pandas(self) -> pd.DataFrame:
        """The columns of scores.parquet."""
        return self.frame

    def __len__(self) -> int:
        return len(self.frame)

    def _repr_html_(self) -> str:
        from tiltmeter import as_html  # how things look is decided in reporting/, which is above

        return as_html(self)

    def save(self, folder: str | Path) -> Path:
        """Writes items.parquet, scores.parquet and the manifest that says where they came from."""
        from tiltmeter import __version__
        from tiltmeter.store import write_json

        self.write_tables(folder)
        manifest = {"status": "finished", "tiltmeter": __version__, "evaluations": list(self.manifests)}
        write_json(Path(folder) / "manifest.json", manifest)
        return Path(folder)

    def write_tables(self, folder: str | Path) -> Path:
        """Writes items.parquet and scores.parquet alone."""
        import pyarrow as pa

        from tiltmeter.store import write_table

        for name, frame in (("items", self.items), ("scores", self.frame)):
            write_table(Path(folder) / f"{name}.parquet", pa.Table.from_pandas(frame, preserve_index=False))
        return Path(folder)

    @classmethod
    def load(cls, folder: str | Path) -> Scores:
        """Reads what `save` or a run wrote."""
        from tiltmeter.store import read_json, read_table

        folder = Path(folder)
        missing = [name for name in ("scores.parquet", "items.parquet") if not (folder / name).is_file()]
        if missing:
            unfinished = (folder / "manifest.json").is_file()
            hint = " The run is unfinished; run the same command again to finish it." if unfinished else ""
            raise TiltmeterError(f"{folder} is not a finished run: {' and '.join(missing)} missing.{hint}")
        manifest = read_json(folder / "manifest.json") if (folder / "manifest.json").is_file() else {}
        frame = read_table(folder / "scores.parquet").to_pandas()
        lacking = [name for name in SCORE_COLUMNS if name not in frame]
        if lacking:
            raise TiltmeterError(f"{folder / 'scores.parquet'} lacks the columns {', '.join(lacking)}.")
        return cls(frame, read_table(folder / "items.parquet").to_pandas(), tuple(manifest.get("evaluations", ())))


def items_table(benchmark: Benchmark) -> pd.DataFrame:
    """Every item with its texts, group columns and annotations (`extra`, as JSON)."""
    import pandas as pd

    items = benchmark.items
    columns: dict[str, Any] = {
        "benchmark": benchmark.name,
        "item": [item.id for item in items],
        "scored": [item.scored for item in items],
        "context": [item.context for item in items],
        "extra": [json.dumps(item.extra, ensure_ascii=False, default=str) for item in items],
    }
    columns |= {column: [getattr(item, column) for item in items] for column in GROUP_COLUMNS}
    columns |= {role: [item.texts.get(role) for item in items] for role in ROLES}
    table = pd.DataFrame(columns)[list(ITEM_COLUMNS)]
    return table.assign(slot=[item.texts.get(SLOT) for item in items]) if benchmark.slot_items else table


def benchmark_of(name: str, items: pd.DataFrame) -> Benchmark:
    """The scored part of a benchmark as a run stored it: the inverse of `items_table`."""
    rows = items[(items["benchmark"] == name) & items["scored"]].to_dict("records")
    return Benchmark(name, tuple(_item(row) for row in rows))


def _item(row: dict[str, Any]) -> Item:
    said = {key: value if isinstance(value, str) else None for key, value in row.items()}
    return Item(
        id=row["item"],
        texts={role: row[role] for role in ROLES if said[role] is not None},
        bias_type=row["bias_type"],
        direction=said["direction"],
        target=said["target"],
        context=said["context"],
        extra=json.loads(row["extra"]),
    )
