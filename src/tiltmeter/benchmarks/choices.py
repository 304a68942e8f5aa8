"""Your own questions with choices: a CSV, TSV, JSON or JSONL file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tiltmeter.benchmarks.kit.choices import (
    CONDITIONS,
    MOST_ANSWERS,
    Choice,
    ChoiceBenchmark,
    answer_role,
    choice_item,
)  # fmt: skip
from tiltmeter.benchmarks.kit.items import Benchmark, Item, file_facts, make_benchmark
from tiltmeter.benchmarks.kit.location import require_path
from tiltmeter.benchmarks.pairs import bias_type_name
from tiltmeter.errors import InputError
from tiltmeter.storage.tables import TOO_MANY, Row, cell, field_columns, read_table, require_columns, text_cell

CITATION = "Your own file."
ANSWERS = tuple(answer_role(n) for n in range(MOST_ANSWERS))
FIELDS = (
    "id", "context", "question", *ANSWERS, "right", "unknown", "stereotyped", "condition", "polarity", "template",
    "category", "group", "language",
)  # fmt: skip
NEEDED = ("question", "answer_1", "answer_2", "right", "unknown", "condition", "template")


def choices(
    path: str | Path | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    name: str = "choices",
) -> Benchmark:
    """Read questions from a table.

    Columns: question, answer_1 to answer_6, `right`, `unknown` and `stereotyped` (numbers of answers from 1; `stereotyped`
    may be empty), `condition` (ambiguous or disambiguated), `template` (questions of one template are resampled together);
    context, polarity, category, group, language and id if you have them. `columns` maps these names to the file's.
    """
    file = require_path("choices", path, "-b path/to/questions.csv")
    mapping = field_columns(columns, FIELDS, "choices")
    rows = read_table(file, encoding)
    require_columns(rows, [mapping[field] for field in NEEDED], file)
    languages = {cell(row, mapping["language"], "") for row in rows} - {""}
    if len(languages) > 1:
        raise InputError(
            f"{file} mixes the languages {', '.join(sorted(languages))}. Give one file for each.",
            code="ambiguous-name",
            file=str(file),
            languages=sorted(languages),
        )
    facts = file_facts(file, encoding)
    made = make_benchmark(
        name,
        _rows(rows, mapping, str(file)),
        ChoiceBenchmark,
        citation=CITATION,
        language=next(iter(languages), "en"),
        **facts,
    )
    return made


def _rows(rows: Sequence[Row], columns: Mapping[str, str], source: str) -> Iterator[tuple[str, Item | str]]:
    for number, row in enumerate(rows, 1):
        where = f"{source}, row {number}"
        identity = cell(row, columns["id"], where) or str(number)
        if TOO_MANY in row:
            yield identity, "more cells than the header has (a separator inside a text needs quotes)"
            continue
        yield identity, _item(identity, row, columns, where)


def _item(identity: str, row: Row, columns: Mapping[str, str], where: str) -> Item | str:
    answers = [text_cell(row, columns[role], where).strip() for role in ANSWERS]
    while answers and not answers[-1]:  # one that is empty before others keeps its number
        answers.pop()
    beyond = [name for name in row if name not in columns.values() and re.fullmatch(r"answer_\d+", str(name))]
    if any(cell(row, name, where) for name in beyond):
        return f"more than {MOST_ANSWERS} answers"
    texts = {name: cell(row, columns[name], where) for name in ("right", "unknown", "stereotyped")}
    numbers = {name: _number(text) for name, text in texts.items()}
    if numbers["right"] is None or numbers["unknown"] is None:
        return "'right' or 'unknown' is not the number of an answer"
    if texts["stereotyped"].strip() and numbers["stereotyped"] is None:
        return "'stereotyped' is neither empty nor the number of an answer"
    condition = cell(row, columns["condition"], where).casefold()
    choice = Choice(
        context=text_cell(row, columns["context"], where),
        question=text_cell(row, columns["question"], where),
        answers=tuple(answers),
        right=numbers["right"],
        unknown=numbers["unknown"],
        stereotyped=numbers["stereotyped"],
        condition=CONDITIONS.get(condition, condition),
        template=cell(row, columns["template"], where) or identity,
        polarity=cell(row, columns["polarity"], where),
        stereotyped_group=cell(row, columns["group"], where) or None,
        category=bias_type_name(cell(row, columns["category"], where)),
    )
    return choice_item(identity, choice)


def _number(text: str) -> int | None:
    """Read the number of an answer, which counts from 1 in files and from 0 here.

    >>> _number("1"), _number(""), _number("x")
    (0, None, None)
    """
    return int(text) - 1 if text.strip().isdigit() else None
