"""CrowS-Pairs (Nangia et al., 2020): 1,508 minimal pairs over nine bias types; and files with the same columns."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.items import CROWS_BIAS_TYPES, Benchmark, Item, Note, encoding_notes, make_benchmark
from tiltmeter.benchmarks.kit.location import Source, locate
from tiltmeter.benchmarks.pairs import check_fields, table_items
from tiltmeter.errors import UsageError
from tiltmeter.storage.compression import content_sha256
from tiltmeter.storage.tables import read_table, require_columns

SOURCE = Source(
    relative="crows-pairs/crows_pairs_anonymized.csv",
    url="https://raw.githubusercontent.com/nyu-mll/crows-pairs/"
    "8aaac11c485473159ec9328a65253a5be9a479dc/data/crows_pairs_anonymized.csv",
    sha256="dfb36986ce0502abbaf7055b9176da3d08d48e07df1251991b5dfbcbceab9d0c",
)
VARIANTS = "https://raw.githubusercontent.com/"
LANGUAGES = {
    "fr": Source(
        "crows-pairs-variants/dutch-crows/crows_french.csv",
        f"{VARIANTS}jerryspan/Dutch-CrowS-Pairs/7cf51965b4818a717d22068477fba951bca1eb90/datasets/crows_french.csv",
        "7fc34d474623cec3f88544d88156212780ee65f408666463c8d7a833ad5efe83",
    ),
    "nl": Source(
        "crows-pairs-variants/dutch-crows/crows_dutch.csv",
        f"{VARIANTS}jerryspan/Dutch-CrowS-Pairs/7cf51965b4818a717d22068477fba951bca1eb90/datasets/crows_dutch.csv",
        "07b9b562e947e782a0409ebac85b28b417838cf2d33c2f7f2a13766b431ddf35",
    ),
    "it": Source(
        "crows-pairs-variants/maveriq/cp_it.csv",
        f"{VARIANTS}MaveriQ/crows-pairs/38891c17cc9878b55a81048f718cee6a60ee7145/cp_it.csv",
        "a9780789a3e88ffb0d32b0d4610134c195bb195e623df689c2185cfd268ff8b7",
    ),
    "ja": Source(
        "crows-pairs-variants/kaneko-multilingual/japanese.json",
        f"{VARIANTS}kanekomasahiro/bias_eval_in_multiple_mlm/bb2f2c718d17f41444112b4191e46fd8d436a141/"
        "translated_data/japanese.json",
        "711522cd8939a0ca5660bff0a1d1aa7993611e747bfe512a1ae39465fa277e5d",
    ),
    "ru": Source(
        "crows-pairs-variants/kaneko-multilingual/russian.json",
        f"{VARIANTS}kanekomasahiro/bias_eval_in_multiple_mlm/bb2f2c718d17f41444112b4191e46fd8d436a141/"
        "translated_data/russian.json",
        "1868e02a6088b8a6e8360b51c42e0c916a356879185df4b79108e3f453e8441c",
    ),
}
"""Translations: French and Dutch of all nine bias types, Italian, Japanese and Russian of gender alone."""
CITATIONS = {
    "fr": "Névéol et al. (2022), French CrowS-Pairs, ACL. Licence: CC BY-SA 4.0.",
    "nl": "Spanakis et al., Dutch CrowS-Pairs. Licence: CC0 1.0 by its authors; its source is CC BY-SA 4.0.",
    "it": "github.com/MaveriQ/crows-pairs (gender, Italian); derived from CC BY-SA 4.0 data.",
    "ja": "Kaneko et al. (2022), Gender bias in masked language models for multiple languages, NAACL. Licence: MIT.",
    "ru": "Kaneko et al. (2022), Gender bias in masked language models for multiple languages, NAACL. Licence: MIT.",
}
CITATION = "Nangia, Vania, Bhalerao and Bowman (2020), CrowS-Pairs, EMNLP. Licence: CC BY-SA 4.0."
COLUMNS = {
    "id": "id", "stereo": "sent_more", "anti": "sent_less", "unrelated": "unrelated", "bias_type": "bias_type",
    "direction": "stereo_antistereo", "target": "target", "context": "context",
}  # fmt: skip
KANEKO = {"stereo": "stereotype", "anti": "anti-stereotype", "direction": "direction"}
"""Columns of the Japanese and the Russian file."""
ENGLISH = "en"


def crows_pairs(
    path: str | Path | None = None,
    *,
    data_dir: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    language: str | None = None,
    name: str = "crows-pairs",
) -> Benchmark:
    """The original CSV, or any file with sent_more and sent_less (revised, French, Dutch, … versions).

    `language`: a translation (fr, nl, it, ja, ru); every item has its language as a column.
    """
    check_fields(columns)
    source = _source(language)
    file = locate(source, path, data_dir)
    rows = read_table(file, encoding)
    mapping = COLUMNS | ({} if "sent_more" in rows[0] or columns else KANEKO) | dict(columns or {})
    if "id" not in (columns or {}) and "id" not in rows[0] and "index" in rows[0]:
        mapping["id"] = "index"
    require_columns(rows, [mapping["stereo"], mapping["anti"]], file)
    items = [(label, _with_annotations(item)) for label, item in table_items(rows, mapping, str(file))]
    if path is None:
        items = [(label, _with_language(item, language or ENGLISH)) for label, item in items]
    return make_benchmark(
        f"{name}-{language}" if language not in (None, ENGLISH) and path is None else name,
        items,
        source=str(path) if path else source.relative,
        sha256=content_sha256(file),
        citation=CITATIONS.get(language or ENGLISH, CITATION),
        notes=(*encoding_notes(file, encoding), *type_notes(items)),
    )


def _source(language: str | None) -> Source:
    if language in (None, ENGLISH):
        return SOURCE
    if language not in LANGUAGES:
        known = (ENGLISH, *LANGUAGES)
        message = f"crows-pairs has no language '{language}' (--language). Languages: {', '.join(known)}."
        raise UsageError(message, code="unknown-name", language=language, languages=list(known), kind="language")
    return LANGUAGES[str(language)]


def _with_language(item: Item | str, language: str) -> Item | str:
    return item if isinstance(item, str) else replace(item, extra={**item.extra, "language": language})


def _with_annotations(item: Item | str) -> Item | str:
    """The annotators' lists are written as Python literals in the CSV; they become real lists."""
    if isinstance(item, str):
        return item
    return replace(item, extra={key: _literal(value) for key, value in item.extra.items()})


def _literal(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("["):
        try:
            read = ast.literal_eval(value)
            json.dumps(read, allow_nan=False)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            return value
        return read
    return value


def type_notes(rows: Iterable[tuple[str, Item | str]]) -> Iterator[Note]:
    """Rows whose bias type CrowS-Pairs does not have."""
    for label, item in rows:
        if isinstance(item, Item) and item.bias_type not in CROWS_BIAS_TYPES:
            yield Note(label, f"kept: bias type '{item.bias_type}' is not one of the nine of CrowS-Pairs")
