"""Tokenised sentences of items: which tokens are content, and which of them are modified (M in the papers)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from tiltmeter.benchmarks import Item
from tiltmeter.models import Encoded, LanguageModel
from tiltmeter.probes.readability import Readable

ALIGNMENTS = ("auto", "difflib")
BLANK = "BLANK"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One text of one item, as the model's tokenizer sees it. `modified` holds positions in `ids`."""

    item: int
    role: str
    text: str
    context: str | None
    ids: tuple[int, ...]
    content: tuple[int, ...]
    modified: frozenset[int]


def tokenise(
    model: LanguageModel, items: Sequence[Item], alignment: str = "auto", readable: Readable | None = None
) -> list[Sentence]:
    """Every text of every item. Causal models see no special tokens here; their view puts BOS in front.

    `readable` counts what the model cannot read.
    """
    texts = [text for item in items for text in item.texts.values()]
    has_context = alignment == "auto" and any(item.context for item in items)
    in_order = model.tokens.encode(texts, special=model.kind == "masked", offsets=has_context)
    if readable is not None:
        readable.add([model.tokens.counted(one) for one in in_order])
    encoded = iter(in_order)
    sentences = []
    for number, item in enumerate(items):
        roles = {role: next(encoded) for role in item.texts}
        modified = modified_positions(item, roles, alignment)
        for role, encoded_text in roles.items():
            sentences.append(
                Sentence(
                    number, role, item.texts[role], item.context, encoded_text.ids, encoded_text.content, modified[role]
                )
            )
    return sentences


def modified_positions(item: Item, roles: dict[str, Encoded], alignment: str) -> dict[str, frozenset[int]]:
    """M of each role: the fill of the BLANK where a context names one, else what differs from the other sentence."""
    if alignment == "auto" and item.context and all(encoded.offsets is not None for encoded in roles.values()):
        spans = {role: fill_span(item.context, item.texts[role]) for role in roles}
        if all(spans.values()):
            return {role: _overlapping(encoded, spans[role] or (0, 0)) for role, encoded in roles.items()}
    if "stereo" not in roles:  # a text of its own, which differs from nothing
        return dict.fromkeys(roles, frozenset())
    stereo = roles["stereo"]
    modified = {}
    modified["stereo"], modified["anti"] = differing(stereo, roles["anti"])
    if "unrelated" in roles:
        _, modified["unrelated"] = differing(stereo, roles["unrelated"])
    return modified


def differing(a: Encoded, b: Encoded) -> tuple[frozenset[int], frozenset[int]]:
    """Content positions outside the blocks that a longest-matching-block diff of the two id sequences finds equal.

    The order matters to difflib; a is the stereotypical sentence, as in the reference implementations.
    """
    position = _one_substitution(a.ids, b.ids)
    if position is not None:
        return frozenset((position,)), frozenset((position,))
    rest_a, rest_b = set(a.content), set(b.content)
    for block in SequenceMatcher(None, a.ids, b.ids).get_matching_blocks():
        rest_a.difference_update(range(block.a, block.a + block.size))
        rest_b.difference_update(range(block.b, block.b + block.size))
    return frozenset(rest_a), frozenset(rest_b)


def _one_substitution(a: tuple[int, ...], b: tuple[int, ...]) -> int | None:
    """The only position at which two sequences of equal length differ, where difflib is certain to give the same.

    Most pairs are of this kind, and difflib takes longer for them than all the rest of planning. It is certain to find
    the shared beginning and end if no two neighbouring tokens of a are anywhere else in b, and the tokens beside the
    difference are not part of it.
    """
    if len(a) != len(b):
        return None
    differences = [position for position, (in_a, in_b) in enumerate(zip(a, b, strict=True)) if in_a != in_b]
    if len(differences) != 1 or not 0 < differences[0] < len(a) - 1 or len(a) < 5:
        return None
    at = differences[0]
    if {a[at - 1], a[at + 1]} & {a[at], b[at]}:
        return None
    place = {pair: position for position, pair in enumerate(pairwise(b))}
    if len(place) < len(b) - 1:
        return None
    astray = any(place.get(pair, position) != position for position, pair in enumerate(pairwise(a)))
    return None if astray else at


def fill_span(context: str, sentence: str) -> tuple[int, int] | None:
    """Characters of the sentence that fill the first BLANK, found by its word index in the context.

    >>> fill_span("My mother is very BLANK.", "My mother is very caring.")
    (18, 24)
    """
    frame, words = context.split(" "), sentence.split(" ")
    index = next((n for n, word in enumerate(frame) if BLANK in word), None)
    longer = len(words) - len(frame)
    if index is None or longer < 0:
        return None
    before, after = frame[index].split(BLANK, 1)
    start = sum(len(word) + 1 for word in words[:index])
    end = start + len(" ".join(words[index : index + longer + 1]))
    start += len(before) if sentence.startswith(before, start) else 0
    end -= len(after) if after and sentence[start:end].endswith(after) else 0
    return (start, end) if end > start else None


def _overlapping(encoded: Encoded, span: tuple[int, int]) -> frozenset[int]:
    offsets = encoded.offsets or ()
    return frozenset(
        position for position in encoded.content if offsets[position][0] < span[1] and offsets[position][1] > span[0]
    )
