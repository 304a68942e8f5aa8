"""A trained model as a folder that transformers and tiltmeter load: half-precision weights, tokenizer, facts."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from training.architectures import DROPOUTS
from training.train import Trainer


def export(trainer: Trainer, folder: Path) -> dict[str, Any]:
    """Rounds the weights to fp16, measures the rounded ones on the held-out text, and writes everything with `card.json`."""
    model = trainer.model.half().float()  # what is measured is what is written
    facts = trainer.facts() | {"parameters": model.num_parameters(), "held_out": trainer.evaluate()}
    for name in DROPOUTS[trainer.recipe.architecture]:
        setattr(model.config, name, trainer.recipe.dropout_saved)
    model.half().save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)  # settings for writing text, which nobody chose
    trainer.tokenizer.save_pretrained(folder)
    _make_portable(folder / "tokenizer_config.json")
    facts["weights_sha256"] = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    (folder / "card.json").write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
    return facts


def _make_portable(path: Path) -> None:
    """A class name that older versions of transformers know too, and nothing about the machine it was saved on."""
    settings = json.loads(path.read_text("utf-8"))
    kept = {name: value for name, value in settings.items() if name not in ("backend", "is_local", "local_files_only")}
    path.write_text(json.dumps(kept | {"tokenizer_class": "PreTrainedTokenizerFast"}, indent=2) + "\n", "utf-8")
