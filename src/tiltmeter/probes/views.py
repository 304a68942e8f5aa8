"""Views: the few ways to query a model about a sentence. Each turns sentences into queries."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from tiltmeter.errors import require_known
from tiltmeter.models import Tokenization
from tiltmeter.probes.sentences import BLANK, Sentence


class Query(NamedTuple):
    """One input sequence, and the tokens read of it: at `columns` of the input, for `positions` of the sentence.

    `one_by_one`: as many sequences as columns, each with its column masked. `block`: at each column, also the mean
    log-probability of all `tokens`.
    """

    sentence: int
    ids: tuple[int, ...]
    columns: tuple[int, ...]
    tokens: tuple[int, ...]
    positions: tuple[int, ...]
    block: bool = False
    one_by_one: bool = False


class Unasked(NamedTuple):
    """Reason why a sentence cannot be scored in this view."""

    sentence: int
    reason: str


Asked = Iterator[Query | Unasked]


@dataclass(frozen=True)
class View:
    """A view's name, the kind of model it is for, and the function that asks."""

    name: str
    kind: str
    ask: Callable[[Sequence[Sentence], Tokenization], Asked]
    attention: bool = False
    needs_context: bool = False


def unmasked(sentences: Sequence[Sentence], tokens: Tokenization) -> Asked:
    """Nothing is masked. Special tokens are read too (one paper reports their accuracy), but never scored."""
    for number, sentence in enumerate(sentences):
        everything = tuple(range(len(sentence.ids)))
        yield Query(number, sentence.ids, everything, sentence.ids, everything)


def each(sentences: Sequence[Sentence], tokens: Tokenization) -> Asked:
    """One content token is masked at a time."""
    for number, sentence in enumerate(sentences):
        golds = tuple(sentence.ids[position] for position in sentence.content)
        yield Query(number, sentence.ids, sentence.content, golds, sentence.content, one_by_one=True)


def changed(sentences: Sequence[Sentence], tokens: Tokenization) -> Asked:
    """All modified tokens are masked at once."""
    for number, sentence in enumerate(sentences):
        if sentence.modified:
            yield _masked(number, sentence, tuple(sorted(sentence.modified)), tokens, block=True)
        else:
            yield Unasked(number, "no modified tokens")


def everything(sentences: Sequence[Sentence], tokens: Tokenization) -> Asked:
    """Every content token is masked."""
    for number, sentence in enumerate(sentences):
        yield _masked(number, sentence, sentence.content, tokens)


def _masked(number: int, sentence: Sentence, at: tuple[int, ...], tokens: Tokenization, block: bool = False) -> Query:
    ids = list(sentence.ids)
    for position in at:
        ids[position] = tokens.mask_id or 0
    return Query(number, tuple(ids), at, tuple(sentence.ids[position] for position in at), at, block)


def causal(sentences: Sequence[Sentence], tokens: Tokenization) -> Asked:
    """Left to right with one BOS in front; a token is read one column before its own."""
    for number, sentence in enumerate(sentences):
        places = tuple(range(len(sentence.ids)))
        yield Query(number, (tokens.bos_id or 0, *sentence.ids[:-1]), places, sentence.ids, places)


def causal_nobos(sentences: Sequence[Sentence], tokens: Tokenization) -> Asked:
    """Left to right without BOS; the first token is read from a pass on BOS alone, which all sentences share."""
    for number, sentence in enumerate(sentences):
        yield Query(number, (tokens.bos_id or 0,), (0,), sentence.ids[:1], (0,))
        if len(sentence.ids) > 1:
            columns = tuple(range(len(sentence.ids) - 1))
            yield Query(number, sentence.ids[:-1], columns, sentence.ids[1:], tuple(column + 1 for column in columns))


def reveal(sentences: Sequence[Sentence], tokens: Tokenization) -> Asked:
    """The fill's sub-tokens left to right: earlier ones given, one mask, later ones absent. As bias-bench asks."""
    return _reveal(sentences, tokens, leading=" " if tokens.byte_level else "")


