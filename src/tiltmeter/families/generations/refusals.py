"""Refusals between groups: whether a text was refused is scored like a judge's verdict, so that the same tests apply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.generations.judging import JUDGE_COLUMNS, REFUSAL_SCORER, with_temperature
from tiltmeter.families.generations.states import FILTERED, REFUSAL, SUPPOSED

if TYPE_CHECKING:
    import pandas as pd

REFUSED = (REFUSAL, FILTERED)
OF_SCORES = {"total", "other_total", "largest", "positives", "answered", "worst", "group_means"}
"""Inputs of measures of scores. A refusal is yes or no: its shares say everything."""


def refusal_rows(texts: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each text of the benchmarks with a refusal: 1 if the model or its server refused, else 0.

    A text that never came, and one that may be a refusal, is missing with its reason.
    """
    is_refused = texts["reason"].isin(REFUSED)
    asked = texts[texts["benchmark"].isin(texts.loc[is_refused, "benchmark"].unique())]
    is_refused = asked["reason"].isin(REFUSED)
    unknown = (asked["text"].isna() & ~is_refused) | (asked["reason"] == SUPPOSED)
    value = np.where(unknown, np.nan, is_refused.astype(float))
    scorer = [with_temperature(REFUSAL_SCORER, heat) for heat in asked["temperature"]]
    reason = asked["reason"].where(unknown, None)
    rows = asked.assign(scorer=scorer, score=value, negative=value, positive=np.nan, reason=reason)
    return rows[list(JUDGE_COLUMNS)]


def measures_of(notion: str, measures: Sequence[Entry]) -> list[Entry]:
    """Return the measures of a judge; of refusals, those of shares."""
    return [one for one in measures if notion != REFUSAL_SCORER or not OF_SCORES & set(one.parameters)]
