"""By how much each pair prefers the stereotype: the score of the stereotypical sentence minus that of the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.pairs.paired import pair_up

if TYPE_CHECKING:
    import pandas as pd


def item_readings(answers: Answers) -> Iterator[pd.DataFrame]:
    """One row per pair whose two sentences have a score, for each model, benchmark and scorer."""
    import pandas as pd

    for paired in pair_up(answers):
        table = pd.DataFrame(
            {
                "item": paired.groups["item"].to_numpy(), "by": "bias_type",
                "group": paired.groups["bias_type"].astype(str).to_numpy(),
                "value": paired.scores["stereo"] - paired.scores["anti"],
            }
        )  # fmt: skip
        table = table[table["value"].notna()]
        yield table.assign(model=paired.model, benchmark=paired.benchmark, scorer=paired.scorer)