def reveal_original(sentences: Sequence[Sentence], tokens: Tokenization) -> Asked:
    """The fill's sub-tokens left to right, without the leading space of byte-level tokenizers. As StereoSet's code asks."""
    return _reveal(sentences, tokens, leading="")


def _reveal(sentences: Sequence[Sentence], tokens: Tokenization, leading: str) -> Asked:
    words = [_fill_word(sentence) for sentence in sentences]
    fills = tokens.encode([leading + (word or "x") for word in words], special=False)
    steps = []
    for number, (sentence, word, fill) in enumerate(zip(sentences, words, fills, strict=True)):
        if not word or not fill.ids:
            yield Unasked(number, "no word at the context's BLANK")
            continue
        for k, token in enumerate(fill.ids):
            shown = (tokens.decode(fill.ids[:k]) if k else "") + tokens.tokenizer.mask_token
            steps.append((number, k, token, (sentence.context or "").replace(BLANK, shown)))
    inputs = tokens.encode([text for *_, text in steps])
    for (number, k, token, _), encoded in zip(steps, inputs, strict=True):
        if tokens.mask_id not in encoded.ids:
            yield Unasked(number, "the mask token was lost in tokenising")
        else:  # two contexts of StereoSet have two BLANKs: the first is the slot
            yield Query(number, encoded.ids, (encoded.ids.index(tokens.mask_id),), (token,), (k,))


def _fill_word(sentence: Sentence) -> str | None:
    """The sentence's word at the index of BLANK in the context, ASCII punctuation deleted."""
    frame, words = (sentence.context or "").split(" "), sentence.text.split(" ")
    index = next((n for n, word in enumerate(frame) if BLANK in word), None)
    if index is None or index >= len(words):
        return None
    return words[index].translate(str.maketrans("", "", string.punctuation))


def shuffled(sentences: Sequence[Sentence], tokens: Tokenization, seed: int = 0) -> Asked:
    """Nothing is masked, and the content tokens are shuffled; each is read at its new place and stored under its old one.

    Special tokens stay where they are, and are read as in `unmasked`. The order depends on the seed and the sentence only,
    so that equal sentences are shuffled alike in every block. Unrelated sentences are nonsense already, and are left out.
    """
    for number, sentence in enumerate(sentences):
        if sentence.role == "unrelated":
            continue
        places = np.random.default_rng([seed, *sentence.ids]).permutation(sentence.content).tolist()
        ids, columns = list(sentence.ids), list(range(len(sentence.ids)))
        for old, new in zip(sentence.content, places, strict=True):
            ids[new], columns[old] = sentence.ids[old], new
        yield Query(number, tuple(ids), tuple(columns), sentence.ids, tuple(range(len(columns))))


SHUFFLED = "shuffled_all-"
VIEWS = {
    view.name: view
    for view in (
        View("unmasked", "masked", unmasked),
        View("unmasked_attention", "masked", unmasked, attention=True),
        View("each", "masked", each),
        View("changed", "masked", changed),
        View("everything", "masked", everything),
        View("reveal", "masked", reveal, needs_context=True),
        View("reveal_original", "masked", reveal_original, needs_context=True),
        View("causal", "causal", causal),
        View("causal_nobos", "causal", causal_nobos),
    )
}


def find_view(name: str, reader: str = "") -> View:
    """A view by name; `shuffled_all-7` shuffles with the seed 7 and reads all tokens (no scorer uses it).

    Raises:
        UsageError: There is no such view (`unknown-name`); `reader` is the scorer that reads it.
    """
    if name.startswith(SHUFFLED):
        return View(name, "masked", partial(shuffled, seed=int(name.removeprefix(SHUFFLED))))
    require_known("view", name, VIEWS, place=reader)
    return VIEWS[name]
