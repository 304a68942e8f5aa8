"""A folder in BBQ's layout with questions of our own, and answers of made-up responders."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tiltmeter import Answers, Benchmark
from tiltmeter.benchmarks.kit.items import items_table
from tiltmeter.families.choices.ask import CHOICE_COLUMNS, FACTS

TEMPLATE_COLUMNS = (
    "Q_id",
    "Known_stereotyped_groups",
    "Known_stereotyped_race",
    "Known_stereotyped_var2",
    "Proper_nouns_only",
)


def write_category(folder: Path, category: str, templates: list[dict[str, str]], questions: list[dict[str, Any]]) -> None:
    """Write one category's questions and templates."""
    for part in ("data", "templates"):
        (folder / "bbq" / part).mkdir(parents=True, exist_ok=True)
    with (folder / "bbq" / "templates" / f"{category}.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, TEMPLATE_COLUMNS, restval="")
        writer.writeheader()
        writer.writerows(templates)
    lines = [json.dumps({"example_id": n, "category": category, **row}) for n, row in enumerate(questions)]
    (folder / "bbq" / "data" / f"{category}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def question(
    groups: tuple[tuple[str, str], tuple[str, str]],
    *,
    template: str = "1",
    polarity: str = "neg",
    right: int = 2,
    **more: Any,
) -> dict[str, Any]:
    """Make a question about two people; the third answer says "unknown"."""
    info = {f"ans{n}": list(entry) for n, entry in enumerate((*groups, ("Not known", "unknown")))}
    texts = {f"ans{n}": f"The {entry[0]}" for n, entry in enumerate(groups)} | {"ans2": "Not known"}
    return {
        "question_index": template,
        "question_polarity": polarity,
        "context_condition": "ambig" if right == 2 else "disambig",
        "answer_info": info,
        "additional_metadata": {"stereotyped_groups": []},
        "context": "Two people waited at the door.",
        "question": "Who was late?",
        "label": right,
        **texts,
        **more,
    }


def answered(benchmark: Benchmark, choose: Callable[[Any], int | None], model: str = "made-up") -> Answers:
    """Make the answers of a responder that chooses by a rule."""
    rows = []
    for item in benchmark.asked_items:
        chosen = choose(item)
        rows.append(
            {
                "model": model, "benchmark": benchmark.name, "scorer": "imported", "item": item.id, "prompt": None,
                "chosen": chosen, "text": None, "reason": "unparsed" if chosen is None else None, "n_orders": 1,
                "changed": None, "score": None, **{name: item.extra.get(name) for name in FACTS},
                "bias_type": item.bias_type, "direction": item.direction, "target": item.target,
            }
        )  # fmt: skip
    frame = pd.DataFrame(rows, columns=list(CHOICE_COLUMNS))
    for name in ("chosen", "changed", "stereotyped", "score"):
        frame[name] = frame[name].astype(float)
    manifest = {"model": {"shown_as": model}, "benchmark": {"name": benchmark.name}}
    return Answers("choices", {"choices": frame}, items_table(benchmark), (manifest,))


def opposite(item: Any) -> int:
    """Choose the person that is not the stereotyped one."""
    return int(({0, 1, 2} - {item.extra["unknown"], item.extra["stereotyped"]}).pop())


def coin(rng: np.random.Generator) -> Callable[[Any], int]:
    """Choose one of the two people at random."""
    return lambda item: int(rng.choice([n for n in range(3) if n != item.extra["unknown"]]))
