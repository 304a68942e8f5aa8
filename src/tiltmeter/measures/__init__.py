"""Measures: scores become one number per group. Pure functions of arrays over their last axis; one file each.

A measure's parameters name the columns it reads: `stereo`, `anti`, `unrelated` (scores) and `target` (codes 0, 1, …).
Beside the function stand NEUTRAL (the value that means no lean), WEIGHTED (whether the overall number is the
mean over bias types, weighted by their size), BOUNDED (whether NEUTRAL is an end of RANGE) and CITATION.
The association measures read other arrays: associations, cosines, effects, log-probabilities or the scores of groups.
"""
