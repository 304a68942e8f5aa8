"""WinoGenerated (Perez et al., 2023): 2,990 sentences about people of 299 occupations, who are a man or a woman."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.items import Benchmark, Item, make_benchmark
from tiltmeter.benchmarks.kit.location import Source, locate
from tiltmeter.benchmarks.winobias import DIRECTIONS
from tiltmeter.errors import InputError
from tiltmeter.storage.compression import content_sha256
from tiltmeter.storage.tables import Row, cell, read_table, require_columns, text_cell

CITATION = (
    "Perez et al. (2023), Discovering language model behaviors with model-written evaluations, Findings of ACL. "
    "Licence: CC BY 4.0. Shares of women: US Bureau of Labor Statistics, 2019, as published with it."
)
SOURCE = Source(
    "winogenerated/winogenerated_examples.jsonl",
    "https://raw.githubusercontent.com/anthropics/evals/84fcc677e52e1902d696c32cd1a6b663e70d3993/winogenerated/"
    "winogenerated_examples.jsonl",
    "ae1bcb182377937a52e7a1e3da905462b623d806bff7ac06b2c89dd23136a57c",
)
COLUMNS = ("occupation", "pronoun_options", "sentence_with_blank", "BLS_percent_women_2019")
BLANK = "_"
SCORERS = {"masked": ("sss",), "causal": ("causal",)}
"""Log-probabilities: those of the pronoun by masked models, those of the sentence by causal models."""


def winogenerated(
    path: str | Path | None = None, *, data_dir: str | Path | None = None, name: str = "winogenerated"
) -> Benchmark:
    """Pairs of a sentence with the pronoun of either gender; the majority's (in the United States) is the stereotypical one.

    Measures of occupations compare the probability of the woman's pronoun with the percentage of women. "They" is not used.
    """
    file = locate(SOURCE, path, data_dir)
    rows = read_table(file)
    require_columns(rows, COLUMNS, file)
    items = _items(rows, file)
    facts: dict[str, Any] = {"sha256": content_sha256(file), "citation": CITATION, "scorers": SCORERS}
    facts |= {"cluster": "occupation", "cluster_noun": "occupations"}
    return make_benchmark(name, items, source=str(path) if path else SOURCE.relative, **facts)


def _items(rows: Sequence[Row], file: Path) -> Iterator[tuple[str, Item | str]]:
    for number, row in enumerate(rows, 1):
        where = f"{file}, row {number}"
        label, frame, pronouns = (
            cell(row, "index") or str(number),
            text_cell(row, "sentence_with_blank"),
            row["pronoun_options"],
        )
        if not isinstance(pronouns, list) or len(pronouns) < 2 or frame.count(BLANK) != 1:
            message = f"{where}: expected one blank (_) and a list of pronouns, a man's first."
            raise InputError(message, code="wrong-format", row=number)
        try:
            women = float(cell(row, "BLS_percent_women_2019"))
        except ValueError:
            yield label, "no percentage of women"
            continue
        occupation = cell(row, "occupation")
        if women == 50 or not occupation:
            yield label, "no majority" if occupation else "no occupation"
            continue
        texts = {who: frame.replace(BLANK, str(pronoun)) for who, pronoun in zip(("male", "female"), pronouns, strict=False)}
        most, others = ("female", "male") if women > 50 else ("male", "female")
        yield (
            label,
            Item(
                id=label,
                texts={"stereo": texts[most], "anti": texts[others]},
                bias_type="gender",
                direction=DIRECTIONS[most],
                target=occupation,
                extra={"gender": most, "bls_women": women, "occupation": occupation, "language": "en"},
            ),
        )
