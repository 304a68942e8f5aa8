"""Contribution of every pair to a measure that is a share of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.pairs.paired import Paired, pair_up

if TYPE_CHECKING:
    import pandas as pd


def unit_values(answers: Answers, measure: Entry) -> pd.DataFrame | None:
    """Return a row for each model, scorer and pair, with `tied` for a pair of equal scores.

    None for a measure that is no plain share of pairs.
    """
    import pandas as pd

    if measure.spec.proportion is None or measure.moments is None or measure.spec.weighted:
        return None
    frames = [_values(paired, measure) for paired in pair_up(answers) if paired.supports(measure)]
    return pd.concat(frames, ignore_index=True) if frames else None


def _values(paired: Paired, measure: Entry) -> pd.DataFrame:
    import pandas as pd

    roles = paired.roles_of(measure)
    missing = np.any([np.isnan(paired.scores[role]) for role in roles], axis=0)
    (share, *_) = measure.moments(**{role: paired.scores[role] for role in roles})
    value = np.where(missing, np.nan, share)
    tied = np.all([paired.scores[role] == paired.scores[roles[0]] for role in roles], axis=0) & (len(roles) > 1)
    place = {"model": paired.model, "benchmark": paired.benchmark, "scorer": paired.scorer}
    return pd.DataFrame({"item": paired.groups["item"].to_numpy(), "value": value, "tied": tied}).assign(**place)
