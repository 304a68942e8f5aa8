"""LoRA adapter folders: small matrices beside the weights of a base model, which the folder names."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tiltmeter.errors import ModelError
from tiltmeter.models.pretrained import ADAPTER, guard
from tiltmeter.storage.compression import is_file
from tiltmeter.storage.places import at_home

CONFIG = ADAPTER
WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")


@dataclass(frozen=True)
class Adapter:
    """A folder with an adapter, and the name or folder of its base model."""

    folder: Path
    base: str

    @property
    def files(self) -> list[Path]:
        """Its weights."""
        found = [self.folder / name for name in WEIGHTS if (self.folder / name).is_file()]
        if not found:
            raise ModelError(
                f"{self.folder} has {CONFIG} and no weights ({' or '.join(WEIGHTS)}).",
                code="missing-file",
                file=self.folder / WEIGHTS[0],
            )
        return found[:1]

    def added_to(self, module: Any, name: str) -> Any:
        """The module with the adapter beside its weights. An adapter of another model is refused."""
        if find_spec("peft") is None:
            raise ModelError(
                f"{name} is an adapter, which needs the package peft: pip install 'tiltmeter[lora]'.",
                code="missing-package", model=name, package="peft",
            )  # fmt: skip
        guard(name, lambda: module.load_adapter(str(self.folder)))
        if not self._is_loaded(module):
            raise ModelError(
                f"{name}: the adapter's weights do not fit its base model {self.base}.",
                code="missing-weights", model=name, base=self.base,
            )  # fmt: skip
        return module

    def _is_loaded(self, module: Any) -> bool:
        """Compare the module's adapter with the file: a layer that was not found would begin at random."""
        import torch
        from peft import get_peft_model_state_dict
        from peft.utils import load_peft_weights

        stored = load_peft_weights(str(self.folder), device="cpu")
        loaded = get_peft_model_state_dict(module, adapter_name="default")
        plain = {key.removeprefix("base_model.model."): value for key, value in stored.items()}
        found = {key.removeprefix("base_model.model."): value for key, value in loaded.items()}
        return plain.keys() == found.keys() and all(
            torch.allclose(found[key].float().cpu(), value.float(), rtol=1e-2, atol=1e-3) for key, value in plain.items()
        )


def adapter_of(name: str | Path) -> Adapter | None:
    """The adapter in a folder, also beside a config.json or weights of its own; None for every other name.

    Its base is the model that it names, as for transformers: weights beside an adapter may have it added already.
    """
    path = at_home(name)
    config = path / CONFIG
    if not is_file(config):
        return None
    try:
        base = json.loads(config.read_text("utf-8"))["base_model_name_or_path"]
    except (OSError, ValueError, KeyError, TypeError):
        base = None
    if not isinstance(base, str) or not base:
        raise ModelError(
            f"{config} names no base model (base_model_name_or_path).",
            code="wrong-format", file=config, name="base_model_name_or_path",
        )  # fmt: skip
    beside = path / base
    return Adapter(path, str(beside) if beside.is_dir() else base)
