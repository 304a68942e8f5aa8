"""The identity of a model: everything that decides its answers, from its files alone or from the loaded module."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiltmeter.errors import ModelError, TiltmeterError
from tiltmeter.models.adapters import CONFIG, Adapter, adapter_of
from tiltmeter.models.fingerprint import unknown_hooks
from tiltmeter.models.hashing import digest_file, digest_files, digest_json, is_digested, relevant
from tiltmeter.models.kinds import kind_of_architectures
from tiltmeter.models.places import EMBEDDED, folder_of, in_hub_cache, weights_in
from tiltmeter.models.precision import expected_device, resolve_precision
from tiltmeter.models.static_vectors import is_static, words_beside
from tiltmeter.models.wrappers import Wrapper, wrapper_of
from tiltmeter.storage.compression import is_there
from tiltmeter.storage.places import at_home

CLASSIFIER = "classifier"
CHOICE_HEAD = "choice_head"
UNKNOWN_CODE = "unknown_code"
HEADS = {"ForSequenceClassification": CLASSIFIER, "ForMultipleChoice": CHOICE_HEAD}
"""How the names of architectures with a head end, and the kind of model that each is."""
TOKENIZER_SUFFIXES = (".model", ".spm", ".vocab", ".merges", ".codes", ".tokenizer", ".tiktoken", ".jinja")
TOKENIZER_NAMES = ("tokenizer", "vocab", "merges", "special_tokens_map", "added_tokens", "tekken", "chat_template",
                   "dict.txt", "emoji.json", "normalizer.json", "entity_vocab", "target_vocab", "byte_maps", "word_shape",
                   "word_pronunciation")  # fmt: skip
"""How the files of tokenizers begin. tests/test_identity.py compares them with what transformers reads."""


@dataclass(frozen=True)
class ModelIdentity:
    """Digests of all that decides a model's answers. Two models with equal identities give equal answers.

    `weights` is the sha256 of the weight file, or of the digests of several. `extra` holds what only some models have:
    a wrapper, a pooling, an adapter, code of their own; and the type of device, since kernels differ in the last digits.
    """

    weights: str
    config: str
    tokenizer: str
    precision: str
    kind: str
    extra: Mapping[str, str] = field(default_factory=dict, hash=False)

    def describe(self) -> dict[str, str]:
        """Return all fields that are not empty as plain text, for keys and manifests."""
        fields = {name: getattr(self, name) for name in ("weights", "config", "tokenizer", "precision", "kind")}
        return {name: value for name, value in {**fields, **self.extra}.items() if value}

    @property
    def digest(self) -> str:
        """sha256 of all fields."""
        return digest_json(self.describe())

    @property
    def model(self) -> str:
        """sha256 of the model itself, independent of precision and device."""
        asked = ("precision", "kind", "device", UNKNOWN_CODE)
        return digest_json({name: value for name, value in self.describe().items() if name not in asked})


def identify(source: str | Path, loading: Mapping[str, Any], *, reading: bool = True) -> ModelIdentity | None:
    """Identify a model by its files, without torch and without loading it.

    Args:
        source: an embedded name, a folder, a .gguf file, a file of static vectors, or a name in the hub's cache.
        loading: the options of `load_any`.
        reading: whether large files are read whose digests are not known yet. A model that will be loaded anyway is hashed
            while it is loaded.

    Returns:
        Return the `identity` that loading would give. None where that is needed: the model is not on this machine, its
        configuration does not name its architecture, its code lies elsewhere, its files are incomplete, or hooks of this
        process take part in every forward pass.
    """
    if unknown_hooks():
        return None
    try:
        if is_static(source):
            return identify_vectors(at_home(source))
        found = find_source(source, loading.get("revision"))
        if found is None:
            return None
        kind = found.kind(loading.get("kind"), bool(loading.get("trust_remote_code")))
        if kind is None or not (reading or all(map(is_digested, found.weights))):
            return None
        device = expected_device(str(loading.get("device", "auto")))
        precision = resolve_precision(str(loading.get("precision", "auto")), device, found.saved_dtype)
        return found.identity(kind, precision, device, quantize=loading.get("quantize"))
    except (TiltmeterError, OSError, ValueError):  # loading says what is wrong
        return None


def kind_by_files(source: str | Path, *, trust_remote_code: bool = False) -> str | None:
    """Return the kind of a model on this machine by its files alone; None where its configuration has to be loaded."""
    try:
        found = find_source(source) if is_there(EMBEDDED.get(str(source), at_home(source))) else None
        return found.kind(None, trust_remote_code) if found and found.weights else None
    except (TiltmeterError, OSError, ValueError):  # loading says what is wrong
        return None


def find_source(source: str | Path, revision: str | None = None) -> Source | None:
    """Find a model's files. None if it is a hub model that was never downloaded."""
    name = str(source)
    path = EMBEDDED.get(name, at_home(name))
    if not is_there(path) and not in_hub_cache(name, revision):
        return None
    from tiltmeter.models.sentence_transformers import is_sentence_transformer, read_modules

    if is_sentence_transformer(path):
        inner, pooling = read_modules(path)
        return Source(inner, pooling=pooling or "unknown")
    return source_of(name, revision)


