"""Masked or causal, and how long an input may be: read from a model's configuration and modules."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tiltmeter.errors import ModelError
from tiltmeter.models.permutation import MODEL_TYPES as PERMUTED
from tiltmeter.models.permutation import is_permuted

KINDS = ("masked", "causal")
CAUSAL_ENDINGS = ("ForCausalLM", "LMHeadModel", "DoubleHeadsModel")
MASKED_ENDINGS = ("ForMaskedLM", "ForPreTraining")
MASKED_LM_HEADS = {"xlm": "XLMWithLMHeadModel", "flaubert": "FlaubertWithLMHeadModel"}
"""Masked models whose class is named like a causal one."""


def detect_kind(config: Any, name: str) -> str:
    """By the architecture that the checkpoint names, else by what its model type can be."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )

    if getattr(config, "is_encoder_decoder", False) and not is_permuted(config):
        raise ModelError(
            f"{name} ({config.model_type}) has an encoder and a decoder. Use a masked or causal model.",
            code="unsupported-model",
            model=name,
            model_type=config.model_type,
        )
    settings = {name: getattr(config, name, None) for name in ("model_type", "architectures", "causal")}
    if kind := _kind_of_architectures(settings):
        return kind
    model_type = config.model_type
    if model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES and not getattr(config, "is_decoder", False):
        return "masked"
    if model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return "causal"
    raise ModelError(
        f"{name} ({model_type}) is neither a masked nor a causal language model of transformers. "
        "If it is one, give --kind masked or --kind causal.",
        code="unsupported-model",
        model=name,
        model_type=model_type,
    )


def kind_of_architectures(settings: Mapping[str, Any]) -> str | None:
    """The kind by config.json alone; None where it does not say, or where transformers knows no such model."""
    if settings.get("is_encoder_decoder") and settings.get("model_type") not in PERMUTED:
        return None
    return _kind_of_architectures(settings) if _is_known(str(settings.get("model_type"))) else None


def _kind_of_architectures(settings: Mapping[str, Any]) -> str | None:
    model_type = settings.get("model_type")
    if model_type in PERMUTED:
        return "masked"  # its own mask hides a position; it reads nothing from left to right here
    for architecture in settings.get("architectures") or []:
        if architecture == MASKED_LM_HEADS.get(str(model_type)) and not settings.get("causal"):
            return "masked"
        if architecture.endswith(CAUSAL_ENDINGS):
            return "causal"
        if architecture.endswith(MASKED_ENDINGS):
            return "masked"
    return None


@cache
def _is_known(model_type: str) -> bool:
    """Return True if the installed transformers has code for a model type, without importing it."""
    library = find_spec("transformers")
    folder = model_type.removesuffix("_text").replace("-", "_")
    return library is not None and (Path(str(library.origin)).parent / "models" / folder).is_dir()


def usable_length(module: Any, tokenizer: Any) -> int | None:
    """The longest input: the smaller of what the tokenizer says and what the position table holds."""
    limits = []
    if tokenizer.model_max_length and tokenizer.model_max_length < 10**9:  # "unknown" is written as 1e30
        limits.append(int(tokenizer.model_max_length))
    positions = getattr(module.config, "max_position_embeddings", None)
    if positions and positions > 0:
        limits.append(int(positions) - _reserved_positions(module))
    # Positions that a wrapper takes for itself.
    return min(limits) - int(getattr(module, "extra_positions", 0)) if limits else None


def _reserved_positions(module: Any) -> int:
    """RoBERTa and its kin count positions from behind the padding id, which costs them the first rows."""
    for name, part in module.named_modules():
        if name.endswith("position_embeddings") and getattr(part, "padding_idx", None) is not None:
            return int(part.padding_idx) + 1
    return 0
