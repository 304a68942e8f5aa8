"""Correlations of pairs of metrics."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tiltmeter.display import number_text, share_text
from tiltmeter.errors import RunError, require_known
from tiltmeter.stats.correlations import LEAST, Correlated, correlate
from tiltmeter.studies.kit.corrections import corrected
from tiltmeter.studies.kit.domains import DOMAINS
from tiltmeter.studies.kit.paper_metrics import PAIRS

if TYPE_CHECKING:
    import pandas as pd


class Drawing(NamedTuple):
    """Settings of resampling."""

    resamples: int
    confidence: float
    seed: int


def kept(points: pd.DataFrame, column: str, wanted: list[str] | None) -> pd.DataFrame:
    """The scores of the domains or metrics that are wanted; refuses what is not there."""
    names = list(dict.fromkeys(points[column]))
    require_known(column, wanted or (), names)
    return points[points[column].isin(wanted)] if wanted else points


def correlations(points: pd.DataFrame, paper: bool, how: Drawing) -> pd.DataFrame:
    """A row per domain and pair.

    Every intrinsic with every extrinsic metric, every two of the only kind there is, or the paper's pairs.
    """
    import pandas as pd

    rows = [
        {"domain": name, **row} for name, some in points.groupby("domain", sort=False) for row in _pairs(some, paper, how)
    ]
    if not rows:
        raise RunError(
            f"domain-correlation needs two metrics with domain scores for at least {LEAST} models each; these runs have: "
            f"{_there(points)}.",
            code="too-few",
            kind="models",
            least=LEAST,
        )
    return pd.DataFrame(corrected(rows, "domain"))


def _pairs(points: pd.DataFrame, paper: bool, how: Drawing) -> Iterator[dict[str, Any]]:
    kinds = points.drop_duplicates("metric").set_index("metric")["kind"]
    names = sorted(kinds.index, key=lambda name: kinds[name] == "extrinsic")  # stable: intrinsic ones stay first
    for a, b in combinations(names, 2):
        if (kinds.nunique() > 1 and kinds[a] == kinds[b]) or (paper and (a, b) not in PAIRS):
            continue
        both = _wide(points, a).add_suffix("_x").join(_wide(points, b).add_suffix("_y"), how="inner")
        if len(both) < LEAST:
            continue
        x, y = both["value_x"].to_numpy(), both["value_y"].to_numpy()
        errors = (both["error_x"].to_numpy(), both["error_y"].to_numpy())
        found = correlate(x, y, errors=errors, **how._asdict())
        yield {"a": a, "b": b, **vars(found), "note": _note(found)}


def _note(correlation: Correlated) -> str:
    """Give the reason why a value is missing."""
    if np.isnan(correlation.r):
        return "no correlation: one of the two is the same for all models"
    if np.isnan([correlation.reliability_x, correlation.reliability_y]).any():
        return "no clear_r: the error of measurement of a score is not known"
    least = min(correlation.reliability_x, correlation.reliability_y)
    if least <= 0:
        return f"no clear_r: reliability {number_text(least, 2)}, below 0: errors overstated (it is a lower bound)"
    if np.isnan(correlation.clear_r):
        return f"no clear_r: only {share_text(least, 0)} of the variance of a score clearly exceeds the error of measurement"
    return "clear_r exceeds 1 by chance; read it with its interval" if abs(correlation.clear_r) > 1 else ""


def _wide(points: pd.DataFrame, metric: str) -> pd.DataFrame:
    return points[points["metric"] == metric].set_index("model")[["value", "error"]]


def _there(points: pd.DataFrame) -> str:
    if not len(points):
        return f"no domain scores (domains: {', '.join(DOMAINS)})"
    counts = points.groupby(["domain", "metric"], sort=False)["model"].nunique()
    return "; ".join(f"{domain}, {metric}: {count} models" for (domain, metric), count in counts.items())
