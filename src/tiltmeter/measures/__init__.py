"""Measures: answers become one number per group. Pure functions of arrays over their last axis; one file each.

A measure's parameters name what it reads, and so which family it belongs to: `stereo`, `anti`, `unrelated` (scores) and
`target` (codes 0, 1, …) are of pairs; `probability`, `rank`, `other_probability`, `other_rank` and `k` of slots;
associations, cosines, effects, log-probabilities or the scores of groups of association tests.

Beside the function stand CITATION and constants that say how the number is to be treated. No other file asks for a
measure by name:

NEUTRAL: the value that means no lean (None: there is none). IDEAL: the best value, where that is something else.
RANGE: the ends of what is possible. BOUNDED: NEUTRAL is one of these ends, so noise always moves the value away from it.
WEIGHTED: the overall number is the mean over bias types, weighted by their size. STRATA: the column that items are drawn
within for the interval (default: bias_type). PROPORTION: the value is this times a share of the items, so an
exact interval exists where no resample differs. TEST = "sign", with a function `sides`: an exact test exists.
LEANS: above neutral is towards the stereotypes. UNMATCHED = "counted": items without a match count too.
BOTH_WAYS: given for either group. CONTRASTS: column → two of its groups whose difference is given too.
SPREAD: column → the column within which the variance over its groups is given too (as `group_variance`).
DOMAIN_SCORE: True if it is a score of a domain (a spread over its groups), so that `study domain-correlation` reads it.
OVER: the measures of single groups that such a score is the spread of.
PER_SEED: True if such a score is the mean over training seeds of each seed's spread, and not the spread of the seeds' means.
"""
