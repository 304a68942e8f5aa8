"""A trained model as a folder that transformers and tiltmeter load, with a manifest that says how to make it again."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tiltmeter.errors import UsageError
from tiltmeter.finetune.checkpoint import log
from tiltmeter.models import Parts
from tiltmeter.storage.files import cannot_write, file_sha256, write_json, write_text
from tiltmeter.storage.places import at_home
from tiltmeter.storage.provenance import software

SCHEMA = 1
"""The layout of manifest.json in a model folder."""
MANIFEST = "manifest.json"
GENERATION = "generation_config.json"
Files = Mapping[str, Mapping[str, Any] | str]
"""Files beside a manifest by their names: JSON, or a text."""


def check_output(output: str | Path) -> Path:
    """Raise an error if the folder exists: a model is never overwritten."""
    path = at_home(output)
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} exists already. Give a new folder (-o), or delete it.", code="output-exists", folder=path)
    if path.parent.exists() and not path.parent.is_dir():
        raise UsageError(
            f"{path.parent} is a file, so {path} cannot be a folder in it.", code="not-a-folder", folder=path.parent
        )
    return path


@contextmanager
def making(output: Path) -> Iterator[Path]:
    """A folder beside the one wanted, which takes its name when all is well, and is deleted when not."""
    check_output(output)
    part = output.with_name(f".{output.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        part.mkdir(parents=True)
        yield part
        part.rename(output)
    except OSError as error:
        raise cannot_write(output, error) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def save_model(
    parts: Parts,
    output: Path,
    manifest: Mapping[str, Any],
    curve: Sequence[Mapping[str, Any]] = (),
    files: Files | None = None,
) -> Path:
    """Model, tokenizer and manifest, the loss of each step, and JSON files and texts that belong to it.

    The weights have the precision that they were trained in.
    """
    with making(output) as folder:
        parts.module.save_pretrained(folder)
        parts.tokenizer.save_pretrained(folder)
        if not (parts.folder / GENERATION).is_file():
            (folder / GENERATION).unlink(missing_ok=True)  # settings for writing text, which nobody chose
        if curve:
            log(folder, *curve)
        for name, content in (files or {}).items():
            if isinstance(content, str):
                write_text(folder / name, content)
            else:
                write_json(folder / name, dict(content))
        dtype = str(next(parts.module.parameters()).dtype).removeprefix("torch.")
        weights = {path.name: file_sha256(path) for path in sorted(folder.glob("*.safetensors"))}
        write_json(folder / MANIFEST, {"schema": SCHEMA, **manifest, "dtype": dtype, "weights": weights} | _made_with())
    return output


def parent_facts(parts: Parts) -> dict[str, Any]:
    """Facts of the parent model."""
    known = {name: parts.facts.get(name) for name in ("name", "revision", "weights_sha256")}
    return known | {"kind": parts.kind, "architecture": type(parts.module).__name__}


def _made_with() -> dict[str, Any]:
    found = software()
    return {name: found[name] for name in ("tiltmeter", "versions", "platform")}
