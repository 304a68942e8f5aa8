"""Saving a model that is its base and something around it: a copy of the base, what is around it, and a manifest."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import ModelError
from tiltmeter.finetune.export import MANIFEST, SCHEMA, making, save_model
from tiltmeter.finetune.folder_training import Made
from tiltmeter.models import Parts, kind_of, load_parts
from tiltmeter.models.hashing import weight_files
from tiltmeter.models.projection import fold, write_directions
from tiltmeter.models.wrappers import BASE, PROJECTION, WRAPPER
from tiltmeter.models.wrappers import SCHEMA as WRAPPER_SCHEMA
from tiltmeter.storage.files import file_sha256, write_json, write_text
from tiltmeter.storage.provenance import software

BESIDE_WEIGHTS = (".json", ".txt", ".model", ".py", ".jinja", ".md")
README = """This folder is a language model and something around it, made by tiltmeter.

`{wrapper}` says what is around the model in `{base}`. tiltmeter loads the whole (`tiltmeter run -m FOLDER`, or
`tiltmeter.load_model`). Other programs find no model here, and `{base}` alone is the model as it was before.
"""


def load_base(name: str | Path, method: str, kinds: Collection[str], device: str = "auto") -> Parts:
    """The model that something is to be put around; refuses one that has something around it already."""
    kind = kind_of(name)
    parts = load_parts(name, device=device) if kind in (None, *kinds) else None
    if parts is None or parts.kind not in kinds:
        raise ModelError(
            f"{method} is for {' and '.join(kinds)} language models, and {name} is {kind or 'another one'}.",
            code="wrong-model-kind", model=name, kind=kind, kinds=list(kinds), method=method,
        )  # fmt: skip
    if "wrapper" in parts.facts:
        raise ModelError(
            f"{name} is a wrapped model. Use the model inside, {parts.folder}.",
            code="wrong-model-kind", model=name, kind="wrapper", method=method,
        )  # fmt: skip
    if str(name).endswith(".gguf"):
        raise ModelError(
            f"{name}: {method} needs a Hugging Face folder, not a .gguf file.",
            code="wrong-model-kind", model=name, kind="gguf", method=method,
        )  # fmt: skip
    return parts


def save_wrapped(
    base: Path,
    output: Path,
    kind: str,
    manifest: Mapping[str, Any],
    *,
    settings: Mapping[str, Any] | None = None,
    directions: NDArray[np.floating[Any]] | None = None,
) -> Path:
    """A folder that `tiltmeter.load_model` takes as any other; all of it or nothing is written."""
    with making(output) as folder:
        copy_model(base, folder / BASE)
        if directions is not None:
            write_directions(folder / PROJECTION, directions)
        write_json(folder / WRAPPER, {"schema": WRAPPER_SCHEMA, "wrapper": kind, "settings": dict(settings or {})})
        write_text(folder / "README.md", README.format(wrapper=WRAPPER, base=BASE))
        weights = {str(path.relative_to(folder)): file_sha256(path) for path in sorted(folder.rglob("*.safetensors"))}
        made_with = {name: value for name, value in software().items() if name != "schema"}
        write_json(folder / MANIFEST, {"schema": SCHEMA, **manifest, "weights": weights, **made_with})
    return output


def save_projected(parts: Parts, output: Path, directions: NDArray[np.floating[Any]], made: Made) -> Path:
    """A model without these directions: as plain weights where that is the same for every reading, else wrapped."""
    causal = parts.kind == "causal"
    folded = fold(parts.module.float(), directions, causal=causal)
    manifest = made.manifest(parts) | {"directions": len(directions), "folded_into_weights": folded}
    if folded:
        return save_model(parts, output, manifest)
    return save_wrapped(parts.folder, output, "projection", manifest, directions=directions)


def copy_model(source: Path, target: Path) -> None:
    """Copy the files that a model is loaded from, byte for byte: the weights that are used, configuration and tokenizer."""
    weights = weight_files(source)
    if not weights:
        raise ModelError(f"{source} has no weights to copy.", code="missing-weights", folder=source)
    others = [path for path in source.iterdir() if path.is_file() and path.suffix in BESIDE_WEIGHTS]
    target.mkdir(parents=True)
    for path in (*weights, *others):
        shutil.copyfile(path, target / path.name)
