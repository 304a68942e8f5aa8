"""Causal models have no mask: every term is written into the slot, and the sentences are compared by their likelihood.

A term's probability is its share among the candidates, its rank is among them, and the rows say so (`among`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from tiltmeter.benchmarks import Item
from tiltmeter.families.slots.rows import Asked, Rows
from tiltmeter.families.slots.terms import Term
from tiltmeter.models import LanguageModel
from tiltmeter.probes.plan import Plan, make_plan
from tiltmeter.probes.pooling import TOO_LONG
from tiltmeter.probes.views import Query

MASK = "[MASK]"
BEGINS = re.compile(r"(?:^|[.!?]\s)[\s\"'“‘(]*$")
Read = Callable[[Plan], NDArray[np.float32]]


def compared(
    model: LanguageModel, items: Sequence[Item], groups: Mapping[str, Sequence[str]], read: Read
) -> Iterator[Asked]:
    """Every item with all its candidates. The text before the slot is the same for all of them, so it is not read."""
    terms = [_terms(model, item.texts["slot"], groups) for item in items]
    owners: list[tuple[int, int]] = []
    queries: list[Query] = []
    for number, (item, of_item) in enumerate(zip(items, terms, strict=True)):
        written = [item.texts["slot"].replace(MASK, term.word) for term in of_item]
        ids = [encoded.ids for encoded in model.tokens.encode(written, special=False)]
        longest = 1 + max(map(len, ids))  # with the BOS in front
        if model.tokens.max_length and longest > model.tokens.max_length:
            yield Asked(number, reason=TOO_LONG.format(model.tokens.max_length))
            continue
        owners += [(number, n) for n in range(len(ids))]
        queries += [_query(model, len(queries) + n, of_term, _shared(ids)) for n, of_term in enumerate(ids)]
    if queries:
        yield from _ranked(terms, owners, _totals(model, queries, read))


def _terms(model: LanguageModel, text: str, groups: Mapping[str, Sequence[str]]) -> list[Term]:
    """The terms in the spelling that fits the slot: of "woman" and "Woman", the latter where a sentence begins."""
    begins = bool(BEGINS.search(text[: text.index(MASK)]))
    words = [(group, word) for group, of_group in groups.items() for word in _fitting(of_group, begins)]
    encoded = model.tokens.encode([f" {word}" for _, word in words], special=False)
    return [Term(group, word, text.ids) for (group, word), text in zip(words, encoded, strict=True)]


def _fitting(words: Sequence[str], begins: bool) -> list[str]:
    """The words that fit; of a word that is listed with and without a capital, only one.

    >>> _fitting(["man", "Man", "God"], begins=True), _fitting(["man", "Man", "God"], begins=False)
    (['Man', 'God'], ['man', 'God'])
    """
    listed = set(words)
    other = {word: word[:1].swapcase() + word[1:] for word in words}
    return [word for word in words if other[word] not in listed or word[:1].isupper() == begins]


def _shared(ids: Sequence[tuple[int, ...]]) -> int:
    """Count the tokens that all candidates begin with; at least one token of each is left to be read."""
    same = len(list(takewhile(lambda column: len(set(column)) == 1, zip(*ids, strict=False))))
    return min(same, min(map(len, ids)) - 1)


def _query(model: LanguageModel, number: int, ids: tuple[int, ...], shared: int) -> Query:
    places = tuple(range(shared, len(ids)))
    return Query(number, (model.tokens.bos_id or 0, *ids[:-1]), places, ids[shared:], places)


def _totals(model: LanguageModel, queries: Sequence[Query], read: Read) -> NDArray[np.float64]:
    plan = make_plan({0: queries}, 0, model.tree_rows)
    model.check_ids(plan.ids)
    total = np.zeros(len(queries))
    np.add.at(total, plan.reads.sentence, read(plan))
    return total


def _ranked(
    terms: Sequence[Sequence[Term]], owners: Sequence[tuple[int, int]], totals: NDArray[np.float64]
) -> Iterator[Asked]:
    numbers = np.array([number for number, _ in owners])
    for number in np.unique(numbers):
        total = totals[numbers == number]
        share = total - np.logaddexp.reduce(total)
        rank = 1 + (total[None, :] > total[:, None]).sum(1)
        rows = Rows(tuple(terms[number]), share[None].astype(np.float32), rank[None].astype(np.int64), "candidates")
        yield Asked(int(number), 0, rows)
