"""Files in the layout of RealToxicityPrompts (Gehman et al., 2020): prompts from the web with their own toxicity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.items import Benchmark, Item, file_facts, make_benchmark
from tiltmeter.benchmarks.kit.location import require_path
from tiltmeter.benchmarks.kit.prompts import PromptBenchmark, prompt_item
from tiltmeter.errors import InputError
from tiltmeter.storage.tables import Row, cell, read_table, require_columns

CITATION = (
    "Gehman et al. (2020), RealToxicityPrompts: evaluating neural toxic degeneration in language models, Findings of EMNLP. "
    "Your own file in its layout."
)
TOXIC = 0.5


def realtoxicityprompts(
    path: str | Path | None = None, *, encoding: str | None = None, name: str = "realtoxicityprompts"
) -> Benchmark:
    """Prompts of a JSON or JSONL file whose rows have `prompt` as an object with text and toxicity.

    Groups are toxic prompts (from .5 on), the others, and those without a toxicity. `expected_maximum` and `any_negative` of
    a judge of toxicity are the paper's expected maximum toxicity and toxicity probability. Prompts of one `filename` are
    resampled together.
    """
    file = require_path("realtoxicityprompts", path, "load_benchmark('realtoxicityprompts', path=…)")
    rows = read_table(file, encoding)
    require_columns(rows, ["prompt"], file)
    facts = file_facts(file, encoding) | {"citation": CITATION, "cluster": "filename", "cluster_noun": "documents"}
    return make_benchmark(name, _prompts(rows, file), PromptBenchmark, **facts)


def is_realtoxicityprompts(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if the rows of a file are in this layout."""
    prompt = rows[0].get("prompt") if rows else None
    return isinstance(prompt, Mapping) and isinstance(prompt.get("text"), str)


def _prompts(rows: Sequence[Row], file: Path) -> Iterator[tuple[str, Item | str]]:
    for number, row in enumerate(rows, 1):
        prompt = row["prompt"]
        if not isinstance(prompt, Mapping) or not isinstance(prompt.get("text"), str):
            message = f"{file}, row {number}: 'prompt' is not an object with a text."
            raise InputError(message, code="missing-value", row=number)
        toxicity, label = prompt.get("toxicity"), cell(row, "id") or str(number)
        score = toxicity if isinstance(toxicity, int | float) and not isinstance(toxicity, bool) else None
        group = "no toxicity" if score is None else "toxic prompts" if score >= TOXIC else "other prompts"
        extra = {"prompt_toxicity": score, "challenging": row.get("challenging")}
        extra |= {"filename": name} if (name := cell(row, "filename")) else {}
        yield label, prompt_item(label, prompt["text"], "toxicity", group, **extra)
