"""CEAT of single groups (Cao et al., 2022): a group's words against two poles, with intervals that draw the words too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter import catalog
from tiltmeter.benchmarks.kit.association import FEWEST
from tiltmeter.display import significant_text
from tiltmeter.families.associations.domains import VARIANCE, domain_estimate, domain_of_words
from tiltmeter.families.associations.facts import Floats
from tiltmeter.measures.ces import Combined, combined_effect, random_effects
from tiltmeter.measures.kit.vectors import spread
from tiltmeter.stats.design import Design, generator
from tiltmeter.stats.estimates import Estimate, joined, missing_columns
from tiltmeter.stats.measured import bootstrap_test, with_interval
from tiltmeter.stats.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

ABSENT, POLE = "not in the corpus", "pole"
COMBINED = "ces"
AT_ONCE = 2**21
"""Resamples × draws that are held at once."""
NO_CONTEXTS = "not computed: the group has no contexts, or a pole has fewer than 2 words with contexts"
ONE_WORD = "one word: V is the variance over draws and Q is N − 1, so τ² cannot be estimated; the interval is about contexts"
NO_TAU = "τ² is 0 because the draws differ less (Q) than the words within a draw (V) would let expect"


@dataclass(frozen=True)
class Words:
    """The effects of one group's words: words × draws, and what resampling words and draws makes of their combination."""

    domain: str
    name: str
    effects: Floats
    value: float
    resampled: Floats


def judge_groups(
    rows: pd.DataFrame, draws: pd.DataFrame, blank: Estimate, wanted: Collection[str], settings: Settings
) -> Iterator[Estimate | list[Estimate]]:
    """Every group, tested together, then the variance over the groups of each domain."""
    if COMBINED not in wanted and VARIANCE not in wanted:
        return
    found = list(_each(rows, draws, blank, settings))
    groups = [group for _, group in found if group is not None]
    if COMBINED in wanted:
        yield [estimate for estimate, _ in found]
    for domain in dict.fromkeys(map(str, rows[rows["quantity"] != POLE]["domain"])) if VARIANCE in wanted else ():
        yield _domain(replace(blank, group=domain), [group for group in groups if group.domain == domain], settings)


def _each(
    rows: pd.DataFrame, draws: pd.DataFrame, blank: Estimate, settings: Settings
) -> Iterator[tuple[Estimate, Words | None]]:
    """Every group against two poles: above 0 is closer to the first. p is two-sided: no direction is predicted."""
    is_pole = rows["quantity"] == POLE
    usable = rows["usable"].astype(bool)
    lost = Counter({ABSENT: int((is_pole & ~usable).sum())})
    fewest_of_poles = min(int((is_pole & usable & (rows["set"] == side)).sum()) for side in ("A", "B"))
    for (domain, group), of_one_group in rows[~is_pole].groupby(["domain", "set"], sort=False):
        words = of_one_group[of_one_group["usable"].astype(bool)]["text"]
        missing = +(lost + Counter({ABSENT: len(of_one_group) - len(words)}))
        known = replace(blank, measure=COMBINED, by="group", group=str(group), n=len(words), **missing_columns(missing))
        if not len(words) or fewest_of_poles < FEWEST:
            yield replace(known, note=NO_CONTEXTS), None
            continue
        of_group = draws[(draws["set"] == group) & (draws["category"] == domain)]
        yield _combine_words(known, str(domain), effects_of(of_group, words), settings)


def effects_of(draws: pd.DataFrame, words: Sequence[str]) -> Floats:
    """The effects of words of a group in its draws: words × draws."""
    return np.stack([draws[draws["text"] == word]["effect"].to_numpy(dtype=np.float64) for word in words])


