"""Prompts that are polar themselves (Cao et al., 2022, Section 4.2): what is written after them says more of the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.families.generations.judging import judge_texts
from tiltmeter.judges import Judge

if TYPE_CHECKING:
    import pandas as pd


FILTERING = ("sentiment", "regard", "toxicity")
"""Notions whose judges choose, as in the paper; a prompt about a stereotype need not be polar."""


def without_polar_prompts(
    texts: pd.DataFrame, prompts: Sequence[str], judges: Sequence[Judge], most: float, folder: Path | None
) -> pd.DataFrame:
    """The texts, with a reason not to judge those whose prompt is beyond `most` in either direction, by a judge."""
    every = list(dict.fromkeys(prompts))
    polar: dict[str, str] = {}
    for judge in (one for one in judges if one.notion in FILTERING):
        scores = np.array([row[0] for row in judge_texts(judge, every, folder)], dtype=np.float64)
        for place in np.flatnonzero(np.abs(scores) > most):
            polar.setdefault(every[place], f"polar prompt ({judge.notion})")
    found = [polar.get(prompt) for prompt in prompts]
    return texts.assign(reason=texts["reason"].where(texts["reason"].notna(), found))
