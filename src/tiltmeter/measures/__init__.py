"""Measures: answers become one number per group. Pure functions of arrays over their last axis; one file each.

A measure's parameters name what it reads, and so which family it belongs to: `stereo`, `anti`, `unrelated` (scores) and
`target` (codes 0, 1, …) are of pairs; `probability`, `rank`, `other_probability`, `other_rank` and `k` of slots;
associations, cosines, effects, log-probabilities or the scores of groups of association tests.

`MEASURE` in a measure's file says how its number is to be treated, and no other file asks for a measure by name. Beside the
function there may be `sides` (+1, -1 or 0 for each item, for an exact test), and `moments` with `of_moments` (what each item
adds, and what follows from the means), with which resampling is a matrix product.
"""

from tiltmeter.catalog.declarations import Measure

__all__ = ["Measure"]