def source_of(name: str, revision: str | None = None) -> Source:
    """The files that a name stands for. A hub model is downloaded."""
    wrapper, adapter = wrapper_of(EMBEDDED.get(name, at_home(name))), adapter_of(name)
    base = str(wrapper.base) if wrapper else adapter.base if adapter else name
    folder, gguf = folder_of(base, revision)
    if not (wrapper or adapter or gguf) and (adapter := adapter_of(folder)):  # of the hub
        folder, gguf = folder_of(adapter.base, None)
    return Source(folder, gguf, wrapper, adapter=adapter)


def identify_vectors(path: Path) -> ModelIdentity:
    """Identify a file of static vectors, with the list of words beside it where there is one."""
    words = words_beside(path)
    extra = {"words": digest_file(words).hex()} if words else {}
    return ModelIdentity(digest_file(path).hex(), "", "", "", "static", extra)


@dataclass(frozen=True)
class Source:
    """The files that a model is loaded from: a folder, a .gguf file in it, a wrapper around a folder, or an adapter to one.

    `pooling` is set for folders of sentence-transformers.
    """

    folder: Path
    gguf: str | None = None
    wrapper: Wrapper | None = None
    pooling: str = ""
    adapter: Adapter | None = None

    @property
    def weights(self) -> list[Path]:
        """The weight files, those of an adapter last. Refuses a folder without any."""
        own = [self.folder / self.gguf] if self.gguf else weights_in(self.folder)
        return own + (self.adapter.files if self.adapter else [])

    @property
    def tokenizer_folder(self) -> Path:
        """Where its tokenizer lies: beside an adapter that has one of its own, else beside the weights."""
        own = self.adapter and tokenizer_files(self.adapter.folder)
        return self.adapter.folder if self.adapter and own else self.folder

    @property
    def settings(self) -> dict[str, Any]:
        """config.json; empty for a .gguf file, which holds its own."""
        return {} if self.gguf else _read_settings(self.folder / "config.json")

    @property
    def quantization(self) -> Any:
        """How stored weights are quantised; None for plain ones. A damaged config.json is reported when it is loaded."""
        try:
            return self.settings.get("quantization_config")
        except (ModelError, OSError, ValueError):
            return None

    @property
    def saved_dtype(self) -> str:
        """The precision that the weights were saved in, as the configuration names it."""
        settings = self.settings
        return str(settings.get("dtype") or settings.get("torch_dtype") or "")

    def kind(self, wanted: str | None, trusts_code: bool) -> str | None:
        """Return the kind that loading would give, or None where the model has to be loaded."""
        settings = self.settings
        named = settings.get("architectures") or []
        if not (isinstance(named, list) and all(isinstance(one, str) for one in named)):
            return None
        if self._has_foreign_code(trusts_code):
            return None
        if self.pooling:
            return "encoder"
        if wanted or self.gguf:
            return wanted or "causal"
        return kind_of_head(named) or kind_of_architectures(settings)

    def _has_foreign_code(self, trusts_code: bool) -> bool:
        code = self.settings.get("auto_map")
        return bool(code) and (not trusts_code or "--" in str(code))

    def digest_weights(self) -> list[Future[bytes]]:
        """Start to digest the weight files in the background."""
        return digest_files(self.weights)

    def identity(
        self,
        kind: str,
        precision: str,
        device: str,
        digests: Sequence[Future[bytes]] | None = None,
        quantize: str | None = None,
    ) -> ModelIdentity:
        """The identity of this source when it is loaded so. `digests`: those of `digest_weights`, where they were begun."""
        tokenizer = {path.name: _content(path) for path in tokenizer_files(self.tokenizer_folder)}
        quantized = {"quantize": quantize} if quantize else {}
        return ModelIdentity(
            weights=combine([digest.result() for digest in (digests or self.digest_weights())]),
            config=digest_json(self._all_settings()) if not self.gguf else "",
            tokenizer=digest_json(tokenizer) if tokenizer else "",
            precision=precision,
            kind=kind,
            extra={"device": device.partition(":")[0], **quantized, **self._extra()},
        )

    def _all_settings(self) -> list[Any]:
        generation = self.folder / "generation_config.json"
        return [relevant(self.settings), relevant(_read_settings(generation)) if generation.is_file() else {}]

    def _extra(self) -> dict[str, str]:
        files = {"adapter": sorted((self.adapter.folder if self.adapter else self.folder).glob(CONFIG))}
        files["code"] = sorted(self.folder.glob("*.py")) if self.settings.get("auto_map") else []
        files["wrapper"] = self.wrapper.files if self.wrapper else []
        found = {name: {path.name: digest_file(path).hex() for path in paths} for name, paths in files.items() if paths}
        pooling = {"pooling": self.pooling} if self.pooling else {}
        return {name: digest_json(digests) for name, digests in found.items()} | pooling


