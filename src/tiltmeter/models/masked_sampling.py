"""Continuation of prompts by a masked model, as a Markov random field (Wang and Cho, 2019).

New positions begin as masks. One at a time, a position is masked again, and a token is drawn from what the model predicts
there. Wang and Cho draw the position at random each time; here every round visits all positions once, in an order of each
row's own, so that none is left as a mask and none is visited more often than another.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tiltmeter.models.generation import Generated, Vocabulary, choose_tokens
from tiltmeter.models.lm_head import BodyAndHead
from tiltmeter.models.sampling import Sampling

Ints = NDArray[np.int64]


def fill_up(
    parts: BodyAndHead,
    prompts: Sequence[Sequence[int]],
    tail: Sequence[int],
    draws: tuple[Ints, Ints],
    sampling: Sampling,
    words: Vocabulary,
    mask: int,
) -> list[Generated]:
    """Generate text between each prompt and the tail (the closing special tokens). All prompts are equally long.

    `draws`: for each row the order in which positions are visited, and a random number for each visit. The
    log-probability of a row is the sum over its positions, each as it was when it was visited last.
    """
    n, length, new = len(prompts), len(prompts[0]), sampling.new_tokens
    ids = np.concatenate(
        [np.array(prompts, dtype=np.int64), np.full((n, new), mask), np.tile(np.array(tail, dtype=np.int64), (n, 1))], axis=1
    )
    lengths, rows = np.full(n, ids.shape[1]), np.arange(n)
    logprob = np.zeros((n, new))
    banned = parts.send(words.banned)
    order, noise = draws
    for visit in range(order.shape[1]):
        at = length + order[:, visit]
        ids[rows, at] = mask
        sites = parts.send_all(rows, at)
        hidden, _ = parts.body(ids, lengths, (sites[0], sites[1]), attention=False)
        given = (noise[:, visit], ids if sampling.repetition_penalty != 1 else ids[:, :0])
        ids[rows, at], logprob[rows, order[:, visit]] = choose_tokens(parts, hidden, rows, banned, given, sampling)
    said = ids[:, length : length + new]
    return [Generated(tuple(row.tolist()), float(total)) for row, total in zip(said, logprob.sum(1), strict=True)]
