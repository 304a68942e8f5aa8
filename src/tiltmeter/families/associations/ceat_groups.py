"""CEAT of single groups (Cao et al., 2022): a group's words against two poles, with intervals that draw the words too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter import catalog
from tiltmeter.benchmarks.kit.association import FEWEST
from tiltmeter.display import significant_text
from tiltmeter.families.associations.domains import domain_estimate, domain_of_words
from tiltmeter.families.associations.facts import Floats
from tiltmeter.families.associations.words import GroupQuestion, WordQuestion, Words
from tiltmeter.families.kit.questions import Question
from tiltmeter.measures.ces import Combined, combined_effect, random_effects
from tiltmeter.measures.kit.vectors import spread
from tiltmeter.stats.design import Design, generator
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference, Estimate, joined
from tiltmeter.stats.measured import bootstrap_test, with_interval
from tiltmeter.stats.samples import Measured
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


@dataclass(frozen=True, eq=False)
class CombinedQuestion(GroupQuestion):
    """The combined effect of a group's words against two poles: above 0 is closer to the first."""

    drawn: Mapping[str, Floats]
    UNDEFINED = "undefined: no variance in some draw (for example, a single word that is always in the same context)"

    @cached_property
    def effects(self) -> Floats:
        """The effects of the words in every draw: words × draws."""
        return np.stack([self.drawn[text] for text in self.cell.columns["text"][self.cell.complete]])

    @cached_property
    def combined(self) -> Combined:
        """The combination of all draws."""
        combined = random_effects(self.effects.mean(axis=0), _variances(self.effects))
        return combined._replace(tau_squared=0.0) if len(self.effects) == 1 else combined  # Q is N − 1 up to rounding

    @cached_property
    def _drawn(self) -> dict[Settings, Floats]:
        return {}

    def resampled(self, settings: Settings) -> Floats:
        """The combined effect with words and draws drawn anew, computed once."""
        if settings not in self._drawn:
            self._drawn[settings] = resample_words(self.effects, settings, self.group)
        return self._drawn[settings]

    def variance(self, row: Estimate, questions: Sequence[CombinedQuestion], settings: Settings) -> Estimate:
        """Fill in the variance over groups. With one word each only the draws can be drawn anew; otherwise the words are."""
        groups = [one for one in questions if not one.lacking() and np.isfinite(one.combined.ces)]
        values = np.array([one.combined.ces for one in groups])
        if all(len(one.effects) == 1 for one in groups):
            scores = np.concatenate([one.effects for one in groups]) if groups else np.empty((0, 0))
            return domain_estimate(row, scores, settings, values)
        words, resampled = [one.effects.mean(axis=1) for one in groups], [one.resampled(settings) for one in groups]
        return domain_of_words(row, values, np.stack(resampled), words, settings)

    def lacking(self, by_whom: str = "") -> str:
        """Return whether the group, or a pole, has too few words with contexts."""
        poles = [len(places) for name, places in self.cell.usable.items() if name != self.group]
        return NO_CONTEXTS if min(poles, default=0) < FEWEST or not len(self.cell.complete) else ""

    def obstacle(self, theirs: WordQuestion) -> str:
        """Return why the other model is not compared: it lacks contexts."""
        return theirs.lacking()

    def estimated(self, others: Sequence[Question], settings: Settings) -> list[Measured]:
        """Resample words and draws for the interval and a two-sided p: no direction is predicted."""
        from scipy.stats import norm

        combined, (n_words, n) = self.combined, self.effects.shape
        if not np.isfinite(combined.ces):
            return [Measured(self.blank)]
        why = ONE_WORD if n_words == 1 else NO_TAU if combined.tau_squared == 0 else ""
        row = with_combined(self.blank, combined, float(_variances(self.effects).mean()), n, why, "two-sided p")
        p = 2 * float(norm.sf(abs(combined.ces) / combined.standard_error))
        row = by_the_model(replace(row, p=p), combined, settings)
        return [Measured(row if n_words == 1 else _by_resampling(row, self.resampled(settings), n_words, settings))]

    def compared(self, row: Difference, theirs: CombinedQuestion, settings: Settings) -> Difference:
        """Draw the same words, and the same draws of contexts, for both models."""
        values = self.combined.ces, theirs.combined.ces
        if self.effects.shape != theirs.effects.shape:
            row = replace(row, value=values[0], baseline_value=values[1], difference=values[0] - values[1])
            return replace(row, note="no paired interval: the models have different numbers of draws of contexts")
        draws = [one.resampled(settings) for one in (self, theirs)]
        return paired_difference(row, values, draws, self.measure, settings)


def combined_questions(rows: pd.DataFrame, draws: pd.DataFrame) -> Iterator[CombinedQuestion]:
    """Every group of words of a scorer against its poles."""
    import pandas as pd

    measure, is_pole = catalog.find("measures", COMBINED), rows["quantity"] == POLE
    effects: dict[tuple[str, str, str], dict[str, Floats]] = {}
    for (*of_group, text), of_word in draws.groupby(["scorer", "set", "category", "text"], sort=False)["effect"]:
        effects.setdefault(tuple(of_group), {})[text] = of_word.to_numpy(dtype=np.float64)
    for (domain, group), part in rows[~is_pole].groupby(["domain", "set"], sort=False):
        words = Words.of(pd.concat([part, rows[is_pole]]), (str(group),))
        drawn = effects.get((words.scorer, group, domain), {})
        yield CombinedQuestion(words, measure, "group", str(group), drawn)


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
