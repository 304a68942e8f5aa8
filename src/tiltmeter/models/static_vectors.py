"""Static word vectors: word2vec or GloVe text (plain, gz, xz), or a NumPy array with a list of words beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import InputError
from tiltmeter.models.capabilities import OF_KIND
from tiltmeter.storage.compression import is_file, open_packed, reading, require_file
from tiltmeter.storage.places import at_home

if TYPE_CHECKING:
    from tiltmeter.models.identity import ModelIdentity

TEXT_SUFFIXES = (".txt", ".vec", ".glove", ".w2v")
INDEX_SUFFIXES = (".json", ".vocab", ".words", ".txt")


def is_static(name: str | Path) -> bool:
    """Return True if the name is that of a file of static vectors."""
    path = at_home(name)
    suffix = Path(path.stem).suffix if path.suffix in (".gz", ".xz") else path.suffix
    return is_file(path) and (suffix in TEXT_SUFFIXES or path.suffix == ".npy")


def words_beside(path: Path) -> Path | None:
    """The list of words of a NumPy array; text files hold their own."""
    places = [path.with_suffix(suffix) for suffix in INDEX_SUFFIXES] if path.suffix == ".npy" else []
    return next((place for place in places if place.is_file()), None)


class StaticVectors:
    """One vector per word, whatever its context. Only the requested words are read into memory."""

    def __init__(self, path: str | Path) -> None:
        self.path = at_home(path)
        self.name = self.path.name
        self.kind = "static"
        self.uncacheable: str | None = None
        require_file(self.path)

    @property
    def capabilities(self) -> frozenset[str]:
        """Capabilities of its kind."""
        return OF_KIND[self.kind]

    @property
    def facts(self) -> dict[str, Any]:
        """For the manifest."""
        return {"name": str(self.path), "kind": self.kind}

    @property
    def identity(self) -> ModelIdentity:
        """Everything about the vectors that decides what they answer."""
        from tiltmeter.models.identity import identify_vectors

        return identify_vectors(self.path)

    def lookup(self, words: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Vectors of the words that are there: as written, else in lower case. What is absent is absent."""
        wanted = {spelling for word in words for spelling in (word, word.lower())}
        known = dict(self._from_array(wanted) if self.path.suffix == ".npy" else self._from_text(wanted))
        spelt = {word: known.get(word, known.get(word.lower())) for word in words}
        return {word: vector for word, vector in spelt.items() if vector is not None}

    def _from_text(self, wanted: set[str]) -> Iterator[tuple[str, NDArray[np.float32]]]:
        width = 0
        with reading(self.path), open_packed(self.path) as stream:
            for number, raw in enumerate(stream, 1):
                line = raw.decode("utf-8", errors="replace").rstrip("\r\n\t ")
                word, _, rest = line.partition("\t" if "\t" in line else " ")
                if number == 1 and len(rest.split()) == 1:  # word2vec's first line: how many words, how wide
                    continue
                if word in wanted:
                    yield word, self._numbers(rest, number, width)
                    width = width or len(rest.split())

    def _numbers(self, text: str, line: int, width: int) -> NDArray[np.float32]:
        try:
            vector = np.array(text.split(), dtype=np.float32)
        except ValueError:
            raise InputError(
                f"{self.path}, line {line}: expected a word and numbers.",
                code="wrong-format",
                file=self.path,
                line=line,
                expected="a word and numbers",
            ) from None
        if not len(vector) or (width and len(vector) != width):
            raise InputError(
                f"{self.path}, line {line}: {len(vector)} numbers, where other lines have {width}.",
                code="wrong-shape",
                file=self.path,
                line=line,
                numbers=len(vector),
                expected=width,
            )
        return vector

    def _from_array(self, wanted: set[str]) -> Iterator[tuple[str, NDArray[np.float32]]]:
        with reading(self.path):
            array = np.load(self.path, mmap_mode="r")
        words = self._index()
        if array.ndim != 2 or len(words) != len(array):
            raise InputError(
                f"{self.path} has the shape {array.shape}, and its list has {len(words):,} words.",
                code="wrong-shape",
                file=self.path,
                shape=array.shape,
                words=len(words),
            )
        yield from ((word, np.asarray(array[row], np.float32)) for row, word in enumerate(words) if word in wanted)

    def _index(self) -> list[str]:
        if beside := words_beside(self.path):
            with reading(beside):
                text = beside.read_text("utf-8")
                return _words(json.loads(text)) if beside.suffix == ".json" else text.removesuffix("\n").split("\n")
        names = ", ".join(self.path.with_suffix(suffix).name for suffix in INDEX_SUFFIXES)
        raise InputError(
            f"{self.path} needs a list of its words beside it: one of {names}.",
            code="missing-file",
            file=self.path,
            expected=names,
        )


def _words(index: Any) -> list[str]:
    """A list of words, or words with their row numbers."""
    if isinstance(index, list):
        return index
    if not isinstance(index, dict) or set(index.values()) != set(range(len(index))):
        raise ValueError("neither a list of words, nor words with row numbers from 0 on")
    return sorted(index, key=index.__getitem__)
