"""StereoSet (Nadeem et al., 2021): contexts with a BLANK and three fills: stereotype, anti-stereotype, unrelated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.items import Benchmark, Item, encoding_notes, make_benchmark
from tiltmeter.benchmarks.kit.location import Source, locate
from tiltmeter.benchmarks.pairs import bias_type_name
from tiltmeter.errors import InputError
from tiltmeter.storage.compression import content_sha256
from tiltmeter.storage.strict_json import parse_json
from tiltmeter.storage.tables import cell, decode, read_bytes, text_cell

SOURCE = Source(
    relative="stereoset/dev.json",
    url="https://raw.githubusercontent.com/moinnadeem/StereoSet/ead7d086a64a192a1eca88e0dd2fd163de375218/data/dev.json",
    # as recorded by the Hugging Face `datasets` project (12,502,245 bytes)
    sha256="73a0f31b711688112602e4c3ac6ab1e1a7cadcdd67df6c6fd55501c889676c90",
)
CITATION = "Nadeem, Bethke and Reddy (2021), StereoSet, ACL. Licence: CC BY-SA 4.0."
GROUP_OF_TARGET = {
    "african": "Black", "bible": "Christian",
    "eriteria": "Eritrea", "norweigan": "Norwegian", "sierra leon": "Sierra Leone", "columbian": "Colombian",
}  # fmt: skip
"""Two targets that Cao et al. (2022, Table 4) list by another name; four that are misspelt in the data."""
STAND_INS = {"japanese": "Asian", "britain": "White"}
"""Targets that Cao et al. (2022, footnote 9) use for groups that StereoSet lacks, where groups have to be the same."""
TWICE = "two sentences have the label of '{}'"
ROLE_OF_LABEL = {"stereotype": "stereo", "anti-stereotype": "anti", "unrelated": "unrelated"}


def stereoset(
    path: str | Path | None = None,
    *,
    data_dir: str | Path | None = None,
    encoding: str | None = None,
    stand_ins: bool = False,
) -> Benchmark:
    """The development set: intrasentence items are scored, intersentence items are loaded only.

    `stand_ins`: Japanese stands for the group Asian and Britain for White.
    """
    file = locate(SOURCE, path, data_dir)
    text = decode(read_bytes(file), file, encoding)
    return make_benchmark(
        "stereoset",
        _items(_parts(text, file), str(file), STAND_INS if stand_ins else {}),
        source=str(path) if path else SOURCE.relative,
        sha256=content_sha256(file),
        citation=CITATION,
        notes=encoding_notes(file, encoding),
        cluster="target",
        cluster_noun="targets",
    )


def _parts(text: str, path: Path) -> Mapping[str, list[dict[str, Any]]]:
    document = parse_json(text, str(path))
    if isinstance(document, list):  # some redistributions hold the intrasentence list alone
        document = {"data": {"intrasentence": document}}
    parts = document.get("data") if isinstance(document, dict) else None
    if not isinstance(parts, dict) or not isinstance(parts.get("intrasentence"), list):
        raise InputError(
            f"{path} is not in StereoSet's layout: data → intrasentence is missing.",
            code="wrong-format",
            file=str(path),
            layout="StereoSet",
            part="intrasentence",
        )
    if not _are_objects(parts.get("intersentence") or []):
        raise InputError(
            f"{path} is not in StereoSet's layout: data → intersentence is not a list of JSON objects.",
            code="wrong-format",
            file=str(path),
            layout="StereoSet",
            part="intersentence",
        )
    rows = [row for part in ("intrasentence", "intersentence") for row in parts.get(part) or []]
    if not all(isinstance(row, dict) and _are_objects(row.get("sentences") or []) for row in rows):
        raise InputError(
            f"{path} is not in StereoSet's layout: an item or a sentence is not a JSON object.",
            code="wrong-format",
            file=str(path),
            layout="StereoSet",
            part="item",
        )
    return parts


def _are_objects(rows: Any) -> bool:
    return isinstance(rows, list) and all(isinstance(row, dict) for row in rows)


def _items(
    parts: Mapping[str, list[dict[str, Any]]], source: str, others: Mapping[str, str]
) -> Iterator[tuple[str, Item | str]]:
    for part in ("intrasentence", "intersentence"):
        for number, row in enumerate(parts.get(part) or [], 1):
            where = f"{source}, {part} {number}"
            identity = cell(row, "id", where) or "?"
            yield identity, _item(row, identity, part, where, others)


def _item(row: Mapping[str, Any], identity: str, part: str, where: str, others: Mapping[str, str]) -> Item | str:
    sentences = row.get("sentences") or []
    labelled = [(ROLE_OF_LABEL.get(cell(sentence, "gold_label", where)), sentence) for sentence in sentences]
    twice = [role for role, n in Counter(role for role, _ in labelled if role).items() if n > 1]
    if twice:
        return TWICE.format(twice[0])
    by_role = dict(labelled)
    texts = {role: text_cell(by_role[role], "sentence", where) for role in by_role if role}
    if not {"stereo", "anti"} <= set(texts) or not all(map(str.strip, texts.values())):
        return "a stereotype or anti-stereotype sentence is missing or empty"
    context, target = text_cell(row, "context", where), text_cell(row, "target", where)
    if part == "intrasentence" and "BLANK" not in context:
        return "the context has no BLANK"
    return Item(
        id=identity,
        texts=texts,
        bias_type=bias_type_name(cell(row, "bias_type", where)),
        target=target or None,
        context=context or None,
        scored=part == "intrasentence",
        extra={"part": part, "group": protected_group(target or None, others)}
        | {f"{role}_id": by_role[role].get("id") for role in texts},
    )


def protected_group(target: str | None, others: Mapping[str, str] | None = None) -> str | None:
    """The protected group that a target is about: itself, unless Cao et al. name it otherwise, or it stands for another.

    >>> protected_group("Norweigan"), protected_group("Japanese"), protected_group("Japanese", STAND_INS)
    ('Norwegian', 'Japanese', 'Asian')
    """
    if target is None:
        return None
    name = str(target).strip()
    return (GROUP_OF_TARGET | dict(others or {})).get(name.lower(), name)
