"""Accuracy of a classifier: on held-out texts, with intervals, and for each group that they mention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.judges.kit.labelled import Row
from tiltmeter.stats.design import Design, generator
from tiltmeter.stats.significance import exact_proportion_interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
RESAMPLES = 1000
CONFIDENCE = 0.95
FEWEST = 5
"""Number of texts about a group below which its rate is not reported."""


def measured_errors(rows: Sequence[Row], probability: Floats, negative: int, seed: int = 0) -> dict[str, Any]:
    """F1 (of the negative label; macro for three labels), accuracy, hits, false alarms, and those about each group.

    Rows with one key belong together, and the interval draws them together. Those with one label too are copies of one text
    about other groups: counts of rates that are not about groups take it once, by the majority of its copies.
    """
    truth, said = np.array([row.label for row in rows]), probability.argmax(1)
    keys = [row.key or str(n) for n, row in enumerate(rows)]
    codes = np.unique(keys, return_inverse=True)[1]
    _, first, texts = np.unique(codes * probability.shape[1] + truth, return_index=True, return_inverse=True)
    called = np.bincount(texts, said == negative) * 2 > np.bincount(texts)
    right = np.bincount(texts, said == truth) * 2 > np.bincount(texts)
    bad = truth[first] == negative
    return {
        "f1": _f1(truth, said, codes, negative, probability.shape[1], seed) | {"n": len(first)},
        "accuracy": _rate(int(right.sum()), len(first)),
        "hits": _rate(int(called[bad].sum()), int(bad.sum())),
        "false_alarms": _rate(int(called[~bad].sum()), int((~bad).sum())),
        "groups": _groups(rows, truth != negative, said == negative),
    }


def _rate(k: int, n: int) -> dict[str, Any]:
    if not n:
        return {"k": 0, "n": 0, "share": None, "low": None, "high": None}
    low, high = exact_proportion_interval(k, n, CONFIDENCE)
    return {"k": k, "n": n, "share": k / n, "low": low / 100, "high": high / 100}


def _groups(rows: Sequence[Row], harmless: NDArray[np.bool_], called: NDArray[np.bool_]) -> dict[str, Any]:
    """False-positive rate of the harmless texts that mention a group."""
    names = sorted({group for row in rows for group in row.groups})
    member = {name: np.array([name in row.groups for row in rows]) for name in names}
    counted = {name: (int((called & harmless & at).sum()), int((harmless & at).sum())) for name, at in member.items()}
    return {name: _rate(k, n) for name, (k, n) in counted.items() if n >= FEWEST}


def _f1(truth: Ints, said: Ints, codes: Ints, negative: int, n_labels: int, seed: int) -> dict[str, Any]:
    labels = [negative] if n_labels == 2 else list(range(n_labels))
    parts = np.stack([counts_of(truth, said, codes, label) for label in labels])  # labels × keys × (tp, fp, fn)
    weights = Design.independent(parts.shape[1]).weights(RESAMPLES, generator(seed, "classifier"))
    draws = np.mean([f1_of(weights @ part) for part in parts], axis=0)
    low, high = np.nanpercentile(draws, [2.5, 97.5])
    value = float(np.mean([f1_of(part.sum(0)) for part in parts]))
    return {"value": value, "low": float(low), "high": float(high), "of": "negative" if n_labels == 2 else "macro"}


def counts_of(truth: Ints, said: Ints, codes: Ints, label: int) -> Floats:
    """Per key: true positives, false positives, false negatives of a label."""
    is_it, called = truth == label, said == label
    columns = (is_it & called, ~is_it & called, is_it & ~called)
    return np.stack([np.bincount(codes, column) for column in columns], axis=1)


def f1_of(counts: Floats) -> Floats:
    """F1 from true positives, false positives and false negatives (the last axis).

    >>> float(f1_of(np.array([8.0, 2.0, 2.0])))
    0.8
    """
    hit, false, missed = counts[..., 0], counts[..., 1], counts[..., 2]
    whole = 2 * hit + false + missed
    return np.asarray(np.divide(2 * hit, whole, out=np.zeros(np.shape(whole)), where=whole > 0), dtype=np.float64)
