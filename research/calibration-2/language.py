"""What training did besides the dose: perplexity of held-out lines, and drift of shares on neutral text."""

from __future__ import annotations

import numpy as np
import pandas as pd
from answers import TAUGHT
from debiasing import mean_interval
from panels import Frame

MODEL = ["corpus", "base"]


def language(readings: Frame) -> Frame:
    """Perplexity (geometric means) and token accuracy before training and after it; the interval is over seeds."""
    own = readings[readings["benchmark"] == "heldout"]
    before = own[own["method"] == "none"].groupby(["base", "measure"])["value"].mean()
    rows = []
    for (corpus, base, measure), some in own[own["method"] == "dose"].groupby([*MODEL, "measure"]):
        is_ratio = measure == "perplexity"
        values = np.log(some["value"]) if is_ratio else some["value"]
        found = np.array(mean_interval(values.groupby(some["seed"]).mean().to_numpy(), 0.95))
        value, low, high = np.exp(found) if is_ratio else found
        names = {"corpus": corpus, "base": base, "measure": measure, "models": len(some)}
        rows.append({**names, "before": before[base, measure], "after": value, "low": low, "high": high})
    return pd.DataFrame(rows)


def drift(readings: Frame) -> Frame:
    """How far training on neutral text moves each share, in points, over seeds."""
    own = readings[(readings["measure"] == "bias_score") & ~readings["benchmark"].isin(TAUGHT)]
    own = own[~own["scorer"].str.contains(",") & ~own["benchmark"].isin(["bbq", "plumb-choices"])]
    metric = ["benchmark", "scorer", "domain"]
    before = own[own["method"] == "none"].groupby(["base", *metric])["value"].mean()
    rows = []
    for key, some in own[(own["method"] == "dose") & (own["domain_dosed"] == "neutral")].groupby([*MODEL, *metric]):
        change = some.set_index("seed")["value"] - before[key[1:]]
        value, low, high = mean_interval(change.to_numpy(), 0.95)
        rows.append({**dict(zip([*MODEL, *metric], key, strict=True)), "drift": value, "low": low, "high": high})
    return pd.DataFrame(rows)
