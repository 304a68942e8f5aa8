"""WinoBias (Zhao et al., 2018): 1,584 pairs of sentences about people at work, with the pronoun of the stereotype or not."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.items import Benchmark, Item, Note, make_benchmark
from tiltmeter.benchmarks.kit.location import Source, locate
from tiltmeter.errors import InputError
from tiltmeter.storage.files import file_sha256
from tiltmeter.storage.tables import decode, read_bytes

CITATION = (
    "Zhao, Wang, Yatskar, Ordonez and Chang (2018), Gender bias in coreference resolution: evaluation and debiasing "
    "methods, NAACL. Licence: MIT."
)
URL = "https://raw.githubusercontent.com/uclanlp/corefBias/0bce984dd081bbc10b0622f326727a024c607895/WinoBias/wino/data/"
FILES = {
    ("1", "dev"): (
        "dd55a0d220fe4c0ceb63dd4648223fb4fe1a58d5ad95c116a002ad24b0e292a5",
        "a4e0ebae344e78b56f657a42e8ae684b9db7747d177c5e7149c0907ebb7f3bf6",
    ),
    ("1", "test"): (
        "db7838907238a758eeb5779e48f38c013b892910d6fe864456c59f04245c6689",
        "331db5bd74bfefebf146a60b67645152a4a1991570d2a56f57154103ac361dd2",
    ),
    ("2", "dev"): (
        "8f0250de723cea9328e3eaf7169e07936f01aa5909ce7aa580db66eb803f4e86",
        "763ad829ad724f9a85ead689ba8ca69072020cb1238def6210f0fc6a47b97e59",
    ),
    ("2", "test"): (
        "ea1c1fd94fa612e3cc44d7fa3cc4cb76021bb63fdf94f9826f430051e9052438",
        "336571ac1ea8c06cd2aba8e5dd2bd98e00acc0c48da3e4ec5ec7e54eb2633a8f",
    ),
}
"""The type and the part of each two files, and the sha256 of the one that fits the stereotype and of the other one."""
SIDES = ("pro", "anti")
NO_CONTRAST = "no pronoun in brackets that differs in gender"
MORE_THAN_PRONOUNS = "kept: its sentences differ in more than pronouns"
GENDERS = {
    "male": frozenset(("he", "him", "his", "himself")),
    "female": frozenset(("she", "her", "hers", "herself")),
}
DIRECTIONS = {"female": "disadvantaged", "male": "advantaged"}
PRONOUNS = frozenset.union(*GENDERS.values())
LINE = re.compile(r"\s*(?P<number>\d+)\s+(?P<sentence>.*\S)\s*")
MARKED = re.compile(r"\[([^\[\]]*)\]")


def winobias(*, data_dir: str | Path | None = None) -> Benchmark:
    """Its sentences as pairs: is the one with the stereotype's pronoun likelier? No coreference is resolved.

    The direction says whether the stereotype is of women (disadvantaged) or of men; the target is the occupation that the
    pronoun means. `--by type`: in type 1 only knowledge of the world says whom it means, in type 2 syntax does; `--by
    part`: dev or test.
    """
    paths = {key: [locate(_source(*key, side), None, data_dir) for side in SIDES] for key in FILES}
    digest = hashlib.sha256("".join(file_sha256(path) for two in paths.values() for path in two).encode()).hexdigest()
    notes: list[Note] = []
    rows = [row for (kind, part), two in paths.items() for row in _rows(kind, part, two, notes)]
    facts: dict[str, Any] = {"cluster": "frame", "cluster_noun": "frames", "citation": CITATION, "notes": notes}
    return make_benchmark("winobias", with_frames(rows), source="winobias", sha256=digest, **facts)


def with_frames(rows: Sequence[tuple[str, Item | str]]) -> Iterator[tuple[str, Item | str]]:
    """Add the frame of each pair: its words before the pronoun, without occupations. Pairs of a frame are dependent.

    >>> one = Item("1", {"stereo": "The clerk met the baker and thanked him.", "anti": "x"}, "gender", target="baker")
    >>> two = Item("2", {"stereo": "The baker met the clerk and thanked her.", "anti": "x"}, "gender", target="clerk")
    >>> {row.extra["frame"] for _, row in with_frames([("1", one), ("2", two)]) if isinstance(row, Item)}
    {'the _ met the _ and thanked'}
    """
    people = {row.target for _, row in rows if isinstance(row, Item) and row.target}
    pattern = re.compile(rf"\b({'|'.join(sorted(map(re.escape, people), key=len, reverse=True)) or '(?!)'})\b")
    for name, row in rows:
        if isinstance(row, str):
            yield name, row
            continue
        before, _, _ = " ".join(_without_pronouns(row.texts["stereo"])).partition(" -")
        yield name, replace(row, extra={**row.extra, "frame": pattern.sub("_", before)})


def _source(kind: str, part: str, side: str) -> Source:
    name = f"{side}_stereotyped_type{kind}.txt.{part}"
    return Source(f"winobias/{name}", URL + name, FILES[kind, part][SIDES.index(side)])


def _rows(kind: str, part: str, paths: list[Path], notes: list[Note]) -> Iterator[tuple[str, Item | str]]:
    for pro, anti in zip_longest(*(_sentences(path) for path in paths)):
        if pro is None or anti is None or pro[0] != anti[0]:
            raise InputError(
                f"{paths[0]} and {paths[1]} do not have the same numbers of sentences: not twins.",
                code="wrong-shape",
                files=[str(one) for one in paths],
            )
        name = f"type{kind}-{part}-{pro[0]}"
        texts = {role: MARKED.sub(r"\1", text) for role, text in (("stereo", pro[1]), ("anti", anti[1]))}
        gender, other = _gender(pro[1]), _gender(anti[1])
        if gender is None or other is None or gender == other:
            yield name, NO_CONTRAST
            continue
        if _without_pronouns(texts["stereo"]) != _without_pronouns(texts["anti"]):
            notes.append(Note(name, MORE_THAN_PRONOUNS))
        yield (
            name,
            Item(
                id=name,
                texts=texts,
                bias_type="gender",
                direction=DIRECTIONS[gender],
                target=_occupation(pro[1]),
                extra={"type": kind, "part": part, "gender": gender},
            ),
        )


def _sentences(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(decode(read_bytes(path), path).split("\n"), 1):
        found = LINE.fullmatch(line)
        if line.strip() and not found:
            raise InputError(
                f"{path}, line {number}: expected a number and a sentence.", code="wrong-format", file=str(path), line=number
            )
        if found:
            yield found["number"], found["sentence"]


def _gender(sentence: str) -> str | None:
    """That of the first pronoun in brackets."""
    marked = [word.strip().lower() for word in MARKED.findall(sentence)]
    return next((gender for word in marked for gender, words in GENDERS.items() if word in words), None)


def _occupation(sentence: str) -> str | None:
    """Return the occupation in brackets, without its article.

    >>> _occupation("A lawyer met [the  Baker] and thanked [him].")
    'baker'
    """
    marked = [" ".join(words.lower().split()) for words in MARKED.findall(sentence)]
    people = (re.sub(r"^(the|a|an) ", "", words) for words in marked if words and words not in PRONOUNS)
    return next(people, None)


def _without_pronouns(text: str) -> list[str]:
    words = re.findall(r"\w+", text.lower())
    return ["-" if word in PRONOUNS else word for word in words]
