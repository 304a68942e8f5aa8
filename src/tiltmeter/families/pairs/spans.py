"""Where a model's tokens are in the sentence: observations store tokens, and readers see words."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache

Span = tuple[int, int]
FAR = 40
"""Characters within which a token after an unknown one is searched for."""


def spans_of(text: str, tokens: Sequence[str], byte_level: bool) -> list[Span] | None:
    """Start and end of every token in the text, in characters; None if the tokens do not match the text."""
    return _of_bytes(text, tokens) if byte_level else _of_pieces(text, tokens)


def _of_bytes(text: str, tokens: Sequence[str]) -> list[Span] | None:
    """Byte-level tokens spell the text byte by byte, perhaps with a space in front.

    >>> spans_of("Ein Café", ["Ein", "ĠCaf", "Ã©"], byte_level=True)
    [(0, 3), (4, 7), (7, 8)]
    """
    pieces = [_bytes(token) for token in tokens]
    if any(piece is None for piece in pieces):
        return None
    spelled = b"".join(piece or b"" for piece in pieces)
    data = text.encode()
    lead = 1 if spelled[:1] == b" " and data[:1] != b" " else 0
    if spelled[lead:].lower() != data.lower():
        return None
    # A character belongs to the token with its first byte.
    starts = [n for n, byte in enumerate(data) if byte & 0xC0 != 0x80]
    character = {byte: n for n, byte in enumerate(starts)} if len(starts) < len(data) else None
    spans, at = [], -lead
    for piece in pieces:
        low, at = max(at, 0), at + len(piece or b"")
        low, high = (low, at) if character is None else (_first(character, low, len(data)), _first(character, at, len(data)))
        while low < high and text[low].isspace():
            low += 1
        spans.append((low, high))
    return spans


def _first(character: dict[int, int], byte: int, size: int) -> int:
    """The first character that starts at this byte or later."""
    while byte < size and byte not in character:
        byte += 1
    return character.get(byte, len(character))


@cache
def _byte_of() -> dict[str, int]:
    """GPT-2's alphabet: printable bytes as they are, the others from U+0100 on."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


@cache
def _bytes(token: str) -> bytes | None:
    try:
        return bytes(_byte_of()[sign] for sign in token)
    except KeyError:
        return None


def _of_pieces(text: str, tokens: Sequence[str]) -> list[Span] | None:
    """Word pieces, in the order in which they are found; an unknown token gets the text between its neighbours.

    >>> spans_of("Ärzte 🙂 heilen.", ["arzt", "##e", "[UNK]", "heilen", "."], byte_level=False)
    [(0, 4), (4, 5), (6, 7), (8, 14), (14, 15)]
    """
    folded, origin = _folded(text)
    spans: list[Span] = []
    waiting, at = 0, 0
    for token in tokens:
        piece = _piece(token)
        start = folded.find(piece, at, at + len(piece) + (FAR if waiting else _blank(folded, at))) if piece else -1
        if start < 0:
            waiting += 1
            continue
        spans += _between(text, origin[at], origin[start], waiting)
        waiting, at = 0, start + len(piece)
        spans.append((origin[start], origin[at - 1] + 1))
    spans += _between(text, origin[at], len(text), waiting)
    known = sum(high > low for low, high in spans)
    return spans if known * 2 > len(tokens) else None


def _blank(text: str, at: int) -> int:
    """The number of spaces that follow."""
    end = at
    while end < len(text) and text[end].isspace():
        end += 1
    return end - at


def _between(text: str, low: int, high: int, count: int) -> list[Span]:
    """Spans of `count` unknown tokens: the first gets all the text, without the space around it, and the others none."""
    if not count:
        return []
    while low < high and text[low].isspace():
        low += 1
    while low < high and text[high - 1].isspace():
        high -= 1
    return [(low, high)] + [(high, high)] * (count - 1)


@cache
def _piece(token: str) -> str:
    """A token without its tokenizer's marks; empty for an unknown or special token."""
    if token[:1] in "[<" and token[-1:] in "]>" and len(token) > 2:
        return ""
    return _fold(token.removeprefix("##").replace("▁", "").removesuffix("</w>").replace("Ġ", ""))


def _fold(text: str) -> str:
    """The text in lower case without accents, as some tokenizers read it."""
    if text.isascii():
        return text.lower()
    return "".join(sign for sign in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(sign))


def _folded(text: str) -> tuple[str, list[int]]:
    """The folded text, and for each of its characters (and its end) the position in the original."""
    if text.isascii():
        return text.lower(), list(range(len(text) + 1))
    signs, origin = [], []
    for place, sign in enumerate(text):
        folded = _fold(sign)
        signs.append(folded)
        origin += [place] * len(folded)
    return "".join(signs), [*origin, len(text)]
