"""BEC-Pro (Bartl, Nissim and Gatt, 2020): 5,400 sentences with a person and one of 60 professions, English or German."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiltmeter.benchmarks.kit.association import AssociationBenchmark, MaskedSentence
from tiltmeter.benchmarks.kit.items import Note
from tiltmeter.benchmarks.kit.location import Source, locate
from tiltmeter.errors import InputError, UsageError
from tiltmeter.storage.compression import content_sha256
from tiltmeter.storage.tables import Row, read_table, require_columns, text_cell

MENDED = "mended: a mask inside the profession"
CITATION = (
    "Bartl, Nissim and Gatt (2020), Unmasking contextual stereotypes: measuring and mitigating BERT's gender bias, GeBNLP. "
    "Licence: CC BY 4.0."
)
URL = "https://raw.githubusercontent.com/marionbartl/gender-bias-BERT/c1e28434555f79b59e13e3f5ff87846e653fb553/"
SOURCES = {
    "en": Source(
        "bec-pro/BEC-Pro_EN.tsv",
        f"{URL}BEC-Pro/BEC-Pro_EN.tsv",
        "228b44c62d7830fec13a1eee52bbe8afff82be455abb9d8a07c17d9d0b48e20f",
    ),
    "de": Source(
        "bec-pro/BEC-Pro_DE.tsv",
        f"{URL}BEC-Pro/BEC-Pro_DE.tsv",
        "1803abb492ebf28e64acaa8f12d5ccb24caf08847a06ba325d4b374e120af805",
    ),
}
COLUMNS = ("Sentence", "Sent_TM", "Sent_AM", "Person", "Gender", "Profession", "Prof_Gender")
ENGLISH = "Profession_EN"
"""German has a form for men and one for women; both are one profession under its English name."""
MASK = "[MASK]"
SETS = {"male": "mostly men", "female": "mostly women"}
"""Sets of professions by who works in them."""


def bec_pro(
    path: str | Path | None = None,
    *,
    data_dir: str | Path | None = None,
    language: str = "en",
    name: str = "bec-pro",
) -> AssociationBenchmark:
    """Associations of person words with professions: log P(word | profession) − log P(word | profession masked).

    Professions come in three sets: those in which most are women, most are men, or neither. Only masked models can answer.
    """
    if language not in SOURCES:
        message = f"bec-pro has no language '{language}' (--language). Languages: {', '.join(SOURCES)}."
        raise UsageError(message, code="unknown-name", language=language, languages=list(SOURCES), kind="language")
    file = locate(SOURCES[language], path, data_dir)
    rows = read_table(file)
    require_columns(rows, COLUMNS, file)
    notes: list[Note] = []
    return AssociationBenchmark(
        name=name if language == "en" else f"{name}-{language}",
        items=(),
        source=str(path) if path else SOURCES[language].relative,
        sha256=content_sha256(file),
        citation=CITATION,
        kind="sentences",
        sentences=tuple(_sentences(rows, file, notes)),
        notes=tuple(notes),
    )


def _sentences(rows: Sequence[Row], file: Path, notes: list[Note]) -> Iterator[MaskedSentence]:
    """Masks the person in the sentence, and in the one whose profession is masked.

    The file's own column masks a person's letters inside ten professions too ("[MASK]ager"); that is mended and noted.
    """
    for number, row in enumerate(rows, 1):
        person, gender, of_set = (text_cell(row, column).strip() for column in ("Person", "Gender", "Prof_Gender"))
        whole = re.compile(rf"(?<!\w){re.escape(person)}(?!\w)")
        given, prior = (whole.sub(MASK, text_cell(row, column), count=1) for column in ("Sentence", "Sent_AM"))
        if given.count(MASK) != 1 or prior.count(MASK) < 2 or given.index(MASK) != prior.index(MASK):
            message = f"{file}, row {number}: the person must come before the profession, which must be masked in Sent_AM."
            raise InputError(message, code="wrong-format", row=number)
        if given != text_cell(row, "Sent_TM"):
            notes.append(Note(str(number), MENDED))
        attribute = text_cell(row, ENGLISH) if ENGLISH in row else text_cell(row, "Profession")
        yield MaskedSentence(person, gender, attribute.strip(), SETS.get(of_set, of_set), given, prior)
