"""Texts that were written elsewhere, by a hosted model or in a colleague's run: imported and judged as our own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tiltmeter.benchmarks import Benchmark
from tiltmeter.benchmarks.kit.items import Item, make_benchmark
from tiltmeter.benchmarks.kit.prompts import PROMPT, PromptBenchmark
from tiltmeter.benchmarks.prompts import FIELDS, prompt_rows
from tiltmeter.errors import InputError, TiltmeterError
from tiltmeter.families.generations.ask import judged_answers, texts_table
from tiltmeter.families.generations.generate import TEXTS
from tiltmeter.families.generations.options import Options
from tiltmeter.families.generations.states import reason_of
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.refusals import NotOursError
from tiltmeter.storage.compression import content_sha256, title_of
from tiltmeter.storage.tables import Row, cell, field_columns, read_table, text_cell

OURS = (*FIELDS, "text", "sample", "model", "temperature", "chat")
CHAT = {"": None, "true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
"""Values of a column that says if a text is from a chat. Empty: unknown."""


def published(
    path: str | Path,
    *,
    model: str | None = None,
    scorer: str = "imported",
    benchmark: object = None,
    data_dir: object = None,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    judges: Sequence[str] = (),
) -> Answers:
    """Read a table with prompt and text (the continuation, with or without the prompt).

    Optional columns: group, domain, set, id, sample, model, temperature and chat. `scorer`, `benchmark` and `data_dir`
    apply to scores and are ignored here.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"There is no file {file}.", code="missing-file", file=file)
    mapping = {name: name for name in OURS} | dict(columns or {})
    try:
        rows = read_table(file, encoding)
    except TiltmeterError as error:
        raise NotOursError(str(error), code=error.code, **error.fields) from None
    if not {mapping["prompt"], mapping["text"]} <= set(rows[0]):
        raise NotOursError(
            f"{file} has no columns {mapping['prompt']} and {mapping['text']}, as written texts have.",
            code="missing-column", file=file, columns=[mapping["prompt"], mapping["text"]],
        )  # fmt: skip
    field_columns(columns, OURS, "written texts")
    options = Options(judges=tuple(judges)) if judges else Options()
    imported = {"file": str(file), "sha256": content_sha256(file)}
    bench, said = _read(rows, mapping, file)
    names = list(dict.fromkeys(str(row["model"]) for row in said if row["model"])) or [model or file.stem]
    parts = [_answers(bench, [row for row in said if row["model"] in ("", name)], name, options, imported) for name in names]
    return Answers.concat(parts)


def _read(rows: Sequence[Row], mapping: Mapping[str, str], file: Path) -> tuple[Benchmark, list[dict[str, Any]]]:
    """Every prompt once, and every text with the item that it is about."""
    items: dict[tuple[str, ...], tuple[str, Item | str]] = {}
    said = []
    drawn = {field: mapping[field] for field in FIELDS}
    plain = [{name: row.get(name) for name in drawn.values() if row.get(name) is not None} for row in rows]
    for number, (row, (label, item)) in enumerate(zip(rows, prompt_rows(plain, drawn, str(file)), strict=True), 1):
        where = f"{file}, row {number}"
        named = cell(row, mapping["id"], where) if mapping["id"] in row else ""
        key = (named,) if named else _content(item)
        known = items.setdefault(key, (label, item))[1]
        if isinstance(known, str):
            continue
        text = text_cell(row, mapping["text"], where)
        text = text[len(known.texts[PROMPT]) :] if text.startswith(known.texts[PROMPT]) else text
        model = cell(row, mapping["model"], where) if mapping["model"] in row else ""
        heat = cell(row, mapping["temperature"], where) if mapping["temperature"] in row else ""
        chat = _is_chat(cell(row, mapping["chat"], where), where)
        said.append({"item": known.id, "text": text, "model": model, "temperature": _number(heat, where), "chat": chat})
    bench = make_benchmark(
        title_of(file), list(items.values()), PromptBenchmark, source=str(file), sha256=content_sha256(file)
    )
    return bench, said


def _content(item: Item | str) -> tuple[str, ...]:
    return (item,) if isinstance(item, str) else (item.texts[PROMPT], item.bias_type, str(item.target))


def _number(text: str, where: str) -> float:
    try:
        return float(text) if text else 1.0
    except ValueError:
        raise InputError(
            f"{where}: the temperature '{text}' is not a number.",
            code="wrong-type", column="temperature", where=where, value=text,
        ) from None  # fmt: skip


def _is_chat(text: str, where: str) -> bool | None:
    if text.lower() not in CHAT:
        raise InputError(
            f"{where}: chat is true or false (or yes, no, 1, 0), not '{text}'.",
            code="wrong-type", column="chat", where=where, value=text,
        )  # fmt: skip
    return CHAT[text.lower()]


def _answers(
    bench: Benchmark, said: Sequence[Mapping[str, Any]], model: str, options: Options, imported: dict[str, Any]
) -> Answers:
    table = pa.Table.from_pylist(list(_numbered(said)), schema=TEXTS)
    texts = texts_table(table, model, bench, [row["temperature"] for row in said])
    provenance = {"imported": imported, "model": {"shown_as": model, "weights_sha256": ""}}
    return judged_answers(texts, bench, options, provenance)


def _numbered(said: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Texts of one prompt are its samples, in their order."""
    counts: Counter[tuple[str, float]] = Counter()
    for row in said:
        key = (row["item"], row["temperature"])
        reason = reason_of(row["text"], row["chat"])
        yield {
            "item": row["item"],
            "sample": counts[key],
            "text": row["text"],
            "logprob": None,
            "n_tokens": None,
            "reason": reason,
        }
        counts[key] += 1
