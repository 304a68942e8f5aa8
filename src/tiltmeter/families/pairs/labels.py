"""The items that scores are about, and the groups they belong to. Picking items out costs no more than an index."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
AT_ONCE = 4096


class Labels:
    """Items and a column for everything they can be grouped by; or some of them, by position in the whole."""

    def __init__(self, table: pd.DataFrame) -> None:
        self._all = table
        self._whole = self
        self.index: Ints | None = None
        self._groups: dict[str, tuple[Ints, list[str]]] = {}
        self._lacking: dict[str, Bools] = {}

    def __len__(self) -> int:
        return len(self._all) if self.index is None else len(self.index)

    def __contains__(self, column: str) -> bool:
        return column in self._all

    def take(self, index: NDArray[Any]) -> Labels:
        """Some of the items, by position or mask."""
        chosen = np.flatnonzero(index) if index.dtype == bool else np.asarray(index, dtype=np.int64)
        part = Labels(self._all)
        part._whole, part.index = self._whole, chosen if self.index is None else self.index[chosen]
        return part

    @cached_property
    def table(self) -> pd.DataFrame:
        """The labels of these items."""
        return self._all if self.index is None else self._all.iloc[self.index]

    @property
    def items(self) -> NDArray[np.object_]:
        """The ids of these items."""
        return self._picked(self._whole._ids)

    @cached_property
    def _ids(self) -> NDArray[np.object_]:
        return np.asarray(self._all["item"], dtype=object)

    @property
    def key(self) -> tuple[Any, ...]:
        """Which items these are, in which order."""
        return self._whole._items, None if self.index is None else self.index.tobytes()

    @cached_property
    def _items(self) -> str:
        """A digest: the ids of a long benchmark would take more memory than everything else here."""
        digest, ids = hashlib.sha256(), self._all["item"]
        for first in range(0, len(ids), AT_ONCE):
            digest.update(repr(ids.iloc[first : first + AT_ONCE].tolist()).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def codes(self, column: str) -> Ints:
        """The groups of a column as numbers, in the order of their names."""
        return np.asarray(self._picked(self._whole._grouped(column)[0]), dtype=np.int64)

    def _grouped(self, column: str) -> tuple[Ints, list[str]]:
        """Codes and names of the groups, made once for the whole."""
        import pandas as pd

        if column not in self._groups:
            codes, names = pd.factorize(self._all[column].astype(str), sort=True)
            self._groups[column] = np.asarray(codes, dtype=np.int64), [str(name) for name in names]
        return self._groups[column]

    def lacking(self, column: str) -> Bools:
        """The items that belong to no group of a column."""
        known = self._whole._lacking
        if column not in known:
            known[column] = self._all[column].isna().to_numpy()
        return self._picked(known[column])

    def names(self, column: str) -> list[str]:
        """The groups of a column that these items belong to, by name."""
        names = self._whole._grouped(column)[1]
        return [names[code] for code in np.unique(self.codes(column)[~self.lacking(column)])]

    def where(self, column: str, name: str) -> Bools:
        """Which of these items belong to one group."""
        names = self._whole._grouped(column)[1]
        if name not in names:
            return np.zeros(len(self), dtype=bool)
        return np.asarray((self.codes(column) == names.index(name)) & ~self.lacking(column), dtype=bool)

    def _picked(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self.index is None else values[self.index]
