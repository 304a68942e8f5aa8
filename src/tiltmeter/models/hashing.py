"""Fingerprints of weights and tokenizers, so that one model's numbers are never served for another's."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import Future
from functools import lru_cache
from pathlib import Path
from threading import Thread
from typing import Any

from tiltmeter.errors import TiltmeterError

WEIGHT_PATTERNS = ("*.safetensors", "*.bin", "*.gguf")


def weight_files(folder: Path) -> list[Path]:
    """The weight files that are loaded: safetensors where there are any, else what else there is."""
    for pattern in WEIGHT_PATTERNS:
        files = sorted(path for path in folder.glob(pattern) if path.name != "training_args.bin")
        if files:
            return files
    return []


def digest_files(files: list[Path]) -> Future[list[bytes]]:
    """The sha256 of each, computed beside the loading: both read every byte, and neither waits for the other."""
    digests: Future[list[bytes]] = Future()

    def read() -> None:
        try:
            digests.set_result([digest_file(path) for path in files])
        except BaseException as error:  # whoever asks for them is told
            digests.set_exception(error)

    Thread(target=read, daemon=True).start()  # whoever gives up meanwhile need not wait for it
    return digests


def digest_file(path: Path) -> bytes:
    """The sha256 of a file, read once in this process while it stays as it is."""
    facts = path.stat()
    return _digest(path, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino)


@lru_cache(maxsize=512)
def _digest(path: Path, *_: int) -> bytes:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


def check_card(folder: Path, name: str, files: list[Path], digests: Future[list[bytes]]) -> None:
    """Refuses weights that are not those that the folder's card.json tells of (a truncated file, a broken download)."""
    card, weights = folder / "card.json", folder / "model.safetensors"
    if not (card.is_file() and weights.is_file() and weights in files):
        return
    try:
        facts = json.loads(card.read_text("utf-8"))
    except ValueError:  # somebody else's card
        return
    expected = facts.get("weights_sha256") if isinstance(facts, dict) else None
    if expected and (actual := digests.result()[files.index(weights)].hex()) != expected:
        raise TiltmeterError(
            f"{name}: {weights.name} is damaged or was changed. Its sha256 is {actual[:16]}…, and {card.name} says "
            f"{str(expected)[:16]}…. Install tiltmeter (or copy the folder) again; if you changed the weights on purpose, "
            f"delete {card}."
        )


def hash_weights(digests: Future[list[bytes]], config: Any) -> str:
    """sha256 over the weight files and the configuration (the same weights act differently under another one)."""
    digest = hashlib.sha256(b"".join(digests.result()))
    digest.update(_config_text(config).encode())
    return digest.hexdigest()


def hash_state(model: Any) -> str:
    """The same for a model that is in memory only."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(_bytes_type()).numpy().tobytes())
    digest.update(_config_text(model.config).encode())
    return digest.hexdigest()


def _bytes_type() -> Any:
    import torch

    return torch.uint8


def _config_text(config: Any) -> str:
    # Where a model lies and which library wrote it changes nothing that it answers.
    irrelevant = {"_name_or_path", "transformers_version"}
    facts = {key: value for key, value in config.to_dict().items() if key not in irrelevant}
    return json.dumps(facts, sort_keys=True, default=str)


def hash_tokenizer(tokenizer: Any) -> str:
    """sha256 of everything that decides how text becomes ids."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = backend.to_str() if backend is not None else json.dumps(sorted(tokenizer.get_vocab().items()))
    special = json.dumps({name: str(value) for name, value in tokenizer.special_tokens_map.items()}, sort_keys=True)
    return hashlib.sha256((type(tokenizer).__name__ + rules + special).encode()).hexdigest()
