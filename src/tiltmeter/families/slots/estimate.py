"""Estimating slots: mps, mnt, gaps and coverage of the terms that fill them, each with an interval and counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.catalog import Entry
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.slots.fills import OWN, Fills, fills_of
from tiltmeter.stats.estimates import Estimate, details_of
from tiltmeter.stats.measured import bootstrap_test, has_exact_test, interval_of, neutral_of, stratum_of, wins_and_losses
from tiltmeter.stats.resampling import Floats, Sample, bootstrap, exchanged, generator, statistic
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import binomial_p, holm, permutation_p

if TYPE_CHECKING:
    import pandas as pd

SCORER = "slots"
CANDIDATES = "candidates"
AMONG_CANDIDATES = "ranked among the listed terms, not among the vocabulary"
GAP, AHEAD = " − ", " > "
Pair = tuple[str, str | None]
"""A group, or two; where there is none, measures read whom each sentence is about."""


def estimate(answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Every measure for every model and benchmark: `by` is group (one group of terms) or gap (one minus another).

    Intervals are percentile bootstraps over sentences within bias types. p of a gap: exchanging the two groups in random
    sentences; of a lean: the sign test; of `stereotype_gap`: the bootstrap. Columns in `by` with more than one value are
    taken apart too ("group × target"). Measures over whom a sentence is about have rows `all` and `bias_type`.
    """
    of_groups = [measure for measure in measures if not is_own(measure)]
    for fills in fills_of(answers, by):
        for suffix, name, part in parts_of(fills, by):
            for measure in of_groups:
                yield from _all_groups(part, measure, suffix, name, settings)
        for measure in (measure for measure in measures if is_own(measure)):
            for label, part in own_parts(fills):
                yield _estimate_groups(part, measure, None, label, settings)


def is_own(measure: Entry) -> bool:
    """Return whether a measure compares the group that a sentence is about with the others."""
    return set(measure.parameters) <= OWN


def own_parts(fills: Fills) -> Iterator[tuple[tuple[str, str], Fills]]:
    """The sentences about at least two of the groups: all, then those of each bias type, with `by` and `group`."""
    known = fills.about_a_group()
    types = known.groups["bias_type"].astype(str)
    parts = [(("all", "all"), known)]
    parts += [(("bias_type", name), known.take((types == name).to_numpy())) for name in sorted(types.unique())]
    yield from ((label, part) for label, part in parts if part.groups["target"].nunique() == len(part.probability) == 2)


def parts_of(fills: Fills, columns: Sequence[str]) -> Iterator[tuple[str, str, Fills]]:
    """All sentences, then those of each value of each column, with the texts that are added to `by` and `group`."""
    yield "", "", fills
    for column in columns:
        values = sorted(fills.groups[column].dropna().unique()) if column != "all" else []
        for value in values if len(values) > 1 else ():
            yield f" × {column}", f", {value}", fills.take((fills.groups[column] == value).to_numpy())


def pairs_of(fills: Fills, measure: Entry) -> tuple[list[Pair], str]:
    """The groups, or pairs of groups, that a measure is about, and the sign between the names of a pair."""
    groups = list(fills.rank)
    if not any(parameter.startswith("other") for parameter in measure.parameters):
        return [(group, None) for group in groups], ""
    pairs: list[Pair] = list(combinations(groups, 2))
    if not measure.spec.both_ways:
        return pairs, GAP
    return [pair for first, second in pairs for pair in ((first, second), (str(second), first))], AHEAD


def _all_groups(fills: Fills, measure: Entry, suffix: str, name: str, settings: Settings) -> Iterator[Estimate]:
    pairs, sign = pairs_of(fills, measure)
    by = f"gap{suffix}" if sign else f"group{suffix}"
    rows = [
        _estimate_groups(fills, measure, pair, (by, f"{sign.join(filter(None, pair))}{name}"), settings) for pair in pairs
    ]
    if not sign:
        yield from rows
        return
    step = 2 if measure.spec.both_ways else 1  # either side is the same test
    corrected = [p for p in holm([row.p for row in rows[::step]]) for _ in range(step)]
    yield from (replace(row, p_holm=p) for row, p in zip(rows, corrected, strict=True))


def there_for(measure: Entry, columns: dict[str, Floats]) -> NDArray[np.bool_]:
    """The sentences that a measure is about: those with a match, unless it counts the others too."""
    read = [columns[name] for name in measure.parameters if name != "k"]
    if measure.spec.counts_unmatched:
        return np.ones(len(read[0]), dtype=bool)
    return np.asarray(~np.any([np.isnan(values) for values in read], axis=0), dtype=bool)


