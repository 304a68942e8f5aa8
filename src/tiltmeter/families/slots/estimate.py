"""Estimating slots: mps, mnt, gaps and coverage of the terms that fill them, each with an interval and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.catalog import Entry
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.slots.fills import Fills, fills_of
from tiltmeter.families.slots.questions import Question, questions_of
from tiltmeter.stats.estimates import Estimate, corrected, details_of, each_corrected, joined, missing_columns
from tiltmeter.stats.measured import neutral_of
from tiltmeter.stats.resampling import Sample, generator
from tiltmeter.stats.samples import estimate_samples
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.units import Units

if TYPE_CHECKING:
    import pandas as pd

SCORER = "slots"
CANDIDATES = "candidates"
AMONG_CANDIDATES = "ranked among the listed terms, not among the vocabulary"


def estimate(answers: Answers, measures: Sequence[Entry], by: Sequence[str], settings: Settings) -> Iterator[Estimate]:
    """Every measure for every model and benchmark: `by` is group (one group of terms) or gap (one minus another).

    Intervals are percentile bootstraps over sentences within bias types; p of a gap is from the same resamples, of a lean
    from the sign test. Columns in `by` with more than one value are taken apart too ("group × target"). Measures over whom
    a sentence is about have rows `all` and `bias_type`.
    """
    asked = (together for fills in fills_of(answers, by) for together in questions_of(fills, measures, by) if together)
    yield from each_corrected(row for together in asked for row in _tested(together, settings))


def _tested(together: Sequence[Question], settings: Settings) -> Iterator[Estimate | list[Estimate]]:
    """Estimate what is tested together. Where both ways are given, either is the same test."""
    rows = [_estimate(question, settings) for question in together]
    if together[0].pair is None:
        yield from rows
    elif together[0].measure.spec.both_ways:
        for one, other in zip(corrected(rows[::2]), rows[1::2], strict=True):
            yield from (one, replace(other, p_holm=one.p_holm, corrected_over=one.corrected_over))
    else:
        yield rows


def _blank(question: Question) -> Estimate:
    """An estimate without its value."""
    fills, columns, matched = question.fills, question.columns, question.has_matches
    reasons = Counter(str(reason) for reason in fills.reason if reason is not None)
    reasons.update({f"no match in the top {fills.k}": int((~matched).sum())} if not matched.all() else {})
    other = columns.get("other_rank", np.full(len(matched), np.nan))
    return Estimate(
        *(fills.model, fills.benchmark, "slots", SCORER, question.measure.name, question.by, question.group),
        n=int(matched.sum()),
        n_ties=int((columns["rank"] == other).sum()) if question.pair else 0,
        neutral=neutral_of(question.measure),
        details={"top_k": fills.k, "ranked_among": fills.among},
        **missing_columns(reasons),
    )


def _estimate(question: Question, settings: Settings) -> Estimate:
    """One measure of one group, or of one group minus another."""
    row, sample = _blank(question), question.sample
    if not row.n:
        return replace(row, note=f"not computed: no sentence {'has a match' if len(sample) else 'could be filled'}")
    stream = stream_of(settings, row.benchmark, row.by)
    found = estimate_samples(question.measure, [row], [sample], (stream, stream), settings, units=units_of(sample, row.n))[
        0
    ].row
    if np.isnan(found.value):
        return replace(row, note="undefined: fewer than 2 sentences")
    among = AMONG_CANDIDATES if question.fills.among == CANDIDATES else ""
    return replace(found, note=joined(among, found.note, _about_k(question.measure, question.fills)))


def stream_of(settings: Settings, benchmark: str, by: str) -> np.random.Generator:
    """The random stream that all measures and models share: they draw the same sentences, so common effects cancel out."""
    return generator(settings.seed, "slots", benchmark, by)


def units_of(sample: Sample, n: int) -> Units:
    """Count the sentences that decide a number: of a mean over groups, those about the smaller group that have matches."""
    if "about" not in sample.columns:
        return Units.independent(n)
    matched = np.isfinite(sample.columns["own_probability"]) & np.isfinite(sample.columns["rival_probability"])
    return Units.independent(int(np.bincount(sample.columns["about"][matched], minlength=2).min()))


def _about_k(measure: Entry, fills: Fills) -> str:
    """A note with k, for measures that depend on it."""
    depends = "k" in measure.parameters or measure.spec.counts_unmatched
    return f"among the first {fills.k:,} predictions" if depends else ""


def ranked_among_candidates(rows: pd.DataFrame) -> bool:
    """Return whether terms were ranked among the listed terms only, in any of the estimates that have a value."""
    known = rows[rows["value"].notna()]
    return any(details_of(row).get("ranked_among") == CANDIDATES for row in known.to_dict("records"))