def _combine_words(row: Estimate, domain: str, effects: Floats, settings: Settings) -> tuple[Estimate, Words | None]:
    from scipy.stats import norm

    n_words, n = effects.shape
    variances = _variances(effects)
    combined = random_effects(effects.mean(axis=0), variances)
    if not np.isfinite(combined.ces):
        note = "undefined: no variance in some draw (for example, a single word that is always in the same context)"
        return replace(row, note=note), None
    if n_words == 1:  # Q is N − 1 up to rounding
        combined = combined._replace(tau_squared=0.0)
    why = ONE_WORD if n_words == 1 else NO_TAU if combined.tau_squared == 0 else ""
    row = with_combined(row, combined, float(variances.mean()), n, why, "two-sided p")
    resampled = resample_words(effects, settings, row.group)
    p = 2 * float(norm.sf(abs(combined.ces) / combined.standard_error))
    model = by_the_model(replace(row, p=p), combined, settings)
    row = model if n_words == 1 else _by_resampling(row, resampled, n_words, settings)
    return row, Words(domain, row.group, effects, combined.ces, resampled)


def _by_resampling(row: Estimate, resampled: Floats, n_words: int, settings: Settings) -> Estimate:
    """Interval and p from the same draws of words and contexts."""
    measure = catalog.find("measures", COMBINED)
    found = with_interval(row, measure, n_words, resampled, settings)
    has_test = np.isfinite(found.low)
    return replace(found, p=bootstrap_test(measure, n_words, row.value, resampled, settings)) if has_test else found


def with_combined(row: Estimate, combined: Combined, variance: float, n: int, *remarks: str) -> Estimate:
    """Fill in a combined effect of n draws with what it was combined from."""
    numbers = {"mean V": variance, "Q": combined.q, "τ²": combined.tau_squared}
    shown = ", ".join(f"{name} = {significant_text(number, 4)}" for name, number in numbers.items())
    details = dict(zip(("n_draws", "mean_v", "q", "tau2"), (n, *numbers.values()), strict=True))
    return replace(row, value=combined.ces, details=details, note=joined(f"{n:,} draws; {shown}", *remarks))


def by_the_model(row: Estimate, combined: Combined, settings: Settings) -> Estimate:
    """Fill in the interval of the random-effects model."""
    from scipy.stats import norm

    reach = float(norm.ppf(0.5 + settings.confidence / 2)) * combined.standard_error
    return replace(row, low=combined.ces - reach, high=combined.ces + reach)


def _variances(effects: Floats) -> Floats:
    """Variances over a group's words in each draw; for a group of one word, over the draws."""
    if len(effects) > 1:
        return np.asarray(spread(effects.T) ** 2, dtype=np.float64)
    return np.full(effects.shape[1], spread(effects[0]) ** 2)


def resample_words(effects: Floats, settings: Settings, group: str) -> Floats:
    """The combined effect with words and draws drawn anew. The draws are the same for all groups, which share their poles.

    A resample is a count of every word and every draw. Where it has one word only, V is that word's variance over draws.
    """
    n_words, n = effects.shape
    of_words, of_draws = generator(settings.seed, "ceat words", group), generator(settings.seed, "ceat draws")
    squares, alone = effects**2, effects.var(axis=1, ddof=1)
    every = Design.independent(n_words).weights(settings.resamples, of_words)
    parts: list[Floats] = []
    for draws in Design.independent(n).bootstrap(settings.resamples, of_draws, AT_ONCE):
        words = every[sum(map(len, parts)) :][: len(draws)]
        mean = words @ effects / n_words
        variance = (words @ squares - n_words * mean**2) / max(1, n_words - 1)
        single = (words > 0).sum(axis=1) == 1
        variance[single] = alone[words[single].argmax(axis=1)][:, None]
        parts.append(combined_effect(mean, np.maximum(variance, 1e-12), draws))
    return np.concatenate(parts)


def _domain(row: Estimate, groups: Sequence[Words], settings: Settings) -> Estimate:
    """The variance over groups. With one word each only the draws can be drawn anew; otherwise the words are too."""
    values = np.array([group.value for group in groups])
    if all(len(group.effects) == 1 for group in groups):
        scores = np.stack([group.effects[0] for group in groups]) if groups else np.empty((0, 0))
        return domain_estimate(row, scores, settings, values)
    words = [group.effects.mean(axis=1) for group in groups]
    return domain_of_words(row, values, np.stack([group.resampled for group in groups]), words, settings)
