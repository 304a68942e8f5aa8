"""The estimates of association tests as tables: one for each method, every test or group a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tiltmeter.families.kit.story import Sheet

if TYPE_CHECKING:
    import pandas as pd


def sheets(estimates: pd.DataFrame) -> Iterator[Sheet]:
    """One table per benchmark, scorer and measure."""
    for (benchmark, scorer, measure), rows in estimates.groupby(["benchmark", "scorer", "measure"], sort=False):
        by = str(rows["by"].iloc[0])
        yield Sheet(str(benchmark), f"{benchmark} · {scorer} · {measure}", rows, pivot=False, by=by)
