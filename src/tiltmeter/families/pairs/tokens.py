"""Which words drive a preference: the stored log-probabilities of the two sentences of every pair, packed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.pack import Pack
from tiltmeter.families.pairs.spans import spans_of
from tiltmeter.storage.files import read_table
from tiltmeter.storage.progress import watched

VIEWS = ("each", "causal", "unmasked_attention", "unmasked", "causal_nobos", "everything")
"""The views that read every token; the one whose sums are the most established scores comes first."""
ROLES = ("stereo", "anti")
SHARED, CHANGED, ALONE = 0, 1, 2
UNKNOWN = -32768
STEPS = 100
"""Log-probabilities are stored in hundredths: enough for a colour and for a number under a word."""
WIDEST = 255
STEP = 500


@dataclass
class Columns:
    """Tokens of all sentences, one after the other; a sentence without tokens has the count 0."""

    count: list[int] = field(default_factory=list)
    skip: list[int] = field(default_factory=list)
    length: list[int] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    logprob: list[int] = field(default_factory=list)

    def packed(self, pack: Pack) -> dict[str, Any]:
        """The arrays in the form that the page reads."""
        kinds = {"count": "uint16", "skip": "uint8", "length": "uint8", "kind": "uint8", "logprob": "int16"}
        return {name: pack.array(getattr(self, name), kind) for name, kind in kinds.items()}


def token_columns(answers: Answers, manifest: dict[str, Any], items: Any, pack: Pack) -> dict[str, Any] | None:
    """The tokens of one model on one benchmark, for these items in this order; None if no view was stored."""
    for view in VIEWS:
        blocks = stored_blocks(answers, manifest, view)
        if blocks:
            wanted = pa.array(items["item"].astype(str).tolist(), pa.string())
            table = pa.concat_tables(_only(read_table(path), wanted) for path in blocks).unify_dictionaries()
            byte_level = bool((manifest["model"].get("tokenizer") or {}).get("byte_level"))
            columns = _columns(Sentences(table), items, byte_level)
            return {"view": view, **columns.packed(pack)} if any(columns.count) else None
    return None


def _only(block: pa.Table, items: pa.Array) -> pa.Table:
    """The rows of some items: a page of a very large benchmark shows a sample."""
    return block.filter(pa.compute.is_in(block["item"].cast(pa.string()), value_set=items))


def stored_blocks(answers: Answers, manifest: dict[str, Any], view: str) -> list[Path]:
    """The token tables of one view that are attached to the answers; none if a file is missing."""
    wanted = [path for path in manifest.get("attachments", ()) if path.split("/")[-2] == view]
    places = [answers.attached(path) for path in sorted(wanted)]
    there = [place for place in places if place is not None]
    return there if len(there) == len(places) else []


class Sentences:
    """The content tokens of a view, found by item and role."""

    def __init__(self, table: pa.Table) -> None:
        keep = (table["position"].to_numpy() >= 0) & ~table["special"].to_numpy()
        (item, items), (role, roles), (token, self.words) = (_codes(table[name]) for name in ("item", "role", "token"))
        order = np.lexsort((table["position"].to_numpy(), role, item))
        order = order[keep[order]]
        self.token, self.ids = token[order], table["token_id"].to_numpy()[order]
        self.modified, self.logprob = table["modified"].to_numpy()[order], table["logprob"].to_numpy()[order]
        key = item[order].astype(np.int64) * (len(roles) + 1) + role[order]
        keys, first = np.unique(key, return_index=True)
        ends = [*first[1:].tolist(), len(key)]
        names = [(items[code // (len(roles) + 1)], roles[code % (len(roles) + 1)]) for code in keys.tolist()]
        self.slices = {name: slice(low, high) for name, low, high in zip(names, first.tolist(), ends, strict=True)}

    def tokens(self, at: slice) -> list[str]:
        """The spelled tokens of a sentence."""
        return [self.words[code] for code in self.token[at].tolist()]


def _codes(column: Any) -> tuple[NDArray[np.int32], list[Any]]:
    whole = column.combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    return whole.indices.fill_null(0).to_numpy(zero_copy_only=False), whole.dictionary.to_pylist()


def _columns(sentences: Sentences, items: Any, byte_level: bool) -> Columns:
    columns = Columns()
    with watched("Words of the page", len(items)) as advance:
        for number, (item, *texts) in enumerate(zip(items["item"], *(items[role] for role in ROLES), strict=True), 1):
            _add(columns, sentences, str(item), texts, byte_level)
            if number % STEP == 0:
                advance(STEP)
    return columns


def _add(columns: Columns, sentences: Sentences, item: str, texts: Sequence[str], byte_level: bool) -> None:
    """The tokens of one item."""
    slices = [sentences.slices.get((item, role)) for role in ROLES]
    pair = _pair(sentences, slices, texts, byte_level) if all(slices) else None
    for place in range(len(ROLES)):
        if pair is None:
            columns.count.append(0)
            continue
        spans, kinds, logprob = pair[place]
        columns.count.append(len(spans))
        ends = [0, *(high for _, high in spans)]
        columns.skip += [low - end for (low, _), end in zip(spans, ends, strict=False)]
        columns.length += [high - low for low, high in spans]
        columns.kind += kinds
        columns.logprob += logprob


def _pair(sentences: Sentences, slices: Sequence[Any], texts: Sequence[str], byte_level: bool) -> list[Any] | None:
    """Spans, kinds and log-probabilities of both sentences, or None if the tokens of either do not match its text."""
    laid = [spans_of(text, sentences.tokens(at), byte_level) for text, at in zip(texts, slices, strict=True)]
    if any(spans is None or not _fits(spans) for spans in laid):
        return None
    kinds = _kinds(*([sentences.ids[at], sentences.modified[at]] for at in slices))
    return [(spans, kind, _hundredths(sentences.logprob[at])) for spans, kind, at in zip(laid, kinds, slices, strict=True)]


def _fits(spans: Sequence[tuple[int, int]]) -> bool:
    ends = [0, *(high for _, high in spans)]
    return all(0 <= low - end <= WIDEST and 0 <= high - low <= WIDEST for (low, high), end in zip(spans, ends, strict=False))


def _kinds(first: Sequence[Any], second: Sequence[Any]) -> list[list[int]]:
    """Pairs shared tokens in order. Where a context decided what is changed, other tokens may differ too: kind ALONE."""
    kinds = [np.where(modified, CHANGED, ALONE) for _, modified in (first, second)]
    places = [np.flatnonzero(~modified) for _, modified in (first, second)]
    rests = [ids[at].tolist() for (ids, _), at in zip((first, second), places, strict=True)]
    if rests[0] == rests[1]:
        return [np.where(modified, CHANGED, SHARED).tolist() for _, modified in (first, second)]
    for a, b, size in SequenceMatcher(None, rests[0], rests[1], autojunk=False).get_matching_blocks():
        for kind, at, start in zip(kinds, places, (a, b), strict=True):
            kind[at[start : start + size]] = SHARED
    return [kind.tolist() for kind in kinds]


def _hundredths(logprob: NDArray[np.float32]) -> list[int]:
    known = np.isfinite(logprob)
    scaled = np.clip(np.rint(np.where(known, logprob, 0) * STEPS), UNKNOWN + 1, -UNKNOWN - 1)
    return [int(value) for value in np.where(known, scaled, UNKNOWN)]
