"""Rows of tokens out of the encoded text: one long stream, and single sentences packed side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from training.encoded import BYTE_LEVEL, Encoded
from training.recipe import Recipe

SHORTEST = 4  # tokens; shorter "sentences" are mostly headings and list items


def stream(text: Encoded, end: int) -> NDArray[np.uint16]:
    """All lines in a row, each followed by the end token."""
    line = np.cumsum(text.starts) - 1
    joined = np.full(len(text.tokens) + line[-1] + 1, end, np.uint16)
    joined[np.arange(len(text.tokens)) + np.repeat(line, text.lengths)] = text.tokens
    return joined


def sentence_rows(
    text: Encoded, recipe: Recipe, begin: int, end: int, pad: int
) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Rows filled with single sentences (begin … end), and which sentence each token belongs to; 0 is padding."""
    chosen = _usable(text, recipe)
    lengths = text.lengths[chosen].astype(np.int64)
    row, offset, number = pack(lengths + 2, recipe.length)
    tokens = np.full((row[-1] + 1) * recipe.length if len(row) else 0, pad, np.uint16)
    segments = np.zeros(len(tokens), np.uint16)
    first = row * recipe.length + offset
    inside = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    source = np.repeat((np.cumsum(text.lengths, dtype=np.int64) - text.lengths)[chosen], lengths) + inside
    target = np.repeat(first + 1, lengths) + inside
    tokens[target], segments[target] = text.tokens[source], np.repeat(number, lengths)
    for place, token in ((first, begin), (first + lengths + 1, end)):
        tokens[place], segments[place] = token, number
    return tokens.reshape(-1, recipe.length), segments.reshape(-1, recipe.length)


def _usable(text: Encoded, recipe: Recipe) -> NDArray[np.int64]:
    """Which sentences are long enough and fit, in an order of the seed's."""
    usable = (text.lengths >= SHORTEST) & (text.lengths <= recipe.length - 2)
    if recipe.architecture in BYTE_LEVEL:
        usable &= text.starts  # the others begin with a space, which a sentence on its own does not
    return np.random.default_rng(recipe.seed).permutation(np.flatnonzero(usable))


def pack(sizes: NDArray[np.int64], room: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint16]]:
    """Next fit: the row, the offset in it and the number in it (from 1) of each piece."""
    row, used, number = 0, 0, 0
    placed = np.empty((len(sizes), 3), np.int64)
    for n, size in enumerate(sizes.tolist()):
        if used + size > room:
            row, used, number = row + 1, 0, 0
        number += 1
        placed[n] = row, used, number
        used += size
    return placed[:, 0], placed[:, 1], placed[:, 2].astype(np.uint16)
