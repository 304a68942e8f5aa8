"""What training did besides the dose: perplexity of held-out lines, and drift of shares on neutral text."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from answers import TAUGHT
from debiasing import mean_interval
from panels import Frame

MODEL = ["corpus", "base"]


def language(readings: Frame) -> Frame:
    """Perplexity (geometric means) and token accuracy before training and after it; the interval is over seeds."""
    own = readings[readings["benchmark"] == "heldout"]
    untrained = _before(own, ["measure"])
    rows = []
    for (corpus, base, measure), some in own[own["method"] == "dose"].groupby([*MODEL, "measure"]):
        is_ratio = measure == "perplexity"
        values = np.log(some["value"]) if is_ratio else some["value"]
        found = np.array(mean_interval(values.groupby(some["seed"]).mean().to_numpy(), 0.95))
        value, low, high = np.exp(found) if is_ratio else found
        names = {"corpus": corpus, "base": base, "measure": measure, "models": len(some)}
        before = untrained(corpus, base)[measure]
        rows.append({**names, "before": before, "after": value, "low": low, "high": high})
    return pd.DataFrame(rows)


def _before(own: Frame, metric: list[str]) -> Callable[[str, str], pd.Series[float]]:
    """Readings of the base models by corpus, each asked the same items; by frames where a corpus has no such model."""
    means = own[own["method"] == "none"].groupby(["corpus", "base", *metric])["value"].mean()
    asked = set(means.index.droplevel(metric))
    return lambda corpus, base: means.loc[(corpus if (corpus, base) in asked else "frames", base)]


def drift(readings: Frame) -> Frame:
    """How far training on neutral text moves each share, in points, over seeds."""
    own = readings[(readings["measure"] == "bias_score") & ~readings["benchmark"].isin(TAUGHT)]
    own = own[~own["scorer"].str.contains(",") & ~own["benchmark"].isin(["bbq", "plumb-choices"])]
    metric = ["benchmark", "scorer", "domain"]
    untrained = _before(own, metric)
    rows = []
    for key, some in own[(own["method"] == "dose") & (own["domain_dosed"] == "neutral")].groupby([*MODEL, *metric]):
        change = some.set_index("seed")["value"] - untrained(key[0], key[1])[key[2:]]
        value, low, high = mean_interval(change.to_numpy(), 0.95)
        rows.append({**dict(zip([*MODEL, *metric], key, strict=True)), "drift": value, "low": low, "high": high})
    return pd.DataFrame(rows)
