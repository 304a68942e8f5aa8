"""Poolings: which positions of a text its vector averages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tiltmeter.errors import require_known
from tiltmeter.models import Encoded

Span = tuple[int, int]


@dataclass(frozen=True)
class Passage:
    """A text, and for poolings of a word the characters where that word is."""

    text: str
    span: Span | None = None


@dataclass(frozen=True)
class Pooling:
    """A way to make one vector of a text. `of_word`: only the sub-tokens of the passage's word are averaged."""

    name: str
    what: str
    positions: Callable[[tuple[int, ...], tuple[int, ...]], tuple[int, ...]]
    of_word: bool = False


NO_TOKENS = "no tokens besides special ones"
NO_FIRST_TOKEN = "the tokenizer puts no special token in front"
TOO_LONG = "longer than the model's maximum of {} tokens"
# Each function takes all positions and those of the content (or of the word), and returns those that are averaged.
POOLINGS = {
    pooling.name: pooling
    for pooling in (
        Pooling("cls", "the special token in front", lambda every, content: every[:1]),
        Pooling("mean", "all positions, special tokens included (bias-bench)", lambda every, content: every),
        Pooling("mean_content", "all positions but special tokens", lambda every, content: content),
        Pooling("first_token_no_special", "the first token that is not special", lambda every, content: content[:1]),
        Pooling("last", "the last token that is not special", lambda every, content: content[-1:]),
        Pooling("end", "the last token, special or not (sentence-transformers)", lambda every, content: every[-1:]),
        Pooling("word_first", "the word's first sub-token", lambda every, word: word[:1], of_word=True),
        Pooling("word_last", "the word's last sub-token", lambda every, word: word[-1:], of_word=True),
        Pooling("word_mean", "all sub-tokens of the word", lambda every, word: word, of_word=True),
    )
}


def find_pooling(name: str) -> Pooling:
    """A pooling by name; hyphens and underscores are the same."""
    wanted = name.replace("-", "_")
    require_known("pooling", wanted, POOLINGS)
    return POOLINGS[wanted]


def positions_of(pooling: Pooling, encoded: Encoded, span: Span | None) -> tuple[int, ...] | str:
    """The positions to average, or the reason why there are none."""
    every = tuple(range(len(encoded.ids)))
    if not encoded.content:
        return NO_TOKENS
    if pooling.name == "cls" and encoded.content[0] == 0:
        return NO_FIRST_TOKEN
    if not pooling.of_word:
        return pooling.positions(every, encoded.content)
    if span is None or encoded.offsets is None:
        return "the word's place in the text is unknown"
    word = tuple(at for at in encoded.content if encoded.offsets[at][0] < span[1] and encoded.offsets[at][1] > span[0])
    return pooling.positions(every, word) or "the word was lost in tokenising"
