"""Large data in a small page: a JSON header and typed arrays, compressed, in base64. The browser unpacks them."""

from __future__ import annotations

import base64
import json
import math
import struct
import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tiltmeter.benchmarks import GROUP_COLUMNS
from tiltmeter.display import visible

TYPES = ("int8", "uint8", "int16", "uint16", "int32", "float32")
LEVEL = 6  # 9 takes three times as long, for one part in a hundred
ALIGNMENT = 8  # a typed array may only start at a multiple of its item's size


class Pack:
    """Collects arrays; each is identified by its type, position and length."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def array(self, values: ArrayLike, kind: str) -> list[Any]:
        """Adds an array and returns its type, position and length, by which the page finds it."""
        assert kind in TYPES
        data = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
        place, length = self._size, len(data)
        padded = data.tobytes() + bytes(-data.nbytes % ALIGNMENT)
        self._parts.append(padded)
        self._size += len(padded)
        return [kind, place, length]

    def text(self, header: dict[str, Any]) -> str:
        """Everything as one base64 text: length of the header, header, arrays."""
        head = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        head += b" " * (-(len(head) + 4) % ALIGNMENT)
        whole = struct.pack("<I", len(head)) + head + b"".join(self._parts)
        return base64.b64encode(zlib.compress(whole, LEVEL)).decode("ascii")


def unpack(text: str) -> tuple[dict[str, Any], Any]:
    """The inverse of `Pack.text`: the header, and a function that returns an array by type, position and length."""
    whole = zlib.decompress(base64.b64decode(text))
    (length,) = struct.unpack_from("<I", whole)
    body = whole[4 + length :]

    def array(words: list[Any]) -> Any:
        kind, place, count = words
        return np.frombuffer(body, dtype=np.dtype(kind).newbyteorder("<"), count=count, offset=place)

    return json.loads(whole[4 : 4 + length]), array


def island(value: Any) -> str:
    """JSON that is safe inside a page: numbers in full precision, and no character that could end the element around it."""
    text = json.dumps(shown(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def shown(value: Any) -> Any:
    """Data for a page: every text in it as it may be shown."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible(str(key)): shown(part) for key, part in value.items()}
    return [shown(part) for part in value] if isinstance(value, list | tuple) else value


def plain(value: Any) -> Any:
    """A cell as a JSON value: missing is null, infinities are text."""
    if isinstance(value, float | np.floating):
        number = float(value)
        return number if math.isfinite(number) else None if math.isnan(number) else str(number)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    return value if isinstance(value, str | bool) else None


def table(frame: Any) -> dict[str, Any]:
    """A data frame as column names and rows."""
    return {"columns": list(frame), "rows": [[plain(cell) for cell in row] for row in frame.itertuples(index=False)]}


def packed_items(
    items: Any, pack: Pack, roles: Sequence[str], marked: Mapping[str, Collection[str]], flags: Mapping[str, str]
) -> dict[str, Any]:
    """Items for the explorer: texts and groups (as numbers in a list of names), and which of the flags each has."""
    packed: dict[str, Any] = {"id": items["item"].astype(str).tolist()}
    for column in GROUP_COLUMNS:
        codes, names = _coded(items[column])
        packed[column] = {"names": names, "codes": pack.array(codes, "int32")}
    for role in roles:
        if role in items and items[role].notna().any():
            packed[role] = [text if isinstance(text, str) else None for text in items[role]]
    shown = [[n for n, name in enumerate(flags) if item in marked.get(name, ())] for item in items["item"]]
    return packed | {"flags": shown, "flag_names": dict(flags)}


def _coded(column: Any) -> tuple[Any, list[str]]:
    import pandas as pd

    codes, names = pd.factorize(column.astype(object).where(column.notna(), None))
    return codes, [str(name) for name in names]
