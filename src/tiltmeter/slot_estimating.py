"""`estimate_slots`: which terms fill the slots, to mps, mnt, gaps and coverage, each with an interval and its counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.errors import TiltmeterError
from tiltmeter.estimating import DEFAULT_BY, ESTIMATE_COLUMNS
from tiltmeter.group_estimating import Estimate, Settings, interval_of
from tiltmeter.paired import Paired, _extra
from tiltmeter.resampling import Sample, generator
from tiltmeter.significance import binomial_p, exact_proportion_interval, holm, permutation_p
from tiltmeter.slot_tables import Slots, best_matches
from tiltmeter.tables import Scores

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
READS = {"probability", "rank", "other_probability", "other_rank", "k"}
"""What measures of slots read: a group's best match per sentence (not a number where there is none), another group's, k."""
SCORER = "slots"
AMONG_CANDIDATES = "ranked among the listed terms, not among the vocabulary"


@dataclass(frozen=True)
class Fills:
    """The best matches of one model on one benchmark: group → an array over sentences."""

    model: str
    benchmark: str
    k: int
    among: str
    probability: dict[str, Floats]
    rank: dict[str, Floats]
    reason: NDArray[np.object_]
    groups: pd.DataFrame

    def take(self, at: NDArray[np.bool_]) -> Fills:
        """Some of the sentences."""
        probability, rank = ({group: values[at] for group, values in of.items()} for of in (self.probability, self.rank))
        groups = self.groups[at].reset_index(drop=True)
        return replace(self, probability=probability, rank=rank, reason=self.reason[at], groups=groups)

    def columns(self, group: str, other: str | None = None) -> dict[str, Floats]:
        """What measures read about a group, or about it and another."""
        ours = {"probability": self.probability[group], "rank": self.rank[group]}
        if other is None:
            return ours
        return ours | {"other_probability": self.probability[other], "other_rank": self.rank[other]}


def fills_of(slots: Slots, extra_columns: Sequence[str] = ()) -> Iterator[Fills]:
    """Every model and benchmark of a table of slots."""
    import pandas as pd

    for (model, benchmark), rows in slots.frame.groupby(["model", "benchmark"], sort=False):
        first = rows.drop_duplicates("item").reset_index(drop=True)
        place = pd.Index(first["item"])
        best = best_matches(rows)
        probability, rank = {}, {}
        for group in dict.fromkeys(rows["group"]):
            ours = best[best["group"] == group]
            at = place.get_indexer(ours["item"])
            probability[group], rank[group] = (np.full(len(first), np.nan) for _ in range(2))
            probability[group][at], rank[group][at] = ours["probability"], ours["rank"]
        ranked = set(rows[rows["rank"] > 0]["item"])
        pairs = zip(first["item"], first["reason"], strict=True)
        reason = np.array([None if item in ranked else str(why) for item, why in pairs], dtype=object)
        groups = first[["item", "bias_type", "direction", "target"]].copy()
        for column in extra_columns:
            groups[column] = _extra(Scores(slots.items, slots.items), benchmark, groups["item"], column)
        among = str(next(iter(rows["among"].dropna()), "vocabulary"))
        yield Fills(str(model), str(benchmark), int(rows["top_k"].iloc[0]), among, probability, rank, reason, groups)


def slot_measures(names: Sequence[str] | str | None = None) -> list[Entry]:
    """Of the measures named, or of all, those that read slots."""
    names = [names] if isinstance(names, str) else names
    chosen = catalog.entries("measures") if names is None else [catalog.find("measures", name) for name in names]
    return [entry for entry in chosen if set(entry.parameters) <= READS]


def estimate_slots(
    slots: Slots,
    measures: Sequence[str] | str | None = None,
    by: str | Sequence[str] = DEFAULT_BY,
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """The rows of estimates.csv about slots: `by` is group (one group of terms) or gap (one less another).

    Intervals are percentile bootstraps over sentences within bias types. p of a gap: exchanging the two groups in random
    sentences; of a lean: the sign test. Columns in `by` with more than one value are taken apart too ("group × target").
    """
    import pandas as pd

    settings = Settings(resamples, confidence, seed)
    settings.check()
    columns = [by] if isinstance(by, str) else list(by)
    known = ("bias_type", "direction", "target", "all")
    chosen = slot_measures(measures)
    if not chosen:
        raise TiltmeterError("None of these measures reads slots. `tiltmeter list measures` has those that do.")
    rows: list[dict[str, Any]] = []
    for fills in fills_of(slots, [column for column in columns if column not in known]):
        for suffix, name, part in _parts(fills, columns):
            for measure in chosen:
                rows += [_row(fills, measure, one) for one in _all_groups(part, measure, suffix, name, settings)]
    return pd.DataFrame(rows, columns=list(ESTIMATE_COLUMNS))


def _parts(fills: Fills, columns: Sequence[str]) -> Iterator[tuple[str, str, Fills]]:
    """All sentences, then those of each value of each column, with what is added to `by` and `group`."""
    yield "", "", fills
    for column in columns:
        values = sorted(fills.groups[column].dropna().unique()) if column != "all" else []
        for value in values if len(values) > 1 else ():
            yield f" × {column}", f", {value}", fills.take((fills.groups[column] == value).to_numpy())


def _all_groups(fills: Fills, measure: Entry, suffix: str, name: str, settings: Settings) -> list[Estimate]:
    groups = list(fills.rank)
    if not any(parameter.startswith("other") for parameter in measure.parameters):
        return [_one(fills, measure, (group, None), (f"group{suffix}", f"{group}{name}"), settings) for group in groups]
    pairs = list(combinations(groups, 2))
    if measure.name == "lean":  # the share on either side; equal ranks are on neither
        pairs = [pair for one in pairs for pair in (one, one[::-1])]
    sign = ">" if measure.name == "lean" else "−"
    found = [_one(fills, measure, pair, (f"gap{suffix}", f"{pair[0]} {sign} {pair[1]}{name}"), settings) for pair in pairs]
    step = len(found) // len(list(combinations(groups, 2)))  # either side of a lean is the same test
    corrected = [p for p in holm([one.p for one in found[::step]]) for _ in range(step)]
    return [replace(one, p_holm=p) for one, p in zip(found, corrected, strict=True)]


def _one(fills: Fills, measure: Entry, pair: tuple[str, str | None], label: tuple[str, str], settings: Settings) -> Estimate:
    """One measure of one group, or of one group less another."""
    asked = fills.take(np.array([reason is None for reason in fills.reason], dtype=bool))
    columns = asked.columns(*pair)
    there = np.ones(len(asked.reason), dtype=bool)
    if measure.name not in ("coverage", "mps_all"):  # these two are about all sentences
        there = ~np.any([np.isnan(columns[name]) for name in measure.parameters if name != "k"], axis=0)
    reasons = Counter(str(reason) for reason in fills.reason if reason is not None)
    reasons.update({f"no match in the top {fills.k}": int((~there).sum())} if not there.all() else {})
    other = columns.get("other_rank", np.full(len(there), np.nan))
    known = Estimate(
        by=label[0],
        group=label[1],
        n=int(there.sum()),
        n_missing=sum(reasons.values()),
        n_ties=int((columns["rank"] == other).sum()),
        missing=json.dumps(dict(reasons)) if reasons else "",
    )
    if not known.n:
        return replace(known, note="no sentence has a match" if len(there) else "no sentence could be asked")
    return _measured(asked, measure, columns, known, settings)


def _measured(asked: Fills, measure: Entry, columns: dict[str, Floats], known: Estimate, settings: Settings) -> Estimate:
    sample = Sample.of(Paired(asked.model, asked.benchmark, SCORER, columns, {}, asked.groups), "bias_type")
    ours = {name: sample.paired.scores[name] for name in measure.parameters if name != "k"}
    fixed = {"k": asked.k} if "k" in measure.parameters else {}
    value = float(measure.function(**ours, **fixed))
    if np.isnan(value):
        return replace(known, note="undefined: fewer than two sentences")
    # The same sentences are drawn for all measures and models, so that what they share cancels.
    rng = generator(settings.seed, "slots", asked.benchmark, known.by)
    draws = np.concatenate(
        [
            measure.function(**{name: column[index] for name, column in ours.items()}, **fixed)
            for index in sample.draws(rng, settings.resamples)
        ]
    )
    low, high, note = interval_of(measure, sample, value, draws, settings)
    if measure.name == "coverage" and np.isnan(low):
        low, high = (edge / 100 for edge in exact_proportion_interval(round(value * known.n), known.n, settings.confidence))
        note = "exact interval, since no resample differs"
    notes = "; ".join(filter(None, (AMONG_CANDIDATES if asked.among == "candidates" else "", note)))
    return replace(known, value=value, low=low, high=high, note=notes, p=_p_value(measure, sample, ours, fixed, settings))


def _p_value(measure: Entry, sample: Sample, ours: dict[str, Floats], fixed: dict[str, int], settings: Settings) -> float:
    if measure.constant("NEUTRAL") is None:
        return float("nan")
    first, second = list(ours.values())
    if measure.name == "lean":
        return binomial_p(int((first < second).sum()), int((second < first).sum()))
    names = list(ours)
    exchanged = [
        measure.function(**{names[0]: np.where(flip, second, first), names[1]: np.where(flip, first, second)}, **fixed)
        for flip in sample.flips(generator(settings.seed, "exchange", sample.paired.benchmark), settings.resamples)
    ]
    return permutation_p(float(measure.function(first, second, *fixed.values())), np.concatenate(exchanged), 0.0)


def _row(fills: Fills, measure: Entry, one: Estimate) -> dict[str, Any]:
    neutral = measure.constant("NEUTRAL")
    return {
        "model": fills.model,
        "benchmark": fills.benchmark,
        "scorer": SCORER,
        "measure": measure.name,
        "neutral": np.nan if neutral is None else neutral,
        **vars(one),
    }
