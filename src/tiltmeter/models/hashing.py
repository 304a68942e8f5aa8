"""Digests of model files: read in parallel, taken from the hub's cache, or remembered while a file is unchanged."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import Thread
from typing import Any

from tiltmeter.errors import ModelError, TiltmeterError
from tiltmeter.storage.files import write_json
from tiltmeter.storage.places import user_cache
from tiltmeter.storage.temporary import HERE

WEIGHT_PATTERNS = ("*.safetensors", "*.bin", "*.gguf")
READERS = 8
"""Files that are read at the same time. hashlib releases the interpreter, and disks answer several readers faster."""
REMEMBERED_BYTES = 32 * 2**20
"""Digests of smaller files are not stored: reading them takes less time than it is worth."""
SETTLED_NS = 2_000_000_000
"""A file that changed within this time may change again without a new time stamp."""
IRRELEVANT = frozenset({
    "_name_or_path", "name_or_path", "transformers_version", "_commit_hash", "dtype", "torch_dtype", "use_cache",
    "gradient_checkpointing", "special_tokens_map_file", "tokenizer_file",
})  # fmt: skip
"""Settings that change no answer: where a model lies, which library wrote it, and the precision, which has its own field."""
BLOB = re.compile(r"[0-9a-f]{64}")


def weight_files(folder: Path) -> list[Path]:
    """The weight files that are loaded: safetensors where there are any, else what else there is."""
    for pattern in WEIGHT_PATTERNS:
        files = sorted(path for path in folder.glob(pattern) if path.name != "training_args.bin")
        if files:
            return files
    return []


def digest_files(files: Sequence[Path]) -> list[Future[bytes]]:
    """Start to compute the sha256 of each file in background threads; loading goes on meanwhile."""
    digests: list[Future[bytes]] = [Future() for _ in files]
    waiting = iter(zip(files, digests, strict=True))
    for _ in range(min(READERS, len(digests))):
        Thread(target=_digest_each, args=(waiting,), daemon=True).start()  # an interrupted command does not wait
    return digests


def _digest_each(waiting: Iterator[tuple[Path, Future[bytes]]]) -> None:
    for path, digest in waiting:
        try:
            digest.set_result(digest_file(path))
        except BaseException as error:  # raised where the digest is used
            digest.set_exception(error)


def is_digested(path: Path) -> bool:
    """Return True if `digest_file` would be immediate: the file is small, or its digest is stored."""
    stamp = _stamp(path)
    return stamp[0] < REMEMBERED_BYTES or bool(_blob_digest(path) or _Record(path.absolute(), stamp).read())


def digest_file(path: Path) -> bytes:
    """Return the sha256 of a file, without reading it where its digest is known.

    The hub's cache names large files by their sha256. Digests of other large files are stored with path, size, times and
    inode, and used while all of these are the same.
    """
    return _digest(path.absolute(), _stamp(path))


def _stamp(path: Path) -> tuple[int, ...]:
    facts = path.stat()
    return facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino


@lru_cache(maxsize=4096)
def _digest(path: Path, stamp: tuple[int, ...]) -> bytes:
    if named := _blob_digest(path):
        return named
    record = _Record(path, stamp) if stamp[0] >= REMEMBERED_BYTES else None
    if record and (known := record.read()):
        return known
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").digest()
    if record:
        record.write(digest)
    return digest


def _blob_digest(path: Path) -> bytes | None:
    """The digest in the name of a blob of the hub's cache: `models--…/blobs/SHA256`. Small files have shorter names."""
    blob = path.resolve()
    in_cache = blob.parent.name == "blobs" and blob.parent.parent.name.startswith("models--")
    return bytes.fromhex(blob.name) if in_cache and BLOB.fullmatch(blob.name) else None


class _Record:
    """A stored digest: one small file for each path in `digests/` of the user's cache. A damaged one is ignored."""

    def __init__(self, path: Path, stamp: tuple[int, ...]) -> None:
        self.facts = {"path": str(path), "stamp": list(stamp), "host": HERE}
        self.changed_ns = max(stamp[1:3])
        name = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:32]
        self.file = user_cache() / "digests" / f"{name}.json"

    def read(self) -> bytes | None:
        try:
            stored = json.loads(self.file.read_text("utf-8"))
            same = all(stored[name] == value for name, value in self.facts.items())
            return bytes.fromhex(stored["sha256"]) if same and stored["check"] == self._check(stored["sha256"]) else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def write(self, digest: bytes) -> None:
        if time.time_ns() - self.changed_ns < SETTLED_NS:
            return
        with suppress(TiltmeterError):  # a cache that cannot be written only costs time
            write_json(self.file, {**self.facts, "sha256": digest.hex(), "check": self._check(digest.hex())})

    def _check(self, digest: str) -> str:
        return digest_json([self.facts, digest])[:16]


def digest_json(value: Any) -> str:
    """Return the sha256 of a value as JSON with sorted keys."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def relevant(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that may change an answer."""
    return {name: value for name, value in settings.items() if name not in IRRELEVANT}


def check_card(folder: Path, name: str, files: Sequence[Path], digests: Sequence[Future[bytes]]) -> None:
    """Refuse weights that differ from what the folder's card.json records (a truncated file, a broken download)."""
    card, weights = folder / "card.json", folder / "model.safetensors"
    if not (card.is_file() and weights.is_file() and weights in files):
        return
    try:
        facts = json.loads(card.read_text("utf-8"))
    except ValueError:  # somebody else's card
        return
    expected = facts.get("weights_sha256") if isinstance(facts, dict) else None
    if expected and (actual := digests[list(files).index(weights)].result().hex()) != expected:
        raise ModelError(
            f"{name}: {weights.name} is damaged or was changed. Its sha256 is {actual[:16]}…, and {card.name} says "
            f"{str(expected)[:16]}…. Install tiltmeter (or copy the folder) again; if you changed the weights on purpose, "
            f"delete {card}.",
            code="changed-file",
            model=name,
            file=weights,
            sha256=actual,
            expected=expected,
        )


def hash_tokenizer(tokenizer: Any) -> str:
    """Return the sha256 of everything in a tokenizer that decides how text becomes ids."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = backend.to_str() if backend is not None else json.dumps(sorted(tokenizer.get_vocab().items()))
    special = json.dumps({name: str(value) for name, value in tokenizer.special_tokens_map.items()}, sort_keys=True)
    return hashlib.sha256((type(tokenizer).__name__ + rules + special).encode()).hexdigest()


def relevant_in_memory(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Select the settings of a loaded model that may change an answer.

    `architectures` decides which class is loaded from files. A loaded module has its class already, and
    `save_pretrained` rewrites the list as a side effect.
    """
    return {name: value for name, value in relevant(settings).items() if name != "architectures"}
