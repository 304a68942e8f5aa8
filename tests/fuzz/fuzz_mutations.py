"""Damage: to bytes (flips, cuts, swaps, odd insertions), to JSON values, and to folders of files."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

ODD_BYTES = (
    b"\0", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n\n", b'"', b"'", b",", b";", b"\t", b"|", b"\\",
    b"=1+1",     b"\x1b[2J", b"\x9b",
    "\u202e".encode(), "\u2028".encode(), "é".encode("cp1252"), b"\xed\xa0\x80", b"[MASK]", b"[PAD]",
    b"<|endoftext|>", b"<script>alert(1)</script>", b"{", b"}", b"[", b"NaN", b"Infinity", b"1e999", b"-0", b"9" * 400,
    "日本".encode(), "🙂".encode(), b"a" * 5000, b"{" * 300, b"PK\x03\x04", b"\x1f\x8b", b"sep=;\n", b"\x1f", b"\x1e",
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1e300, 10**40, "", " ", [], {}, [[]], "\0", "\x1b", "=1", "[MASK]", "<b>", "\ud800", "x" * 3000,
    ["a", "b"], {"a": "b"}, "../../etc", "a\nb", "NaN", 0.5, 2**63,
)  # fmt: skip


def damage(data: bytes, rng: random.Random) -> bytes:
    """One to three changes of bytes; mostly one, which does less to the rest."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(CHANGES)(data, rng)
    return data


def flip(data: bytes, rng: random.Random) -> bytes:
    """One bit."""
    if not data:
        return b"\x01"
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def cut(data: bytes, rng: random.Random) -> bytes:
    """The end is gone."""
    return data[: rng.randint(0, len(data))]


def without(data: bytes, rng: random.Random) -> bytes:
    """A piece is gone."""
    start = rng.randint(0, len(data))
    return data[:start] + data[start + rng.randint(1, 40) :]


def zeroed(data: bytes, rng: random.Random) -> bytes:
    """A piece is zeros, as a disk leaves it."""
    start, n = rng.randint(0, len(data)), rng.choice((1, 8, 512, 4096))
    piece = data[start : start + n]
    return data[:start] + bytes(len(piece)) + data[start + n :]


def insert(data: bytes, rng: random.Random) -> bytes:
    """Something odd in between."""
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice(ODD_BYTES) * rng.choice((1, 1, 1, 3)) + data[at:]


def swap(data: bytes, rng: random.Random) -> bytes:
    """Two pieces change places."""
    a, b = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
    middle = rng.randint(a, b)
    return data[:a] + data[middle:b] + data[a:middle] + data[b:]


def repeated(data: bytes, rng: random.Random) -> bytes:
    """A piece stands there twice."""
    a, b = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
    return data[:b] + data[a:b] + data[b:]


CHANGES = (flip, flip, insert, insert, without, cut, zeroed, swap, repeated)


def damaged_json(value: Any, rng: random.Random) -> Any:
    """A JSON value with one place of it changed, dropped, renamed or doubled."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        name = rng.choice(list(value))
        how = rng.random()
        if how < 0.15:
            return {key: part for key, part in value.items() if key != name}
        if how < 0.25:
            return value | {str(rng.choice(("", "x" * 300, name.upper(), "\0"))): value[name]}
        return value | {name: damaged_json(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        how = rng.random()
        if how < 0.2:
            return value[:at] + value[at + 1 :]
        return [*value[:at], damaged_json(value[at], rng), *value[at + (how < 0.9) :]]
    return rng.choice(ODD_VALUES)


def dumped(value: Any) -> bytes:
    """As a file would hold it, halves of characters and all."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def damage_folder(files: list[Path], rng: random.Random) -> str:
    """Damages one file of a folder, or lets two change places; says what was done."""
    path = rng.choice(files)
    how = rng.choice(("flip", "flip", "flip", "cut", "zeroed", "swap", "gone", "empty", "longer"))
    if how == "gone":
        path.unlink()
    elif how == "swap":
        other = rng.choice(files)
        one, two = path.read_bytes(), other.read_bytes()
        path.write_bytes(two)
        other.write_bytes(one)
    elif how in ("empty", "longer"):
        path.write_bytes(b"" if how == "empty" else path.read_bytes() + rng.choice(ODD_BYTES))
    else:
        path.write_bytes({"flip": flip, "cut": cut, "zeroed": zeroed}[how](path.read_bytes(), rng))
    return f"{how} {path.name}"
