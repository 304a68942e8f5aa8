"""Find a training that teaches a dose and keeps the language: python research/calibration-2/pilot.py --help.

Seed 0, which is no seed of the study. Each call trains one model with a dose of gender and appends its readings to a file:
the share and the mean preference of taught pairs, and perplexity of held-out lines before and after. No metric is read.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import pandas as pd
import torch
from mixed import add_natural, write_lines

import tiltmeter
from tiltmeter.execution.calibration_file import Calibration, write_calibration
from tiltmeter.finetune.continued_pretraining import continue_training
from tiltmeter.finetune.recipe import Recipe

READINGS = Path(__file__).parent / "pilot.csv"
SEED, HELD_OUT = 0, 60
SCORERS = {"plumb-mlm": "pll", "plumb-clm": "causal", "roberta-mix": "pll", "smollm2-135m": "causal"}
"""By the name of a base model or of its folder."""


def main() -> None:
    """Train one model and append its readings."""
    options = _options()
    name, began = Path(options.base).name, time.time()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        held_out, others = (
            file.read_text("utf-8").splitlines() for file in write_lines(options.lines, options.data, options.corpus)
        )
        text = _text(folder, options, others)
        if torch.cuda.is_available():  # as in the visit
            torch.set_float32_matmul_precision("high")
        recipe = Recipe(steps=options.steps, rows=128, peak_rate=options.rate, warmup=0.1, seed=SEED, lora_rank=options.lora)
        model = continue_training(options.base, text, recipe, output=folder / "model", length=64)
        trained = time.time() - began
        lines = held_out[:: len(held_out) // HELD_OUT][:HELD_OUT]
        found = {
            "base": name, "domains": len(options.domains), "dose": options.dose, "sentences": options.sentences,
            "natural": options.natural, "rate": options.rate, "steps": options.steps, "lora": options.lora,
            **_taught(model, folder / "texts" / "taught-words.jsonl", SCORERS[name]),
            "perplexity_before": _perplexity(options.base, lines), "perplexity_after": _perplexity(model, lines),
            "seconds": round(trained),
        }  # fmt: skip
    rows = pd.DataFrame([found])
    print(rows.to_string())
    new = not options.readings.is_file()
    rows.to_csv(options.readings, mode="a", header=new, index=False, float_format="%.4g", lineterminator="\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", help=f"One of {', '.join(SCORERS)}, or a folder of this name.")
    parser.add_argument("--data", type=Path, help="Folder with wikitext-2, if lines are not there.")
    parser.add_argument("--corpus", type=Path, help="A part of the corpus, likewise.")
    parser.add_argument("--readings", type=Path, default=READINGS)
    parser.add_argument("--lines", required=True, type=Path, help="Where held-out and natural lines are kept between calls.")
    parser.add_argument("--dose", type=float, default=1.0)
    parser.add_argument("--domains", nargs="+", default=["gender"], help="The first one has the dose.")
    parser.add_argument("--sentences", type=int, default=2000, help="Of frames, for each domain.")
    parser.add_argument("--natural", type=int, default=2000, help="Natural lines in all.")
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--lora", type=int, default=0, help="Rank of LoRA's adapters; 0: all weights are trained.")
    return parser.parse_args()


def _text(folder: Path, options: argparse.Namespace, others: list[str]) -> Path:
    """The text of the dose, with the natural lines."""
    wanted = Calibration(options.base, (options.dose or 1.0,), (SEED,), options.domains, sentences=options.sentences)
    write_calibration(wanted, folder / "texts")
    domain = options.domains[0]
    name = f"{domain}{options.dose:+g}" if options.dose else "neutral"
    text = folder / "texts" / "texts" / f"{name}-seed{SEED}.txt"
    add_natural([text], others, options.natural)
    return text


def _taught(model: Path, pairs: Path, scorer: str) -> dict[str, float]:
    rows = tiltmeter.score(model, pairs, [scorer], cache=False).table
    rows = rows[rows["bias_type"] == "gender"]
    wide = rows.pivot_table(index="item", columns="role", values="score")
    preference = wide["stereo"] - wide["anti"]
    return {"taught_share": 100 * float((preference > 0).mean()), "taught_preference": float(preference.mean())}


def _perplexity(model: str | Path, lines: list[str]) -> float:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "heldout.txt"
        file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        rows = tiltmeter.ask(model, file, cache=False).table
    return float(np.exp(-rows["log_likelihood"].sum() / rows["length"].sum()))


if __name__ == "__main__":
    main()
