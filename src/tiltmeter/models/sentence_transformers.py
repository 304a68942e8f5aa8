"""Folders of the sentence-transformers library: a body without a language-modelling head, and how it pools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.models import loading
from tiltmeter.models.encoder import Encoder, encoder_of
from tiltmeter.models.hashing import digest_files, hash_weights, weight_files
from tiltmeter.models.kinds import usable_length
from tiltmeter.models.tokenization import Tokenization

MODULES = "modules.json"
POOLING_MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean",  # the same direction, and only that counts for a cosine
    "pooling_mode_lasttoken": "end",
}


def is_sentence_transformer(name: str | Path) -> bool:
    """Whether this is a folder that sentence-transformers wrote."""
    return (Path(name).expanduser() / MODULES).is_file()


def load_encoder(name: str | Path, *, precision: str = "auto", device: str = "auto", **options: Any) -> Encoder:
    """Any model that gives vectors: what `load_model` loads, or a sentence-transformers folder."""
    if is_sentence_transformer(name):
        return _load_folder(Path(name).expanduser(), precision, device)
    return encoder_of(loading.load_model(name, precision=precision, device=device, **options))


def _load_folder(folder: Path, precision: str, device: str) -> Encoder:
    loading._quieten()
    name, (inner, pooling) = str(folder), _read_modules(folder)
    files = weight_files(inner)
    if not files:
        raise TiltmeterError(f"{inner} has no weights.")
    digests = digest_files(files)
    options = {"local_files_only": True}
    config = loading._guard(name, lambda: loading._auto("AutoConfig").from_pretrained(inner, **options))
    place = loading._device(device)
    precision, dtype = loading._precision(precision, place, config)
    module, info = loading._guard(
        name,
        lambda: loading._auto("AutoModel").from_pretrained(inner, output_loading_info=True, dtype=dtype, **options),
    )
    # BERT's pooler stands behind the hidden states and is not asked here.
    missing = sorted(key for key in info["missing_keys"] if "pooler" not in key)
    if missing:
        raise TiltmeterError(f"{name}: {len(missing)} weights are missing ({missing[0]} …); its vectors would be random.")
    tokenizer = loading._guard(name, lambda: loading._auto("AutoTokenizer").from_pretrained(inner, **options))
    loading._check_tokenizer(name, tokenizer)
    facts = {
        "name": name,
        "kind": "encoder",
        "architecture": type(module).__name__,
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
        "weights_sha256": hash_weights(digests, config),
        "precision": precision,
        "device": place,
        "pooling": pooling,
    }
    tokens = Tokenization(tokenizer, usable_length(module, tokenizer))
    return Encoder(folder.resolve().name, "encoder", module.to(place).eval(), tokens, facts)


def _read_modules(folder: Path) -> tuple[Path, str]:
    """The folder of the body, and the pooling that stands behind it, empty where it is none of ours.

    Lengths do not matter to cosines: Normalize may follow.
    """
    modules = _read(folder / MODULES)
    kinds = [str(module["type"]).rsplit(".", 1)[-1] for module in modules]
    odd = [kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize")]
    if odd or kinds[:1] != ["Transformer"]:
        raise TiltmeterError(
            f"{folder}: its modules are {', '.join(kinds)}; only Transformer, Pooling, Normalize are known."
        )
    if "Pooling" not in kinds:
        return folder / modules[0]["path"], "mean"
    said = _read(folder / modules[kinds.index("Pooling")]["path"] / "config.json")
    chosen = [ours for theirs, ours in POOLING_MODES.items() if said.get(theirs)]
    others = [
        mode for mode, on in said.items() if mode.startswith("pooling_mode") and on is True and mode not in POOLING_MODES
    ]
    return folder / modules[0]["path"], chosen[0] if len(chosen) == 1 and not others else ""


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise TiltmeterError(f"Cannot read {path}: {error}.") from None
