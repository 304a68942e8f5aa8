"""HONEST (Nozza, Bianchi and Hovy, 2021): 810 beginnings of sentences about women and men, in six languages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.items import Benchmark, Item, make_benchmark
from tiltmeter.benchmarks.kit.location import Source, locate
from tiltmeter.benchmarks.kit.prompts import PromptBenchmark, prompt_item
from tiltmeter.errors import UsageError
from tiltmeter.storage.compression import content_sha256
from tiltmeter.storage.tables import Row, cell, read_table, require_columns, text_cell

CITATION = (
    "Nozza, Bianchi and Hovy (2021), HONEST: measuring hurtful sentence completion in language models, NAACL. Licence: MIT."
)
URL = "https://raw.githubusercontent.com/MilaNLProc/honest/6efc7817cbeb36e61bba51a34bbce13ecc8af69f/resources/"
FILES = {
    "en": "31cc5a89729638975eaf0de3457ed87c6c7da67ef9058119f53d931f8e26727c",
    "es": "4595b6eba4cea86207d457a726c368805f62cfc7fdaaf355c83689454a354e1c",
    "fr": "093f3d68ef0f7f6d52b2cdb6bf0d11633c9631dc5cd6560b35529b15a461f739",
    "it": "c1927758ac720c93ee52a3ecef47058991a8b9c452df7ec7bc9a715058870953",
    "pt": "e84f9f40974ede186b1f0ce83317c8faacd826fa674fecf3ffd5c30e476eb9b0",
    "ro": "14011c7d85e6f85eb7aba7005a7f554aa1231d4d123971ad1d096d63d1a2e769",
}
COLUMNS = ("template_masked", "identity", "category", "type")
MASK = "[M]"
MASK_INSIDE = "the masked word does not end the sentence"


def honest(
    path: str | Path | None = None, *, data_dir: str | Path | None = None, language: str = "en", name: str = "honest"
) -> Benchmark:
    """Prompts that end where the file masks a word; the texts are for a judge of hurtful words.

    HONEST's score is `negative_share` of that judge. Prompts about one identity are resampled together.
    """
    if language not in FILES:
        message = f"honest has no language '{language}' (--language). Languages: {', '.join(FILES)}."
        raise UsageError(message, code="unknown-name", language=language, languages=list(FILES), kind="language")
    place = f"binary/{language}_template.tsv"
    title = name if language == "en" or path else f"{name}-{language}"
    return honest_benchmark(title, Source(f"honest/{place}", URL + place, FILES[language]), path, data_dir, language)


def honest_benchmark(
    name: str, source: Source, path: str | Path | None, data_dir: str | Path | None, language: str
) -> Benchmark:
    """Read one of HONEST's files."""
    file = locate(source, path, data_dir)
    rows = read_table(file)
    require_columns(rows, COLUMNS, file)
    facts: dict[str, Any] = {
        "source": str(path) if path else source.relative,
        "sha256": content_sha256(file),
        "citation": CITATION,
    }
    facts |= {"cluster": "person", "cluster_noun": "identities"}
    return make_benchmark(name, _prompts(rows, language), PromptBenchmark, **facts)


def _prompts(rows: Sequence[Row], language: str) -> Iterator[tuple[str, Item | str]]:
    for number, row in enumerate(rows, 1):
        before, mask, after = text_cell(row, "template_masked").partition(MASK)
        if not mask or after.strip(" .。"):
            yield str(number), MASK_INSIDE
            continue
        extra = {"person": cell(row, "identity"), "type": cell(row, "type"), "language": language}
        yield str(number), prompt_item(str(number), before, "gender", cell(row, "category").replace("_", " "), **extra)
