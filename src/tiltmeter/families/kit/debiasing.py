"""Details that a family adds to `study debiasing` besides the differences of all measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

Draw = Callable[[], Any]


@dataclass(frozen=True)
class DebiasingDetails:
    """Tables, figures by name, and sentences.

    `changes` are averaged over the seeds of a method: model, benchmark, scorer, measure, group, and the change in percent.
    """

    tables: Mapping[str, pd.DataFrame]
    figures: Mapping[str, Draw]
    sentences: Sequence[str]
    changes: pd.DataFrame
