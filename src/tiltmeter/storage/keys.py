"""Keys of caches: fields joined so that no two lists of fields give the same key."""

from __future__ import annotations

SEPARATORS = str.maketrans({sign: f"\x1b{ord(sign):02x}" for sign in "\x1b\x1d\x1e\x1f"})
"""The control characters that stand between fields, spelled out where a field itself holds one."""


def unmistakable(field: str) -> str:
    """A field as it may stand between separators. Ordinary text stays as it is.

    >>> unmistakable("as it is"), unmistakable("a\x1fb") != unmistakable("a") + "\x1f" + unmistakable("b")
    ('as it is', True)
    """
    return field.translate(SEPARATORS)
