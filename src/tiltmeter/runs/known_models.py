"""What is known of a model that was loaded before: enough to find its stored answers without loading it again.

A card says what a model is called, its kind and its identity. It is kept under a key of everything that loading depends
on: the bytes of all files that transformers would read, how it is to be loaded, the versions of the libraries, our own code,
and whether there is a GPU. So a card is never of another model; where anything changed, the model is loaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tiltmeter import models
from tiltmeter.errors import TiltmeterError
from tiltmeter.models import head_start
from tiltmeter.models.hashing import WEIGHT_PATTERNS, digest_file
from tiltmeter.models.places import folder_of
from tiltmeter.models.wrapping import WRAPPER
from tiltmeter.storage.files import write_json
from tiltmeter.storage.packed import is_there
from tiltmeter.storage.places import at_home, cache_folder

WEIGHTS = tuple(pattern[1:] for pattern in WEIGHT_PATTERNS)
READ = (".json", ".txt", ".model", ".py", ".jinja", ".vocab", ".merges", *WEIGHTS)
LIBRARIES = ("torch", "transformers", "tokenizers", "safetensors", "gguf", "sentencepiece", "numpy")
GPUS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/kfd", "/dev/dxg")
LAYOUT = 1


@dataclass(frozen=True)
class Card:
    """A model as its answers know it."""

    name: str
    kind: str
    identity: Mapping[str, str]

    @property
    def weights_hash(self) -> str:
        """Fingerprint of weights and configuration."""
        return self.identity["weights"]


def find_card(name: str, loading: Mapping[str, Any], cache: bool | str | Path, *, here: bool = False) -> Card | None:
    """The card of a model whose files are as they were. `here`: only if it is a folder, for which nothing is downloaded."""
    place = _place(name, loading, cache, here)
    if place is None or not place.beside:
        return None
    try:
        stored = json.loads(place.file.read_text("utf-8"))
        about = stored["about"]
        if stored["sha256"] != _digest(about):
            return None
        return Card(str(about["name"]), str(about["kind"]), dict(about["identity"]))
    except (TiltmeterError, OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def begin_to_load(names: Sequence[str], loading: Mapping[str, Any], cache: bool | str | Path) -> None:
    """For models here of which there is no card: what can be done beside importing (see models/head_start.py)."""
    for name in names:
        place = _place(name, loading, cache, here=True)
        if place is not None and not place.beside:
            weights = [path for path in place.files if path.suffix in WEIGHTS]
            head_start.begin(str(loading.get("device", "auto")), weights)
            return


def keep_card(model: Any, name: str, loading: Mapping[str, Any], cache: bool | str | Path) -> None:
    """Remembers a model that was loaded. One with code of its own may be another tomorrow, so it is not remembered."""
    place = None if loading.get("trust_remote_code") else _place(name, loading, cache, here=False)
    if place is not None and model.kind in models.KINDS:
        about = {"name": model.name, "kind": model.kind, "identity": dict(model.identity)}
        write_json(place.file, {"about": about, "sha256": _digest(about)})


@dataclass(frozen=True)
class Place:
    """Where the card of a model is kept."""

    folder: Path
    files: tuple[Path, ...]
    decides: Mapping[str, Any]

    @property
    def beside(self) -> bool:
        """Whether there is a card at all of files with these names and sizes: else there is no need to read them."""
        return any(self.folder.glob(f"{self._outside}-*.json"))

    @property
    def _outside(self) -> str:
        sizes = {path.name: path.stat().st_size for path in self.files}
        return _digest({**self.decides, "sizes": sizes})[:16]

    @property
    def file(self) -> Path:
        """The card's file. Its name holds the content of all files."""
        with ThreadPoolExecutor(4) as threads:  # hashing lets others run meanwhile
            digests = [digest.hex() for digest in threads.map(digest_file, self.files)]
        inside = _digest(dict(zip((path.name for path in self.files), digests, strict=True)))
        return self.folder / f"{self._outside}-{inside[:32]}.json"


def _place(name: str, loading: Mapping[str, Any], cache: bool | str | Path, here: bool) -> Place | None:
    root = cache_folder(cache)
    if root is None or models.is_static(name) or models.is_sentence_transformer(name):
        return None
    local = name in models.EMBEDDED or is_there(at_home(name))
    if here and not local:
        return None
    try:
        folder, gguf = folder_of(name, None) if local else _found(name)
        if (folder / WRAPPER).exists():  # a model in a model: rare, and not worth a second reader of it
            return None
        files = tuple(sorted(path for path in folder.iterdir() if path.suffix in READ and path.is_file()))
    except (TiltmeterError, OSError):  # loading it says what is wrong
        return None
    decides = {
        "name": name,
        "folder": str(folder.resolve()),
        "gguf": gguf,
        "loading": {key: str(value) for key, value in loading.items()},
        "libraries": {library: _version(library) for library in LIBRARIES},
        "code": _code(),
        "machine": [platform.machine(), os.environ.get("CUDA_VISIBLE_DEVICES"), *filter(os.path.exists, GPUS)],
        "layout": LAYOUT,
    }
    return Place(root / "models", files, decides)


@cache
def _found(name: str) -> tuple[Path, str | None]:
    """Where a hub model lies: asking the hub takes a while, so it is asked once."""
    return folder_of(name, None)


@cache
def _code() -> str:
    """Our own code that loads models and says what they are."""
    digest = hashlib.sha256()
    for path in sorted(Path(models.__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()
