"""Accuracy of the stereotype judge on the same held-out sentences, by how intersentence items are learned.

python research/stereotype-judge/measure.py DATA OUT.jsonl DEVICE SECONDS
"""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks import load_benchmark
from tiltmeter.finetune import LabelledTexts, Made, train_classifier
from tiltmeter.judges.kit.labelled import INTERSENTENCE, read_labelled
from tiltmeter.judges.kit.training import RECIPES
from tiltmeter.models import load_model

RATES, EPOCHS, ROWS, WARMUP, SEEDS = (3e-4, 1e-3), 6.0, 32, 0.06, range(5)


def main(data: Path, out: Path, device: str, seconds: float) -> None:
    began = time.monotonic()
    sets = {way: read_labelled("stereotype", None, data, intersentence=way) for way in INTERSENTENCE}
    items = load_benchmark("stereoset", data_dir=data).items
    second = {f"stereoset {item.id}" for item in items if item.extra.get("part") == "intersentence"}
    learned = {row.key for labelled in sets.values() for row in (*labelled.train, *labelled.held_out)}
    model = load_model("plumb-mlm", precision="fp32", device=device)
    for seed in SEEDS:
        for rate in RATES:
            for way in INTERSENTENCE:
                if time.monotonic() - began > seconds:
                    return
                found = {"intersentence": way, "rate": rate, "seed": seed} | measured(
                    sets, second, learned, model, way, rate, seed
                )
                with out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(found) + "\n")


def measured(
    sets: dict[str, Any], second: set[str], learned: set[str], model: Any, way: str, rate: float, seed: int
) -> dict[str, Any]:
    """Train one classifier, and count its right answers by kind of sentence."""
    labelled, plan = sets[way], replace(RECIPES["stereotype"], rows=ROWS, warmup=WARMUP)
    pairs, held_out = ([(row.text, row.label) for row in rows] for rows in (labelled.train, labelled.held_out))
    recipe = plan.recipe(len(pairs), seed, epochs=EPOCHS, rate=rate)
    texts = LabelledTexts(labelled.names, pairs, held_out)
    judge, _ = train_classifier(model, texts, recipe, Made("research", "research", {}, {}), dropout=plan.dropout)
    found: dict[str, Any] = {"trained_on": len(pairs)}
    for reading in ("context", "alone"):
        rows = [row for row in sets[reading].test if row.key not in learned]
        named = judge.label([row.text for row in rows]).probability.argmax(1)
        for row, label in zip(rows, named, strict=True):
            part = f"intersentence-{reading}" if row.key in second else row.key.split()[0]
            if part.startswith("intersentence") or reading == "context":
                n, right = found.get(part, (0, 0))
                found[part] = (n + 1, right + int(label == row.label))
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], float(sys.argv[4]))
