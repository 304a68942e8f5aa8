"""The tokenizer and the encoded text of a training: made once, kept in its folder, and used for nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.finetune.checkpoint import refuse_others
from tiltmeter.storage.files import read_json, write_json
from training.encoded import Encoded, encode_text
from training.recipe import MOST_TOKENS, Recipe
from training.text import is_held_out, read_lines
from training.tokenizer import train_tokenizer

Show = Callable[[str], None]


@dataclass(frozen=True)
class Prepared:
    """`made_from` names recipe and text: a folder, and a checkpoint, go on with these or not at all."""

    tokenizer: Any
    text: Encoded
    held_out: list[str]
    made_from: dict[str, Any]


def prepare(folder: Path, text: Sequence[Path], recipe: Recipe, tokenizer: Path | None, show: Show) -> Prepared:
    """What is already in the folder is used if the same recipe, text and, where one is given, tokenizer made it."""
    made_from: dict[str, Any] = {"recipe": recipe.digest(), "text": [_checksum(path) for path in text]}
    made_from["tokenizer"] = _checksum(tokenizer / "tokenizer.json") if tokenizer else None
    seal = folder / "made-from.json"  # written last, so a preparation that was interrupted is made again
    if seal.is_file():
        refuse_others(read_json(seal), made_from, folder)
    else:
        _make(folder, text, recipe, tokenizer, show)
        write_json(seal, made_from)
    held_out = [line for line in (folder / "held-out.txt").read_bytes().decode().split("\n") if line]
    return Prepared(_load(folder / "tokenizer"), Encoded.load(folder / "encoded.npz"), held_out, made_from)


def _make(folder: Path, text: Sequence[Path], recipe: Recipe, given: Path | None, show: Show) -> None:
    show("reading the tokenizer" if given else "training the tokenizer")
    tokenizer = _fitting(given, recipe) if given else train_tokenizer(partial(_training_lines, text), recipe)
    tokenizer.save_pretrained(folder / "tokenizer")
    show("encoding the text")
    encoded, held_out = encode_text(text, tokenizer, recipe)
    (folder / "held-out.txt").write_bytes("\n".join(held_out).encode())  # as bytes: a line may hold a carriage return
    encoded.save(folder / "encoded.npz")


def _training_lines(text: Sequence[Path]) -> Iterator[str]:
    return (line for line in read_lines(text) if not is_held_out(line))


def _load(folder: Path) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder)
    except Exception as error:  # a damaged file fails in many ways
        raise TiltmeterError(f"Cannot read the tokenizer in {folder} ({type(error).__name__}).") from None


def _fitting(folder: Path, recipe: Recipe) -> Any:
    """A tokenizer made elsewhere, if this architecture can use it."""
    tokenizer = _load(folder)
    needed = {"masked": ("cls_token", "sep_token", "pad_token", "mask_token"), "causal": ("bos_token", "eos_token")}
    if missing := [name for name in needed[recipe.objective] if getattr(tokenizer, name) is None]:
        raise TiltmeterError(f"The tokenizer in {folder} has no {', '.join(missing)}: {recipe.architecture} needs it.")
    if len(tokenizer) > MOST_TOKENS:
        raise TiltmeterError(f"The tokenizer in {folder} has {len(tokenizer):,} tokens; {MOST_TOKENS:,} are the most.")
    return tokenizer


def _checksum(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise TiltmeterError(f"Cannot read {path}: {error.strerror or error}.") from None
