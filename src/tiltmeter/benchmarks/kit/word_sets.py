"""Reading word sets: SEAT's files (one JSON document each), our own file of words, and lists with one word a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.association import FEWEST, AssociationTest, Contrast, Group, Polarity, WordSet, word_set
from tiltmeter.benchmarks.kit.items import Note, encoding_notes
from tiltmeter.errors import InputError, UsageError
from tiltmeter.storage.strict_json import parse_json
from tiltmeter.storage.tables import decode, read_bytes

PARTS = ("targ1", "targ2", "attr1", "attr2")
REPEATED = "dropped: a word that is already in its set, or an empty one"


class WordFile:
    """A JSON file of word sets in the layout of the embedded one (docs/associations.md), and what was odd about it."""

    def __init__(self, path: str | Path | None = None) -> None:
        with as_file(files("tiltmeter.benchmarks") / "data" / "plumb_words.json") as own:
            self.path = Path(path) if path else own
            self.document = read_document(self.path)
        self.source = str(path) if path else "plumb_words.json"
        self.notes: list[Note] = list(encoding_notes(path))

    def tests(self) -> tuple[AssociationTest, ...]:
        """Every test twice: on its words, and (`sent-…`) on sentences, its words set into the file's frames."""
        words = [self._test(test) for test in self._part("tests", list)]
        return tuple(words) + tuple(self._framed(test) for test in words)

    def _test(self, test: Any) -> AssociationTest:
        said = test if isinstance(test, dict) else {}
        name, domain = (self._label(said.get(key, default), key) for key, default in (("name", "?"), ("domain", "own")))
        read, notes = read_test(said, name, self.path, domain)
        self.notes += notes
        return read

    def _label(self, value: Any, name: str) -> str:
        if not isinstance(value, str):
            raise InputError(f"{self.path}: '{name}' is not a text.", code="wrong-type", file=str(self.path), key=name)
        return value

    def _framed(self, test: AssociationTest) -> AssociationTest:
        frames = [self._label(frame, "frames") for frame in self._part("frames", list) or ["{}"]]
        sets = tuple(
            WordSet(words.category, tuple(frame.replace("{}", word) for word in words.examples for frame in frames))
            for words in test.sets
        )
        return AssociationTest(f"sent-{test.name}", sets, test.domain)

    def groups(self, *, for_ceat: bool = False, labels: bool = False) -> tuple[Group, ...]:
        """The protected groups of every domain; some files name groups that CEAT leaves out, or have more words for it.

        `labels` takes the words that templates take, although there are more.
        """
        without = self._part("not_in_ceat", list) if for_ceat else []
        several = for_ceat and not labels and bool(self.document.get("group_words"))
        return tuple(
            Group(domain, name, self._words(name, words))
            for domain, named in self._part("group_words" if several else "groups", dict).items()
            for name, words in self._mapping(named, domain).items()
            if name not in without
        )

    def polarities(self, part: str = "attributes") -> tuple[Polarity, ...]:
        """Attributes of two poles, the first the better one."""
        polarities = []
        for name, poles in self._part(part, dict).items():
            sets = [WordSet(pole, self._words(pole, words)) for pole, words in self._mapping(poles, name).items()]
            if len(sets) != 2:
                raise InputError(
                    f"{self.path}: the attributes '{name}' need two named lists, and have {len(sets)}.",
                    code="wrong-shape",
                    file=str(self.path),
                    attributes=name,
                    sets=len(sets),
                )
            polarities.append(Polarity(name, *sets))
        return tuple(polarities)

    def contrasts(self) -> tuple[Contrast, ...]:
        """Kurita's question for every set of attributes of the file."""
        sides, contrasts = self._sides(), []
        for name, said in self._mapping(self._part("kurita", dict).get("sets", {}), "sets").items():
            about = self._mapping(said, name)
            templates = self._words(f"templates of {name}", about.get("templates"))
            contrasts.append(Contrast(name, templates, self._words(name, about.get("words")), *sides))
        return tuple(contrasts)

    def list_contrasts(self, lists: Sequence[str | Path]) -> tuple[Contrast, ...]:
        """Return a set of attributes for lists of words, in the templates of the file's last set (adjectives, in ours)."""
        if not lists:
            return ()
        own = self.contrasts()
        if not own:
            raise InputError(
                f"{self.path} has no 'kurita' with groups and templates to ask a list of attributes in.",
                code="missing-value",
                file=str(self.path),
                keys=["kurita"],
            )
        names = [*(contrast.name for contrast in own), *(Path(path).stem for path in lists)]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise UsageError(
                f"Two sets of attributes are called '{repeated[0]}'; rename a file (--attributes).",
                code="duplicate-name",
                kind="attributes",
                name=repeated[0],
                option="--attributes",
            )
        return tuple(replace(own[-1], name=Path(path).stem, attributes=read_list(Path(path))) for path in lists)

    def _sides(self) -> list[WordSet]:
        """The two groups that Kurita's question is about."""
        said, sides = self._part("kurita", dict), []
        for side in ("first", "second") if said else ():
            about = self._mapping(said.get(side), side)
            sides.append(WordSet(self._label(about.get("name", side), "name"), self._words(side, about.get("words"))))
        return sides

    def templates(self) -> tuple[str, ...]:
        """Sentences with a group and an attribute."""
        return self._words("templates", self._part("templates", list)) if self.document.get("templates") else ()

    def _part(self, name: str, kind: type) -> Any:
        part = self.document.get(name, kind())
        if not isinstance(part, kind):
            raise InputError(
                f"{self.path}: '{name}' is not a JSON {'object' if kind is dict else 'array'}.",
                code="wrong-type",
                file=str(self.path),
                key=name,
            )
        return part

    def _mapping(self, value: Any, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise InputError(
                f"{self.path}: '{name}' is not there or not a JSON object.", code="wrong-type", file=str(self.path), key=name
            )
        return value

    def _words(self, name: str, words: Any) -> tuple[str, ...]:
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            raise InputError(
                f"{self.path}: '{name}' is not there or not a list of words.",
                code="wrong-type",
                file=str(self.path),
                key=name,
            )
        kept, dropped = word_set(name, words)
        self.notes += [Note(name, REPEATED)] * dropped
        return kept.examples


def read_document(path: Path) -> dict[str, Any]:
    """A file that is one JSON document, whatever its suffix says."""
    document = parse_json(decode(read_bytes(path), path), str(path), "one JSON document")
    if not isinstance(document, dict):
        raise InputError(
            f"{path}: expected a JSON object with {', '.join(PARTS)}.", code="wrong-type", file=str(path), keys=list(PARTS)
        )
    return document


def read_test(document: Any, name: str, path: Path, domain: str = "own") -> tuple[AssociationTest, list[Note]]:
    """A test in SEAT's layout: targ1, targ2, attr1, attr2, each with a category and examples."""
    sets, notes = [], []
    for part in PARTS:
        said = document.get(part) if isinstance(document, Mapping) else None
        examples = said.get("examples") if isinstance(said, Mapping) else None
        if not isinstance(examples, list) or not all(isinstance(text, str) for text in examples):
            raise InputError(
                f"{path}: the test '{name}' has no list of examples in '{part}'.",
                code="missing-value",
                file=str(path),
                test=name,
                keys=[part],
            )
        words, dropped = word_set(str(said.get("category", part)) if said else part, examples)
        notes += [Note(f"{name} {part}", REPEATED)] * dropped
        if len(words.examples) < FEWEST:
            raise InputError(
                f"{path}: '{part}' of the test '{name}' has {len(words.examples)} words; at least {FEWEST} are needed.",
                code="wrong-shape",
                file=str(path),
                test=name,
                part=part,
                words=len(words.examples),
                least=FEWEST,
            )
        sets.append(words)
    return AssociationTest(name, tuple(sets), domain), notes


def read_list(path: Path) -> tuple[str, ...]:
    """A list with one word a line. Kurita's traits are capitalised; in a sentence they are not."""
    words = tuple(
        dict.fromkeys(
            line.strip().lower() for line in decode(read_bytes(path), path, guess=False).splitlines() if line.strip()
        )
    )
    if len(words) < FEWEST:
        raise InputError(
            f"{path} has {len(words)} words; at least {FEWEST} are needed.",
            code="wrong-shape",
            file=str(path),
            words=len(words),
            least=FEWEST,
        )
    return words
