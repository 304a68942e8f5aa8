"""Folders of the sentence-transformers library: a body without a language-modelling head, and how it pools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tiltmeter.errors import ModelError
from tiltmeter.models import loading
from tiltmeter.models.consistency import check_tokenizer, check_weights, count_embeddings
from tiltmeter.models.encoder import Encoder, encoder_of
from tiltmeter.models.identity import Source
from tiltmeter.models.kinds import usable_length
from tiltmeter.models.pretrained import from_pretrained, load_config, load_tokenizer
from tiltmeter.models.tokenization import Tokenization
from tiltmeter.storage.compression import is_file, require_file
from tiltmeter.storage.places import at_home
from tiltmeter.storage.strict_json import parse_json

MODULES = "modules.json"
POOLING_MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean",  # the same direction, and only that counts for a cosine
    "pooling_mode_lasttoken": "end",
}


def is_sentence_transformer(name: str | Path) -> bool:
    """Return True for a folder that sentence-transformers wrote."""
    return is_file(at_home(name) / MODULES)


def load_encoder(
    name: str | Path,
    *,
    precision: str = "auto",
    device: str = "auto",
    trust_remote_code: bool = False,
    **options: Any,
) -> Encoder:
    """Any model that gives vectors: what `load_model` loads, or a sentence-transformers folder."""
    if is_sentence_transformer(name):
        return _load_folder(at_home(name), precision, device, trust_remote_code)
    options |= {"precision": precision, "device": device, "trust_remote_code": trust_remote_code}
    return encoder_of(loading.load_model(name, **options))


def _load_folder(folder: Path, precision: str, device: str, trust_remote_code: bool) -> Encoder:
    name, (inner, pooling) = str(folder), read_modules(folder)
    source = Source(inner, pooling=pooling or "unknown")
    digests = source.digest_weights()
    options: dict[str, Any] = {"trust_remote_code": trust_remote_code}
    config = load_config(name, inner, **options)
    place = loading._device(device)
    precision, dtype = loading._precision(precision, place, config)
    more = {"output_loading_info": True, "config": config, "dtype": dtype}
    module, info = from_pretrained("AutoModel", name, inner, **options, **more)
    # BERT's pooler stands behind the hidden states and is not asked here.
    info = {**info, "missing_keys": [key for key in info["missing_keys"] if "pooler" not in key]}
    about = check_weights(name, module, info, "vectors")
    tokenizer = load_tokenizer(name, inner, **options)
    identity = source.identity("encoder", precision, place, digests)
    facts = (
        about
        | check_tokenizer(name, module, tokenizer)
        | {
            "name": name,
            "kind": "encoder",
            "architecture": type(module).__name__,
            "parameters": sum(parameter.numel() for parameter in module.parameters()),
            "weights_sha256": identity.weights,
            "precision": precision,
            "device": place,
            "pooling": pooling,
        }
    )
    tokens = Tokenization(tokenizer, usable_length(module, tokenizer), count_embeddings(module))
    return Encoder(folder.resolve().name, "encoder", module.to(place).eval(), tokens, facts, identity)


def read_modules(folder: Path) -> tuple[Path, str]:
    """The folder of the body, and the pooling that stands behind it, empty where it is none of ours.

    Lengths do not matter to cosines: Normalize may follow.
    """
    modules = _read(folder / MODULES)
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise ModelError(
            f"{folder / MODULES} is not a list of modules.",
            code="wrong-format",
            file=folder / MODULES,
            expected="list of modules",
        )
    kinds = [str(module.get("type")).rsplit(".", 1)[-1] for module in modules]
    paths = [folder / str(module.get("path") or "") for module in modules]
    odd = [kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize")]
    if odd or kinds[:1] != ["Transformer"]:
        raise ModelError(
            f"{folder}: its modules are {', '.join(kinds)}; only Transformer, Pooling and Normalize are supported.",
            code="unsupported-model",
            model=folder,
            modules=kinds,
        )
    if "Pooling" not in kinds:
        return paths[0], "mean"
    said = _read(paths[kinds.index("Pooling")] / "config.json")
    if not isinstance(said, dict):
        raise ModelError(
            f"{paths[kinds.index('Pooling')] / 'config.json'} is not a JSON object.",
            code="wrong-format",
            file=paths[kinds.index("Pooling")] / "config.json",
            expected="JSON object",
        )
    chosen = [ours for theirs, ours in POOLING_MODES.items() if said.get(theirs)]
    others = [
        mode for mode, on in said.items() if mode.startswith("pooling_mode") and on is True and mode not in POOLING_MODES
    ]
    return paths[0], chosen[0] if len(chosen) == 1 and not others else ""


def _read(path: Path) -> Any:
    require_file(path)
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise ModelError(f"Cannot read {path}: {error}.", code="unreadable-file", file=path, reason=str(error)) from None
    return parse_json(text, str(path))
