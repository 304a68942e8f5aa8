"""A model that is to be trained: its module, its tokenizer, and whether the method is for models of its kind."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from tiltmeter.errors import ModelError
from tiltmeter.finetune.lora import check_lora
from tiltmeter.finetune.recipe import Recipe
from tiltmeter.models import Parts, load_parts
from tiltmeter.models.dispatch import kind_of


def load_trainable(
    name: str | Path, recipe: Recipe, *, method: str, kinds: Collection[str] = ("masked", "causal"), device: str = "auto"
) -> Parts:
    """The parent model. Weights are float32; beside LoRA on a GPU bfloat16 stays, since it does not learn."""
    check_lora(recipe)
    _check_kind(name, kind_of(name), method, kinds)
    half = recipe.lora_rank and device_of(device) != "cpu"
    parts = load_parts(name, precision="auto" if half else "fp32", device=device_of(device))
    _check_kind(name, parts.kind, method, kinds)
    if "wrapper" in parts.facts:
        raise ModelError(
            f"{name} is a wrapped model, which cannot be trained; give the model inside, {parts.folder}.",
            code="not-trainable",
            model=str(name),
            kind="wrapper",
        )
    if parts.facts["precision"] == "fp16":  # whose numbers do not go far enough for sums in bfloat16
        parts.module.float()
    return parts


def check_trainable(name: str | Path, method: str) -> None:
    """Raise an error for a model that cannot be trained, before it is loaded."""
    path = Path(name).expanduser()
    packed = path.suffix == ".gguf" or (path.is_dir() and not (path / "config.json").exists() and any(path.glob("*.gguf")))
    if packed:
        raise ModelError(
            f"{method}: {name} is a .gguf file, which cannot be trained; give a Hugging Face folder.",
            code="not-trainable",
            model=str(name),
            kind="gguf",
            method=method,
        )


def _check_kind(name: str | Path, kind: str | None, method: str, kinds: Collection[str]) -> None:
    if kind is not None and kind not in kinds:
        others = {"encoder": "gives sentence vectors only", "static": "is a file of static vectors"}
        what = others.get(kind, f"is a {kind} one")
        raise ModelError(
            f"{method} is for {' and '.join(sorted(kinds))} language models, and {name} {what}.",
            code="wrong-model-kind",
            model=str(name),
            kind=kind,
            kinds=sorted(kinds),
            method=method,
        )


def device_of(wanted: str) -> str:
    """`auto` is the GPU where there is one."""
    import torch

    return ("cuda" if torch.cuda.is_available() else "cpu") if wanted == "auto" else wanted
