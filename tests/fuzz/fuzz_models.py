"""Hostile model folders: damaged configurations, tokenizers and weights, and code that must not run."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pandas as pd
from fuzz_inputs import QUICK, ROWS
from fuzz_mutations import damage, damage_folder, damaged_json, dumped
from fuzz_sandbox import MODELS, Bad, Sandbox

CODE = "import pathlib\npathlib.Path({place!r}).write_text('ran')\n"


def model_folder(sandbox: Sandbox, rng: random.Random) -> str:
    """A damaged copy of a model. Whatever it says, no code of its own runs, and nothing is written beside the output."""
    name = rng.choice(("tiny-bert-cased", "tiny-gpt2", "tiny-roberta", "tiny-albert"))
    folder = sandbox.folder / "home" / "model"
    shutil.copytree(MODELS / name, folder)
    how = rng.random()
    if how < 0.4:
        edit(rng.choice([path for path in folder.glob("*.json") if path.stat().st_size < 200_000]), rng)
    elif how < 0.6:
        path = rng.choice(sorted(folder.glob("*.json")))
        path.write_bytes(damage(path.read_bytes(), rng))
    elif how < 0.8:
        damage_folder(sorted(path for path in folder.rglob("*") if path.is_file()), rng)
    else:
        with_code(folder, sandbox.folder / "home" / "ran", rng)
    pd.DataFrame(ROWS[:2]).to_csv(sandbox.input / "mine.csv", index=False)
    benchmark = rng.choice(("mine.csv", "mine.csv", "seat"))
    limit = ("--limit", "2")
    said = sandbox.call("run", "-m", str(folder), "-b", benchmark, "-o", str(sandbox.output / "run"), *limit, *QUICK)
    if (sandbox.folder / "home" / "ran").exists():
        raise Bad("code of the model ran")
    return said.judge()


def edit(path: Path, rng: random.Random) -> None:
    """A value of its configuration is another, in JSON that can be read."""
    path.write_bytes(dumped(damaged_json(json.loads(path.read_text("utf-8")), rng)))


def with_code(folder: Path, place: Path, rng: random.Random) -> None:
    """Names Python files of its own."""
    for module in ("mine", "configuration_mine", "modeling_mine", "tokenization_mine"):
        (folder / f"{module}.py").write_text(CODE.format(place=str(place)))
    autos = ("AutoConfig", "AutoModelForMaskedLM", "AutoModelForCausalLM", "AutoModel", "AutoTokenizer")
    named = {auto: "mine.Mine" for auto in autos if rng.random() < 0.6}
    for name in ("config.json", "tokenizer_config.json"):
        path = folder / name
        config = json.loads(path.read_text("utf-8")) if path.is_file() else {}
        config["auto_map"] = named
        if rng.random() < 0.5:
            config["model_type"] = "mine"
        path.write_text(json.dumps(config))
