"""Writes docs/run-folder.md from the columns of tables in the code.

`python scripts/run_folder_page.py`; `--check` compares.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from itertools import pairwise

from generated_page import ROOT, write_or_check

from tiltmeter.benchmarks.kit.items import ITEM_COLUMNS
from tiltmeter.stats.estimates import Difference, Estimate
from tiltmeter.storage.provenance import SCHEMA

PAGE = ROOT / "docs" / "run-folder.md"
TABLES = {
    "scores": ("pairs.ask", "SCORE_COLUMNS"),
    "slots": ("slots.ask", "SLOT_COLUMNS"),
    "predictions": ("slots.ask", "PREDICTION_COLUMNS"),
    "associations": ("associations.facts", "COLUMNS"),
    "draws": ("associations.facts", "DRAW_COLUMNS"),
    "labels": ("labels.ask", "COLUMNS"),
    "swaps": ("labels.ask", "SWAP_COLUMNS"),
    "drivers": ("labels.word_attribution", "COLUMNS"),
    "generations": ("generations.ask", "TEXT_COLUMNS"),
    "judgements": ("generations.judging", "JUDGE_COLUMNS"),
    "choices": ("choices.ask", "CHOICE_COLUMNS"),
    "options": ("choices.ask", "OPTION_COLUMNS"),
    "heldout": ("heldout.ask", "COLUMNS"),
}
"""The module of a family that defines a table's columns, and the name of the constant there."""
TYPES = {"str": "text", "int": "integer", "float": "number", "Details": "JSON object"}
HEAD = f"""# Run folder

*Reference · look up. Files, tables and columns of a run folder, and the main keys of its manifest.*

A run folder is written as a whole or not at all. Its schema number is {SCHEMA}: it is raised when an earlier version would
misread a folder. Columns are [kept](extend.md#how-long-an-interface-is-kept) like names of the Python interface; new ones
may be added. Tables are Parquet with one row per fact; `tiltmeter.load_run(FOLDER)` reads them all.

| file | content |
|---|---|
| `estimates.csv`, `estimates.json` | every measure, overall and by group |
| `items.parquet` | the items, with their labels |
| the [tables of families](#tables-of-families) | the answers of the models |
| `observations/MODEL/BENCHMARK/VIEW/` | every token that was read: log-probability, rank, attention |
| `report.html` | the page to read and share, without the network |
| `manifest.json` | [where the numbers come from](#manifest), and a sha256 for each file |
| `check.json` | the last decision of `tiltmeter check`, once there is one |

"""
MANIFEST = """## Manifest

| key | content |
|---|---|
| `status` | finished, or unfinished for a run that was interrupted |
| `schema`, `tiltmeter`, `versions`, `platform` | the layout, and the versions of tiltmeter, Python and libraries |
| `started`, `seconds`, `timings`, `command` | when, how long and how it ran |
| `asked` | what was requested: models, benchmarks, measures, limit, resamples, confidence, seed, options |
| `evaluations` | for each model and benchmark: digests of weights, tokenizer and data, versions, passes |
| `files`, `added` | sha256 of the files of the run, and of those that were written later |
| `run_seal`, `seal` | checksums over the manifest itself |
"""


def attributes(kind: type) -> dict[str, str]:
    """The section Attributes of a docstring: a meaning for each column."""
    text = (inspect.getdoc(kind) or "").partition("Attributes:\n")[2]
    found = re.findall(r"^    (\w+): (.+(?:\n {8}.+)*)", text, re.M)
    return {name: " ".join(meaning.split()) for name, meaning in found}


def rows_of(kind: type) -> Iterator[str]:
    """Rows of the table of columns of a dataclass."""
    about = attributes(kind)
    yield "| column | type | meaning |\n|---|---|---|"
    for column in fields(kind):
        yield f"| `{column.name}` | {TYPES[str(column.type)]} | {about[column.name]} |"


def remark(module: str, constant: str) -> str:
    """The string below a constant in its module."""
    source = inspect.getsource(import_module(module))
    body = ast.parse(source).body
    for node, after in pairwise(body):
        is_it = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == constant
        if is_it and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            return " ".join(str(after.value.value).split())
    raise LookupError(f"{module}.{constant} has no docstring")


def tables() -> Iterator[str]:
    """A row for each table of a family."""
    yield "| table | family | columns | rows |\n|---|---|---|---|"
    for name, (place, constant) in TABLES.items():
        module, family = f"tiltmeter.families.{place}", place.partition(".")[0]
        columns = ", ".join(f"`{column}`" for column in getattr(import_module(module), constant))
        yield f"| `{name}.parquet` | [{family}](families.md#{_anchor(family)}) | {columns} | {remark(module, constant)} |"


def _anchor(family: str) -> str:
    return {"heldout": "held-out-text"}.get(family, family)


def page() -> str:
    """Text of the page."""
    items = ", ".join(f"`{column}`" for column in ITEM_COLUMNS)
    parts = [
        "## Columns of estimates\n", *rows_of(Estimate),
        "\n## Columns of comparisons\n\nOf `tiltmeter compare --json` and `tiltmeter.compare`.\n", *rows_of(Difference),
        f"\n## Items\n\n{items}; other families add the texts of their items.",
        "`extra` is a JSON object with the other columns of your file.",
        "\n## Tables of families\n", *tables(), "",
    ]  # fmt: skip
    return HEAD + "\n".join(parts) + "\n" + MANIFEST


if __name__ == "__main__":
    write_or_check(PAGE, page())