def kind_of_head(architectures: Sequence[str]) -> str | None:
    """Return the kind of a model whose first architecture has a head of its own.

    >>> kind_of_head(["BertForMultipleChoice"]), kind_of_head(["BertForMaskedLM"]), kind_of_head([])
    ('choice_head', None, None)
    """
    return next((kind for ending, kind in HEADS.items() if "".join(architectures[:1]).endswith(ending)), None)


def tokenizer_files(folder: Path) -> list[Path]:
    """The files that decide how text becomes ids."""
    return sorted(path for path in folder.iterdir() if is_tokenizer_file(path.name) and path.is_file())


def is_tokenizer_file(name: str) -> bool:
    """Return True if a tokenizer may read a file of this name.

    >>> [is_tokenizer_file(name) for name in ("vocab.txt", "spiece.model", "config.json", "model.safetensors")]
    [True, True, False, False]
    """
    return name.endswith(TOKENIZER_SUFFIXES) or (name.startswith(TOKENIZER_NAMES) and name.endswith((".json", ".txt")))


def combine(digests: Sequence[bytes]) -> str:
    """One digest for several files; that of a single file is the file's own sha256."""
    return digests[0].hex() if len(digests) == 1 else hashlib.sha256(b"".join(digests)).hexdigest()


def _content(path: Path) -> Any:
    """Return the content of a tokenizer's file, without settings that have no effect."""
    if path.name == "tokenizer_config.json":
        return relevant(_read_settings(path))
    return digest_file(path).hex()


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"Cannot read {path}: {error}.", code="unreadable-file", file=path, reason=str(error)) from None
    if not isinstance(settings, dict):
        raise ModelError(f"{path} is not a JSON object.", code="wrong-format", file=path)
    return settings
