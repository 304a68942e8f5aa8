"""Answers of models, before they are estimated: the same type for every family, in memory and on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.display import Shown
from tiltmeter.errors import RunError
from tiltmeter.storage.concatenation import concatenated
from tiltmeter.storage.files import file_sha256
from tiltmeter.storage.provenance import recorded_model

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Answers(Shown):
    """Tables of one family about one or more models and benchmarks, the items they are about, and where they came from.

    The first table is the main one. Each is a Parquet file of a run folder, by its name. `attachments` are larger files
    that belong to the answers (path in the run folder → where the file is now), such as every token that was read.
    """

    family: str
    tables: Mapping[str, pd.DataFrame]
    items: pd.DataFrame
    manifests: tuple[dict[str, Any], ...] = ()
    attachments: Mapping[str, Path] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    """sha256 of attached files, where a run folder knows them."""

    def __repr__(self) -> str:
        """Describe the answers in one line; tables are at `table` and `tables`."""
        rows = ", ".join(f"{name} {len(table):,} rows" for name, table in self.tables.items())
        return f"<Answers of {self.family}: {', '.join(self.models)} on {', '.join(self.benchmarks)}; {rows}>"

    def attached(self, path: str) -> Path | None:
        """An attached file; nothing where it is not there any more. Refused where it was changed."""
        place = self.attachments.get(path)
        if place is None or not place.is_file():
            return None
        if path in self.digests and file_sha256(place) != self.digests[path]:
            raise RunError(
                f"{place} was changed or damaged after the run wrote it. Run the same command again.",
                code="changed-file", file=str(place),
            )  # fmt: skip
        return place

    @property
    def table(self) -> pd.DataFrame:
        """The main table."""
        return next(iter(self.tables.values()))

    def to_pandas(self) -> pd.DataFrame:
        """The main table."""
        return self.table

    def __len__(self) -> int:
        return len(self.table)

    def get(self, name: str) -> pd.DataFrame | None:
        """A table by name, or None."""
        return self.tables.get(name)

    @property
    def models(self) -> list[str]:
        """The models, in the order of the run."""
        return [str(name) for name in self.table["model"].unique()]

    @property
    def benchmarks(self) -> list[str]:
        """The benchmarks, in the order of the run."""
        return [str(name) for name in self.table["benchmark"].unique()]

    @classmethod
    def concat(cls, parts: Sequence[Answers]) -> Answers:
        """Join the answers of several models or benchmarks of one family; see `with_unique_names`."""
        import pandas as pd

        if len(parts) == 1:
            return parts[0]
        parts = with_unique_names(parts)
        names = dict.fromkeys(name for part in parts for name in part.tables)
        tables = {name: concatenated([part.tables[name] for part in parts if name in part.tables]) for name in names}
        items = pd.concat([part.items for part in parts], ignore_index=True)
        return cls(
            parts[0].family,
            tables,
            items.drop_duplicates(["benchmark", "item"], ignore_index=True),
            tuple(manifest for part in parts for manifest in part.manifests),
            {path: place for part in parts for path, place in part.attachments.items()},
            {path: digest for part in parts for path, digest in part.digests.items()},
        )

    def where(self, **wanted: str | Sequence[str]) -> Answers:
        """The rows with these values of these columns; tables without such a column stay as they are."""

        def kept(frame: pd.DataFrame) -> pd.DataFrame:
            for column, values in wanted.items():
                if column in frame:
                    frame = frame[frame[column].isin([values] if isinstance(values, str) else list(values))]
            return frame.reset_index(drop=True)

        return self.mapped(kept)

    def mapped(self, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Answers:
        """A copy with every table, and the items, changed by a function."""
        tables = {name: change(frame) for name, frame in self.tables.items()}
        return replace(self, tables=tables, items=change(self.items))

    def renamed(self, old: str, new: str) -> Answers:
        """Return a copy in which a model has another name."""
        manifests = tuple(
            manifest | {"model": manifest["model"] | {"shown_as": new}}
            if manifest.get("model", {}).get("shown_as") == old
            else manifest
            for manifest in self.manifests
        )
        changed = self.mapped(
            lambda frame: frame.assign(model=frame["model"].replace(old, new)) if "model" in frame else frame
        )
        return replace(changed, manifests=manifests)

    def manifests_of(self, model: str, benchmark: str) -> list[dict[str, Any]]:
        """Return the manifests of a model on a benchmark: none of imported answers, several where runs were joined."""
        names = ((one.get("model", {}).get("shown_as"), one.get("benchmark", {}).get("name")) for one in self.manifests)
        return [one for one, name in zip(self.manifests, names, strict=True) if name == (model, benchmark)]

    def manifest_of(self, model: str, benchmark: str) -> dict[str, Any]:
        """Return the first manifest of a model on a benchmark; empty where there is none, as for imported answers."""
        return next(iter(self.manifests_of(model, benchmark)), {})

    def digests_of_models(self) -> dict[str, str]:
        """Return the digest of each model by the name it has here, where it was recorded."""
        models = [manifest.get("model", {}) for manifest in self.manifests]
        return {
            str(model["shown_as"]): digest for model in models if "shown_as" in model and (digest := recorded_model(model))
        }

    def save(self, folder: str | Path) -> Path:
        """Writes the tables, items.parquet and a manifest: a folder that every command reads as a run."""
        from tiltmeter.storage.seals import seal

        self.write_tables(Path(folder))
        seal(Path(folder), self.manifest())
        return Path(folder)

    def manifest(self) -> dict[str, Any]:
        """Recorded facts of the answers, apart from the files they are written to."""
        from tiltmeter.storage.provenance import software

        families = {self.family: list(self.tables)}
        return software() | {"status": "finished", "families": families, "evaluations": list(self.manifests)}

    def write_tables(self, folder: Path) -> None:
        """Writes only the tables and the items."""
        from tiltmeter.storage.files import write_frame

        for name, frame in (*self.tables.items(), ("items", self.items)):
            write_frame(folder / f"{name}.parquet", frame)


def with_unique_names(parts: Sequence[Answers]) -> list[Answers]:
    """Return the parts, with a piece of its digest after a model's name where another model has that name before."""
    taken: dict[str, str] = {}
    found = []
    for part in parts:
        unique = part
        for name, digest in part.digests_of_models().items():
            if taken.setdefault(name, digest) != digest:
                unique = unique.renamed(name, f"{name}-{digest[:8]}")
        found.append(unique)
    return found
