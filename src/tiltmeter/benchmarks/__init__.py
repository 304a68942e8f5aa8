"""Benchmarks: a file, a download or our own data, made into items. One file each; `load_benchmark` finds them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiltmeter import catalog
from tiltmeter.benchmarks.kit.association import AssociationBenchmark
from tiltmeter.benchmarks.kit.items import GROUP_COLUMNS, ROLES, Benchmark, Item, Note
from tiltmeter.benchmarks.kit.labelled import LabelledBenchmark, is_labelled
from tiltmeter.benchmarks.kit.slots import SlotBenchmark
from tiltmeter.benchmarks.realtoxicityprompts import is_realtoxicityprompts
from tiltmeter.errors import UsageError
from tiltmeter.storage.compression import is_file
from tiltmeter.storage.keywords import Translation, accept_old_keywords

__all__ = [
    "GROUP_COLUMNS", "ROLES", "AssociationBenchmark", "Benchmark", "Item", "LabelledBenchmark", "Note", "SlotBenchmark",
    "load_benchmark",
]  # fmt: skip
COLUMNS = {"text", "prompt", "stereo", "anti", "sent_more", "sent_less"}
"""Endings and signs that distinguish a table from plain text."""


def _translate(_: tuple[Any, ...], present: Mapping[str, Any], old: Mapping[str, Any]) -> Translation:
    """Keywords of benchmarks of other packages."""
    if not old:
        return Translation(present)
    arguments = {**(present.get("arguments") or {}), **old}
    return Translation({**present, "arguments": arguments}, "arguments={…}")


@accept_old_keywords(_translate)
def load_benchmark(  # noqa: PLR0913 (what benchmarks take, by name)
    name_or_path: str | Path,
    *,
    path: str | Path | None = None,
    data_dir: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    limit: int | None = None,
    groups: str | Sequence[str] = (),
    terms: str | Path | None = None,
    words: str | Path | None = None,
    stand_ins: bool = False,
    train_on: str | None = None,
    toxic_labels: Sequence[str] = (),
    group_rule: str | None = None,
    evaluate: str | None = None,
    category: str | Sequence[str] = (),
    language: str | None = None,
    template: str | None = None,
    arguments: Mapping[str, Any] | None = None,
    offered: Mapping[str, Any] | None = None,
) -> Benchmark:
    """A benchmark by name (`crows-pairs`, `stereoset`, …) or your own file: pairs, questions, labelled text, slots, prompts.

    A file with sent_more and sent_less columns is read as CrowS-Pairs, JSON in StereoSet's layout as StereoSet, one with
    question and answer_1 columns as `choices`, one with text and label columns and no mask as `labels`, one with a prompt
    column as `prompts` (or `realtoxicityprompts`, where it holds objects), one with a text column as `slots` (whose groups
    of words are in the file `terms`), a .txt of plain lines as `heldout`, anything else as `pairs`, with `columns` mapping
    our field names to yours.

    Args:
        name_or_path: A name, or your own file.
        path: The file of a benchmark that is read by name.
        data_dir: The folder with the datasets.
        columns: Our field names → your column names.
        encoding: Encoding of your file.
        limit: Only the first items.
        groups: Only items about these groups.
        terms: slots: words of each group that fill slots.
        words: ceat, ilps: your own word sets.
        stand_ins: stereoset: count some targets for groups that they stand for, as Cao et al. do.
        train_on: labels: learn from the training texts of another benchmark.
        toxic_labels: labels: those that mean toxic.
        group_rule: hatexplain: when a text names a group.
        evaluate: labels: the split that is judged.
        category: bbq, esbbq, cabbq, plumb-choices: only these categories.
        language: crows-pairs, bec-pro, honest: the language, if not English.
        template: gest: the sentence around each stereotype.
        arguments: Arguments of a benchmark of another package.
        offered: Further arguments, used by the benchmarks that take them.

    Returns:
        The benchmark, with its items, notes about skipped rows, and a citation.

    Raises:
        UsageError: The name is unknown, or an argument does not apply to the benchmark.
        InputError: The file is missing, empty, or of the wrong format.

    Example:
        >>> benchmark = load_benchmark("plumb-pairs", limit=3)
        >>> benchmark.family, len(benchmark), sorted(benchmark.items[0].texts)
        ('pairs', 3, ['anti', 'stereo', 'unrelated'])
    """
    name = catalog.name_of("benchmarks", str(name_or_path))
    passed: dict[str, Any] = {"path": path, "terms": terms, "words": words, "stand_ins": stand_ins, "train_on": train_on}
    passed |= {"category": category, "language": language, "template": template}
    passed |= {"toxic_labels": tuple(toxic_labels), "group_rule": group_rule, "evaluate": evaluate, **(arguments or {})}
    passed |= {"data_dir": data_dir, "columns": columns, "encoding": encoding}
    if name.replace("-", "_") not in catalog.names("benchmarks"):
        passed["path"], name = Path(name_or_path), _kind_of_file(Path(name_or_path), encoding, columns)
    entry = catalog.find("benchmarks", name)
    if passed.get("path") is not None and name != "stereoset":
        from tiltmeter.storage.compression import title_of

        passed["name"] = title_of(Path(passed["path"]))
    allowed = inspect.signature(entry.function).parameters
    refused = [key for key, value in passed.items() if value and key not in allowed and key not in ("data_dir", "name")]
    if refused:
        raise UsageError(
            f"The benchmark '{name}' takes no {', '.join(refused)}.",
            code="inapplicable-option",
            benchmark=name,
            options=list(refused),
        )
    options = dict(offered or {})
    if not any(key in allowed and is_file(Path(value)) for key, value in options.items() if isinstance(value, str | Path)):
        options.pop("encoding", None)  # it is about files of the user's, and none is read
    options |= {key: value for key, value in passed.items() if value}
    loaded: Benchmark = entry.function(**{key: value for key, value in options.items() if key in allowed and value})
    return loaded.only_groups([groups] if isinstance(groups, str) else groups).limit(limit)


def _kind_of_file(path: Path, encoding: str | None, columns: Mapping[str, str] | None) -> str:
    from tiltmeter.storage.compression import is_there
    from tiltmeter.storage.tables import decode, layout_of, parse_table, read_bytes

    if not is_there(path):
        meant, known = catalog.meant("benchmarks", str(path)), catalog.known_names("benchmarks")
        raise UsageError(
            f"'{path}' is neither a file nor a benchmark.{meant} {known}",
            code="unknown-name",
            kind="benchmark",
            name=str(path),
        )
    text = decode(read_bytes(path), path, encoding)
    if layout_of(text, path) == "json" and '"intrasentence"' in text:
        return "stereoset"
    if '"targ1"' in text and '"attr1"' in text and '"tests"' not in text:  # one JSON document, though called .jsonl
        return "seat"
    if not columns and _is_plain_text(text, path):
        return "heldout"
    return _kind_of_table(parse_table(text, path), columns)


def _kind_of_table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str] | None) -> str:
    """By the columns that the rows have, or that the user names."""
    if {"question", "answer_1"} <= {*(rows[0] if rows else ()), *(columns or ())}:
        return "choices"
    if is_labelled(rows, columns):
        return "labels"
    own = set(rows[0]) if not columns and not {"stereo", "sent_more"} & set(rows[0]) else set(columns or {})
    if "prompt" in own:
        return "realtoxicityprompts" if is_realtoxicityprompts(rows) else "prompts"
    if "text" in own:
        return "slots"
    looks_like_crows = bool(rows) and {"sent_more", "sent_less"} <= set(rows[0]) and not columns
    return "crows_pairs" if looks_like_crows else "pairs"


def _is_plain_text(text: str, path: Path) -> bool:
    """A .txt, unless its first line names the columns of a table."""
    from tiltmeter.storage.compression import plain_path
    from tiltmeter.storage.tables import SEPARATORS

    cells = re.split(f"[{re.escape(SEPARATORS)}]", text.lstrip().split("\n", 1)[0])
    return plain_path(path).suffix.lower() == ".txt" and not COLUMNS & {cell.strip().strip('"') for cell in cells}
