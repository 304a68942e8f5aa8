"""Occupations as units: the percentage of women that a model expects in each, beside the percentage there is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.pairs.labels import Labels
from tiltmeter.families.pairs.paired import SIDES, UNITS, Floats, Paired


def is_of_occupations(measure: Entry) -> bool:
    """Return whether a measure reads what occupations have."""
    return set(measure.parameters) <= set(UNITS)


def by_occupation(paired: Paired) -> Paired:
    """One row per target. The percentage by the model is the mean over sentences of P(her) / (P(her) + P(his)).

    Scores must be log-probabilities of the two sentences. A sentence without a score is left out of its occupation.
    Occupations stay as they are.
    """
    if "predicted" in paired.scores:
        return paired
    occupation = paired.labels.codes("target")
    shares = _female_share(paired)
    known = np.isfinite(shares) & ~paired.labels.lacking("target")
    n = int(occupation.max(initial=-1)) + 1
    total, count = (np.bincount(occupation[known], weight, n) for weight in (shares[known], np.ones(int(known.sum()))))
    present, first = np.unique(occupation, return_index=True)
    predicted = np.divide(total, count, out=np.full(n, np.nan), where=count > 0)[present]
    actual = paired.groups["bls_women"].iloc[first].to_numpy(dtype=np.float64)
    reasons = {name: np.full(len(first), None, dtype=object) for name in UNITS}
    reasons["predicted"] = np.array([_reason(paired, int(at)) for at in first], dtype=object)
    labels = Labels(paired.groups.iloc[first].reset_index(drop=True))
    return replace(paired, scores={"predicted": predicted, "actual": actual}, reasons=reasons, labels=labels)


def _reason(paired: Paired, at: int) -> str | None:
    reasons = (paired.reasons[side][at] for side in SIDES)
    return next((str(reason) for reason in reasons if isinstance(reason, str)), None)


def _female_share(paired: Paired) -> Floats:
    """The percentage of probability that the sentence with a woman has of the two."""
    women = (paired.groups["gender"] == "female").to_numpy()
    difference = np.where(women, 1.0, -1.0) * (paired.scores["stereo"] - paired.scores["anti"])
    return np.asarray(100.0 / (1.0 + np.exp(-difference)), dtype=np.float64)
