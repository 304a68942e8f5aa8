"""The table of slots that others rely on (slots.parquet), and its best matches per sentence and group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.benchmarks import GROUP_COLUMNS
from tiltmeter.errors import TiltmeterError

if TYPE_CHECKING:
    import pandas as pd

SLOT_COLUMNS = (
    "model", "benchmark", "item", "group", "term", "pieces", "probability", "rank", "matched", "top_k", "among", "reason",
    *GROUP_COLUMNS,
)  # fmt: skip
"""One row per sentence and term. `matched`: a term of one token within the top k, which is what the paper's pipeline finds.
`pieces` above 1: exp(mean log-probability) over as many masks, ranked where that would stand. `among`: the vocabulary, or
for causal models the candidates. `rank` 0 and a reason: not measured."""
PREDICTION_COLUMNS = ("model", "benchmark", "item", "rank", "token", "probability", "group")
"""The ten likeliest tokens of a masked model, listed or not; `group` is the one that lists the token, if any."""
FILE = "slots.parquet"
PREDICTIONS = "predictions.parquet"


@dataclass(frozen=True)
class Slots:
    """What fills the slots of one or more benchmarks, by one or more models."""

    frame: pd.DataFrame
    items: pd.DataFrame
    manifests: tuple[dict[str, Any], ...] = field(default=())
    predictions: pd.DataFrame | None = None

    def to_pandas(self) -> pd.DataFrame:
        """The columns of slots.parquet."""
        return self.frame

    def __len__(self) -> int:
        return len(self.frame)

    def _repr_html_(self) -> str:
        from tiltmeter import as_html  # how things look is decided in reporting/, which is above

        return as_html(self)

    @classmethod
    def concat(cls, parts: Sequence[Slots]) -> Slots:
        """Several models or benchmarks in one table."""
        import pandas as pd

        items = pd.concat([part.items for part in parts], ignore_index=True)
        known = [part.predictions for part in parts if part.predictions is not None and len(part.predictions)]
        return cls(
            pd.concat([part.frame for part in parts], ignore_index=True),
            items.drop_duplicates(["benchmark", "item"], ignore_index=True),
            tuple(manifest for part in parts for manifest in part.manifests),
            pd.concat(known, ignore_index=True) if known else None,
        )

    def write_table(self, folder: str | Path) -> Path:
        """Writes slots.parquet, and predictions.parquet beside it."""
        import pyarrow as pa

        from tiltmeter.store import write_table

        for name, frame in ((FILE, self.frame), (PREDICTIONS, self.predictions)):
            if frame is not None and len(frame):
                compact = frame.astype({column: "category" for column in frame if frame[column].dtype == object})
                write_table(Path(folder) / name, pa.Table.from_pandas(compact, preserve_index=False))
        return Path(folder) / FILE

    @classmethod
    def load(cls, folder: str | Path) -> Slots | None:
        """Reads what a run wrote; nothing where it had no slots."""
        from tiltmeter.store import read_json, read_table

        folder = Path(folder)
        if not (folder / FILE).is_file():
            return None
        frame = read_table(folder / FILE).to_pandas()
        lacking = [name for name in SLOT_COLUMNS if name not in frame]
        if lacking:
            raise TiltmeterError(f"{folder / FILE} lacks the columns {', '.join(lacking)}.")
        frame = _plain(frame)
        items = read_table(folder / "items.parquet").to_pandas()
        manifest = read_json(folder / "manifest.json") if (folder / "manifest.json").is_file() else {}
        ours = tuple(one for one in manifest.get("evaluations", ()) if "top_k" in one)
        items = items[items["benchmark"].isin(frame["benchmark"].unique())]
        path = folder / PREDICTIONS  # runs from before there were any have none
        return cls(frame, items, ours, _plain(read_table(path).to_pandas()) if path.is_file() else None)


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Words as words: categories are for the file."""
    return frame.astype({name: object for name in frame if frame[name].dtype == "category"})


def best_matches(frame: pd.DataFrame) -> pd.DataFrame:
    """The best-ranked matching prediction of every sentence and group that has one (Doughman et al., 2023, section 6.1)."""
    matched = frame[frame["matched"]]
    ordered = matched.sort_values(["rank", "probability"], ascending=[True, False], kind="stable")
    return ordered.drop_duplicates(["model", "benchmark", "item", "group"]).sort_index()


def best_terms(frame: pd.DataFrame) -> pd.DataFrame:
    """The same without the limit of the top k: the best-ranked term of one token, wherever it stands."""
    single = frame[(frame["rank"] > 0) & ((frame["pieces"] == 1) | (frame["among"] == "candidates"))]
    ordered = single.sort_values(["rank", "probability"], ascending=[True, False], kind="stable")
    return ordered.drop_duplicates(["model", "benchmark", "item", "group"]).sort_index()