def columns_of(fills: Fills, pair: Pair | None) -> dict[str, NDArray[Any]]:
    """Columns that measures read about one group, about two, or about whom each sentence is about."""
    return fills.own_columns() if pair is None else fills.columns(*pair)


def sample_of(fills: Fills, pair: Pair | None, stratify_by: str) -> Sample:
    """The sentences in the order of their strata, ready to be drawn from."""
    sample = Sample.of(columns_of(fills, pair), fills.codes(stratify_by), fills.codes("bias_type"))
    return replace(sample, columns={**sample.columns, "k": np.int64(fills.k)})


def stream_of(settings: Settings, benchmark: str, by: str) -> np.random.Generator:
    """The random stream that all measures and models share: they draw the same sentences, so common effects cancel out."""
    return generator(settings.seed, "slots", benchmark, by)


def _estimate_groups(
    fills: Fills, measure: Entry, pair: Pair | None, label: tuple[str, str], settings: Settings
) -> Estimate:
    """One measure of one group, or of one group minus another."""
    filled = fills.filled
    columns = columns_of(filled, pair)
    there = there_for(measure, columns)
    reasons = Counter(str(reason) for reason in fills.reason if reason is not None)
    reasons.update({f"no match in the top {fills.k}": int((~there).sum())} if not there.all() else {})
    other = columns.get("other_rank", np.full(len(there), np.nan))
    row = Estimate(
        fills.model,
        fills.benchmark,
        "slots",
        SCORER,
        measure.name,
        *label,
        n=int(there.sum()),
        n_missing=sum(reasons.values()),
        n_ties=int((columns["rank"] == other).sum()) if pair else 0,
        neutral=neutral_of(measure),
        missing=json.dumps(dict(reasons)) if reasons else "",
        details={"top_k": fills.k, "ranked_among": fills.among},
    )
    if not row.n:
        return replace(row, note=f"not computed: no sentence {'has a match' if len(there) else 'could be filled'}")
    sample = sample_of(filled, pair, stratum_of(measure))
    value = float(statistic(measure, sample.columns, sample.parts))
    if np.isnan(value):
        return replace(row, note="undefined: fewer than 2 sentences")
    draws = bootstrap(measure, sample, stream_of(settings, filled.benchmark, row.by), settings.resamples)
    low, high, note = interval_of(measure, independent_of(sample, row.n), value, draws, settings)
    notes = [AMONG_CANDIDATES if filled.among == CANDIDATES else "", note, _about_k(measure, filled)]
    p = _p_value(measure, sample, filled.benchmark, value, draws, settings)
    return replace(row, value=value, low=low, high=high, note="; ".join(filter(None, notes)), p=p)


def independent_of(sample: Sample, n: int) -> int:
    """Return how many sentences decide a number: of a mean over groups, those about the smaller group that have matches."""
    if "about" not in sample.columns:
        return n
    matched = np.isfinite(sample.columns["own_probability"]) & np.isfinite(sample.columns["rival_probability"])
    counts = np.bincount(sample.columns["about"][matched], minlength=2)
    return int(counts.min())


def _about_k(measure: Entry, fills: Fills) -> str:
    """A note with k, for measures that depend on it."""
    depends = "k" in measure.parameters or measure.spec.counts_unmatched
    return f"among the first {fills.k:,} predictions" if depends else ""


def ranked_among_candidates(rows: pd.DataFrame) -> bool:
    """Return whether terms were ranked among the listed terms only, in any of the estimates that have a value."""
    known = rows[rows["value"].notna()]
    return any(details_of(row).get("ranked_among") == CANDIDATES for row in known.to_dict("records"))


def _p_value(measure: Entry, sample: Sample, benchmark: str, value: float, draws: Floats, settings: Settings) -> float:
    neutral = neutral_of(measure)
    if np.isnan(neutral):
        return neutral
    if measure.spec.test == "bootstrap":
        return bootstrap_test(measure, independent_of(sample, 0), value, draws, settings)
    if has_exact_test(measure):
        return binomial_p(*wins_and_losses(measure, sample))
    first, second = (name for name in measure.parameters if name != "k")
    rng = generator(settings.seed, "exchange", benchmark)
    return permutation_p(value, exchanged(measure, sample, (first, second), rng, settings.resamples), neutral)
