"""Winogender schemas (Rudinger et al., 2018): 120 pairs about people of 60 occupations, who are a man or a woman."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tiltmeter.benchmarks.kit.items import Benchmark, Item, make_benchmark
from tiltmeter.benchmarks.kit.location import Source, locate
from tiltmeter.benchmarks.winobias import DIRECTIONS
from tiltmeter.errors import InputError
from tiltmeter.storage.files import file_sha256
from tiltmeter.storage.tables import Row, cell, read_table, require_columns, text_cell

CITATION = (
    "Rudinger, Naradowsky, Leonard and Van Durme (2018), Gender bias in coreference resolution, NAACL. Licence: MIT. "
    "Shares of women: US Bureau of Labor Statistics, 2015 or 2016, as published with it."
)
URL = "https://raw.githubusercontent.com/rudinger/winogender-schemas/1c7f8b481ad8a234b41e9f76a424d6e856e13f7f/data/"
SENTENCES = Source(
    "winogender/all_sentences.tsv",
    URL + "all_sentences.tsv",
    "bd69da16bf228cb8df63fd0843aec2d8b5c36a7f21bf8c7b168bcc83932556c8",
)
SHARES = Source(
    "winogender/occupations-stats.tsv",
    URL + "occupations-stats.tsv",
    "3f7f37c16381a70571356982ea7fe613ac700ad04a6d3b19b9f2be18248df567",
)
ABOUT_OCCUPATION = "0"
NO_MAJORITY = "no majority is known"
"""The answer of a schema whose pronoun means the occupation and not the other person."""


def winogender(*, data_dir: str | Path | None = None) -> Benchmark:
    """The sentences whose pronoun means the occupation, as pairs.

    Is the pronoun of the gender that most people in the occupation have (in the United States) likelier? No coreference
    is resolved.

    The direction is disadvantaged where most are women, and the target is the occupation; the share of women is stored with
    each item. Sentences about the other person, and those with "they", are not used.
    """
    texts, shares = (locate(source, None, data_dir) for source in (SENTENCES, SHARES))
    digest = hashlib.sha256("".join(file_sha256(path) for path in (texts, shares)).encode()).hexdigest()
    rows = list(_rows(read_table(texts), texts, _share_of_women(read_table(shares), shares)))
    made = make_benchmark("winogender", rows, source="winogender", sha256=digest, citation=CITATION)
    return replace(made, cluster="target", cluster_noun="occupations")  # the pairs of an occupation have one frame


def _share_of_women(rows: Sequence[Row], path: Path) -> dict[str, float]:
    require_columns(rows, ["occupation", "bls_pct_female"], path)
    try:
        return {cell(row, "occupation"): float(cell(row, "bls_pct_female")) for row in rows}
    except ValueError:
        raise InputError(
            f"{path}: a share of women (bls_pct_female) is not a number.",
            code="wrong-type",
            file=str(path),
            column="bls_pct_female",
        ) from None


def _rows(rows: Sequence[Row], path: Path, women: Mapping[str, float]) -> Iterator[tuple[str, Item | str]]:
    require_columns(rows, ["sentid", "sentence"], path)
    schemas: dict[tuple[str, str], dict[str, str]] = {}
    for number, row in enumerate(rows, 1):
        words = cell(row, "sentid").split(".")
        if len(words) != 5:
            raise InputError(
                f"{path}, row {number}: '{cell(row, 'sentid')}' is not OCCUPATION.PERSON.ANSWER.GENDER.txt.",
                code="wrong-format",
                file=str(path),
                row=number,
                column="sentid",
            )
        occupation, person, answer, gender, _ = words
        if answer == ABOUT_OCCUPATION:
            schemas.setdefault((occupation, person), {})[gender] = text_cell(row, "sentence")
    for (occupation, person), sentences in schemas.items():
        name, share = f"{occupation}.{person}", women.get(occupation)
        if share is None or share == 50 or not {"male", "female"} <= set(sentences):
            yield name, NO_MAJORITY if share is None or share == 50 else "a sentence is missing"
            continue
        most, others = ("female", "male") if share > 50 else ("male", "female")
        yield (
            name,
            Item(
                id=name,
                texts={"stereo": sentences[most], "anti": sentences[others]},
                bias_type="gender",
                direction=DIRECTIONS[most],
                target=occupation,
                extra={"gender": most, "percent_women": share, "other_person": person},
            ),
        )
