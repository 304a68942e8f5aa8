"""SEAT and WEAT (May et al., 2019; Caliskan et al., 2017): are two sets differently close to two others in vector space?"""

from __future__ import annotations

import os
import re
from pathlib import Path

from tiltmeter.benchmarks.kit.association import AssociationBenchmark, AssociationTest
from tiltmeter.benchmarks.kit.items import Note, encoding_notes
from tiltmeter.benchmarks.kit.word_sets import WordFile, read_document, read_test
from tiltmeter.errors import InputError
from tiltmeter.storage.compression import content_sha256, is_folder, title_of
from tiltmeter.storage.places import user_cache

CITATION = "May et al. (2019), On Measuring Social Biases in Sentence Encoders, NAACL; Caliskan et al. (2017), Science 356."
FOLDER = "seat"
UPSTREAM = "github.com/W4ngatang/sent-bias (tests/, CC BY-NC 4.0); religion: github.com/McGill-NLP/bias-bench (data/seat/)"
DOMAINS = {
    "gender": r"weat[678]b?$|heilman", "race": r"weat(3b?|4|5b?)$|angry_black", "religion": r"religion",
    "age": r"weat10$", "health": r"weat9$", "baseline": r"weat[12]$",
}  # fmt: skip
# The sets of tests whose average |d| papers print (Meade et al., 2022, ACL): the double bind is not among them.
AVERAGES = {
    "gender": ("6", "6b", "7", "7b", "8", "8b"),
    "race": ("angry_black_woman_stereotype", "angry_black_woman_stereotype_b", "3", "3b", "4", "5", "5b"),
    "religion": ("religion1", "religion1b", "religion2", "religion2b"),
}


def seat(path: str | Path | None = None, *, data_dir: str | Path | None = None, name: str = "seat") -> AssociationBenchmark:
    """A test of your own in SEAT's layout; else SEAT's files in the data folder; else our own tests, embedded."""
    if path is not None:
        document = read_document(Path(path))
        test, notes = read_test(document, title_of(Path(path)), Path(path), str(document.get("domain", "own")))
        return _benchmark(name, [test], [*encoding_notes(path), *notes], str(path), content_sha256(Path(path)))
    folder = _folder(data_dir)
    if folder is None:
        words = WordFile()
        why = (
            f"SEAT's own files are not here, so tiltmeter's embedded tests are run. To have them, put {UPSTREAM} into seat/"
        )
        tests = list(words.tests())
        return _benchmark(name, tests, [*words.notes, Note("seat", why)], words.source, content_sha256(words.path))
    read = [read_test(read_document(file), file.stem, file, domain_of(file.stem)) for file in sorted(folder.glob("*.jsonl"))]
    if not read:
        raise InputError(
            f"{folder} has no .jsonl file. SEAT's are at {UPSTREAM}.",
            code="missing-file",
            folder=str(folder),
            files=["*.jsonl"],
            url=UPSTREAM,
        )
    return _benchmark(name, [test for test, _ in read], [note for _, odd in read for note in odd], str(folder), "")


def domain_of(name: str) -> str:
    """Return the domain of a test of SEAT, by its name.

    >>> domain_of("sent-weat6b"), domain_of("weat10"), domain_of("sent-religion2")
    ('gender', 'age', 'religion')
    """
    return next((domain for domain, pattern in DOMAINS.items() if re.search(pattern, name)), "own")


def _benchmark(name: str, tests: list[AssociationTest], notes: list[Note], source: str, sha256: str) -> AssociationBenchmark:
    averages = {
        domain: tuple(f"sent-{'' if number[0].isalpha() else 'weat'}{number}" for number in numbers)
        for domain, numbers in AVERAGES.items()
    }
    own = [test for test in tests if "plumb" in test.name]
    for domain in dict.fromkeys(test.domain for test in own):
        averages[domain] = tuple(test.name for test in own if test.domain == domain and test.name.startswith("sent-"))
    return AssociationBenchmark(
        name=name, items=(), source=source, sha256=sha256, citation=CITATION, notes=tuple(notes),
        kind="seat", tests=tuple(tests), averages=averages,
    )  # fmt: skip


def _folder(data_dir: str | Path | None) -> Path | None:
    """The folder of SEAT's files: in the data folder, or in the user cache."""
    given = data_dir or os.environ.get("TILTMETER_DATA")
    places = [Path(given) / FOLDER] if given else []
    return next((place for place in (*places, user_cache() / "data" / FOLDER) if is_folder(place)), None)
