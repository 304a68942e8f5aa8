"""Models that are another model and something around it: a folder with the base and `wrapper.json` that says what.

Not every change of a model can be written into its weights. A direction that is taken out of the last hidden state cannot be
folded into a LayerNorm, and a change of the decoding is in no weight at all. Such a model is saved with its base in a folder
of its own (`base/`): whoever loads the folder without knowing of the wrapper is refused instead of being served the base.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.storage.packed import is_file
from tiltmeter.storage.places import at_home

WRAPPER = "wrapper.json"
BASE = "base"
PROJECTION = "projection.safetensors"
WRAPPERS = ("projection", "self_debias")
SCHEMA = 1


@dataclass(frozen=True)
class Wrapper:
    """What stands around a base: its kind and its settings."""

    folder: Path
    kind: str
    settings: dict[str, Any]

    @property
    def base(self) -> Path:
        """The folder of the model inside."""
        return self.folder / BASE

    @property
    def files(self) -> list[Path]:
        """What decides, beside the base's weights, what the model answers."""
        directions = self.folder / PROJECTION
        return [self.folder / WRAPPER, *([directions] if self.kind == "projection" else [])]

    def around(self, module: Any, tokenizer: Any, causal: bool) -> Any:
        """The base, changed or wrapped."""
        if self.kind == "projection":
            from tiltmeter.models.projection import project_out, read_directions

            return project_out(module, read_directions(self.folder / PROJECTION), causal=causal)
        from tiltmeter.models.self_debiasing import SelfDebiasing

        return SelfDebiasing(module, tokenizer, causal=causal, **self.settings)


def wrapper_of(name: str | Path) -> Wrapper | None:
    """What `wrapper.json` says, if the folder has one; a damaged one is refused, not passed over."""
    folder = at_home(name)
    path = folder / WRAPPER
    if not is_file(path):
        return None
    try:
        said = json.loads(path.read_text("utf-8"))
        kind, settings, schema = str(said["wrapper"]), dict(said["settings"]), int(said["schema"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TiltmeterError(f"{path} cannot be read as what it should be: {error!r}.") from None
    if schema > SCHEMA or kind not in WRAPPERS:
        raise TiltmeterError(f"{path} is of a newer tiltmeter (schema {schema}, wrapper '{kind}').")
    wrapper = Wrapper(folder, kind, settings)
    missing = [one for one in (wrapper.base, *wrapper.files) if not one.exists()]
    if missing:
        raise TiltmeterError(f"{folder} is a wrapped model, and its {missing[0].name} is missing.")
    return wrapper
