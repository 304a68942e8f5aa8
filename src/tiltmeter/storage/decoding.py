"""Decoding of bytes: UTF-8 by default; an older encoding is used only where the bytes show which, and is reported."""

from __future__ import annotations

import codecs
from pathlib import Path
from unicodedata import category

from tiltmeter.errors import InputError, UsageError

MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF16_LE: "utf-16",
         codecs.BOM_UTF16_BE: "utf-16"}  # fmt: skip
"""Byte-order marks; UTF-32 first, since its mark begins as UTF-16's does."""
NO_FILES = {"punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined"}
"""Codecs that Python counts as text encodings but that no file is written in."""
EIGHT_BIT = ("cp1252", "mac_roman")
MOST_UTF8 = 0.1
"""UTF-8 characters per other byte in a file of another encoding: some hold a cell pasted from elsewhere."""
FEWEST_SIGNS = 2
"""Fewest non-ASCII bytes that distinguish one 8-bit encoding from another."""
LIKELY, UNLIKELY = 0.9, 0.7
"""Least share of the non-ASCII characters that makes sense in the chosen encoding, and largest in the other."""
SPACE_BEFORE, SPACE_BEHIND = "“‘„«¿¡", "”’»…"


def decode(data: bytes, path: Path, encoding: str | None = None, *, guess: bool = True) -> str:
    """Decode a file: by `encoding`, its byte-order mark, UTF-8, or (`guess`) `guessed_encoding`, in this order."""
    text = _decoded(data, path, encoding, guess)
    if "\0" in text:
        raise InputError(
            f"{path} does not look like text. If it is, give its encoding with --encoding.",
            code="wrong-format",
            file=path,
            expected="text",
        )
    return text.removeprefix("\ufeff")


def _decoded(data: bytes, path: Path, encoding: str | None, guess: bool) -> str:
    if encoding is None:
        if data.startswith(b"PK\x03\x04"):
            raise InputError(
                f"{path} is a zip archive or an Excel workbook. Save it as CSV (UTF-8).",
                code="wrong-format",
                file=path,
                expected="text",
            )
        encoding = next((name for mark, name in MARKS.items() if data.startswith(mark)), None)
    if encoding:
        return _decode_as(data, path, encoding)
    if b"\0" in data:
        return "\0"
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        taken = guessed_encoding(data) if guess else None
        if taken is None:
            raise InputError(_complaint(data, path, error), code="wrong-encoding", file=path) from None
        return data.decode(taken)


def _decode_as(data: bytes, path: Path, encoding: str) -> str:
    try:
        codec = codecs.lookup(encoding)
    except (LookupError, ValueError):
        raise UsageError(
            f"'{encoding}' is not an encoding of Python. Try --encoding utf-8 or --encoding cp1252.",
            code="unknown-name",
            kind="encoding",
            name=encoding,
        ) from None
    if not codec._is_text_encoding or codec.name.replace("-", "_") in NO_FILES:
        raise UsageError(
            f"'{encoding}' is not an encoding of text files. Try --encoding utf-8 or --encoding cp1252.",
            code="unknown-name",
            kind="encoding",
            name=encoding,
        )
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not {encoding}: {error.reason} at {_place(data, error.start)}.",
            code="wrong-encoding",
            file=path,
            encoding=encoding,
        ) from None
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"{path} is not {encoding}: {error}.", code="wrong-encoding", file=path, encoding=encoding
        ) from None


def guessed_encoding(data: bytes) -> str | None:
    """The 8-bit encoding that the bytes are clearly in: Windows or classic Mac, Western European. None for UTF-8 and doubt.

    Clearly: next to nothing in it reads as UTF-8, accents stand inside words and quotation marks around them, and the other
    encoding makes no sense of the same bytes.

    >>> guessed_encoding("Le garçon blessé était né à Besançon.".encode("cp1252")), guessed_encoding("né".encode())
    ('cp1252', None)
    """
    if data.startswith(tuple(MARKS)):
        return None  # the file says it itself
    try:
        data.decode("utf-8")
        return None
    except UnicodeDecodeError:
        read = data.decode("utf-8", errors="surrogateescape")
    broken = sum("\udc80" <= char <= "\udcff" for char in read)
    if MOST_UTF8 * broken < sum(char > "\x7f" for char in read) - broken:
        return None  # it is UTF-8, but for some bytes: they must not spoil the rest
    sense = sorted(((_sense(data, encoding), encoding) for encoding in EIGHT_BIT), reverse=True)
    (best, taken), (other, _) = sense
    signs = sum(byte > 127 for byte in data)
    return taken if signs >= FEWEST_SIGNS and best >= LIKELY and other <= UNLIKELY else None


def _sense(data: bytes, encoding: str) -> float:
    """The share of the non-ASCII characters that stand where such characters stand."""
    try:
        text = f" {data.decode(encoding)} "
    except UnicodeDecodeError:
        return 0.0
    places = [place for place, char in enumerate(text) if ord(char) > 127]
    return sum(_fits(text, place) for place in places) / max(1, len(places))


def _fits(text: str, place: int) -> bool:
    before, char, behind = text[place - 1], text[place], text[place + 1]
    if category(char) in ("Lu", "Ll"):
        if sum(ord(near) > 127 and near.isalpha() for near in text[max(0, place - 2) : place + 3]) > 3:
            return False  # another script, in an encoding of its own
        broken = (before.islower() and char.isupper()) or (char.islower() and behind.isupper())
        alone = not before.isalpha() and not behind.isalpha()
        return not broken and (not alone or char in "àÀéÉèÈôÔ")
    if char in SPACE_BEFORE:
        return not before.isalnum()
    if char in SPACE_BEHIND:
        return not before.isspace() or char in "’»"
    return char in "–—\xa0€£°§·"


def _complaint(data: bytes, path: Path, error: UnicodeDecodeError) -> str:
    start = max(data.rfind(b"\n", 0, error.start) + 1, error.start - 20)
    ends = [end for end in (data.find(b"\n", error.start), error.start + 20) if end >= 0]
    shown = data[start : min(ends)].decode("cp1252", errors="replace").strip()
    return (
        f"{path} is not UTF-8: {error.reason} at {_place(data, error.start)}. Mend it, or name the file's encoding: with "
        f"--encoding cp1252, for one, that place reads '{shown}'."
    )


def _place(data: bytes, byte: int) -> str:
    line = data.count(b"\n", 0, byte) + 1
    return f"byte {byte:,} (line {line:,})"
