"""Consistency of a model folder: weights with the configuration, the tokenizer with the weights."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.errors import ModelError
from tiltmeter.models.tensor_files import read_header

NUMBERED = re.compile(r"^(.*?\.)?(\d+)\.")
BUFFERS = re.compile(
    r"(?:^|[._])(?:position_ids|inv_freq|masked_bias|causal_mask|attn\.bias|attention\.bias|num_batches_tracked)$"
)
"""Buffers that older versions of transformers stored beside the weights and compute today."""
TOKENIZER_FIT = "{:,} tokens for {:,} embeddings"
FEW_SPARE_ROWS, SPARE_SHARE = 128, 0.05
"""Embeddings without a token that are padding: some checkpoints round their number up for the hardware."""


def check_weights(name: str, module: Any, info: dict[str, Any], what: str) -> dict[str, int]:
    """Raise an error for missing weights, and for those without a place in the configuration; count unused heads.

    A head for another task is ignored. A weight inside its layers, or of a layer more, was
    used when the model was trained: without it the answers are another model's.
    """
    wrong = sorted(info["missing_keys"]) + sorted(str(key) for key in info.get("mismatched_keys", ()))
    if wrong:
        raise ModelError(
            f"{name}: {len(wrong)} weights are missing or of the wrong shape ({_some(wrong)}). The {what} would be random "
            "and its scores meaningless. Use a checkpoint saved with its head, or give --kind.",
            code="missing-weights",
            model=name,
            weights=wrong,
        )
    unexpected = sorted(key for key in info.get("unexpected_keys", ()) if not BUFFERS.search(key))
    homeless = list(_in_layers(module, unexpected))
    if homeless:
        raise ModelError(
            f"{name}: {len(homeless)} weights have no place in the model that config.json describes ({_some(homeless)}), so "
            "it would not answer as it was trained to. Is the number of layers right, and the architecture?",
            code="unexpected-weights",
            model=name,
            weights=homeless,
        )
    return {"unused_weights": len(unexpected)} if unexpected else {}


def check_stored_dtypes(name: str, module: Any, files: Sequence[Path]) -> None:
    """Refuse weights that are stored as integers or booleans: read as real numbers they are not what was trained.

    A quantised checkpoint says in its configuration how its integers become weights; such a model is loaded by that.
    """
    if getattr(module.config, "quantization_config", None) is not None:
        return
    prefix = f"{getattr(module, 'base_model_prefix', '') or ''}."
    parameters = {key.removeprefix(prefix) for key, _ in module.named_parameters()}
    for path in files:
        for key, dtype in _stored_dtypes(path):
            if key.removeprefix(prefix) in parameters and not dtype.startswith(("F", "BF", "float", "bfloat")):
                _refuse_integers(name, key, dtype)


def check_dtypes(name: str, module: Any) -> None:
    """Refuse a module in memory whose parameters are integers or booleans without a quantisation that undoes it."""
    if getattr(module.config, "quantization_config", None) is None:
        for key, parameter in module.named_parameters():
            if not parameter.is_floating_point():
                _refuse_integers(name, key, str(parameter.dtype).removeprefix("torch."))


def _refuse_integers(name: str, weight: str, dtype: str) -> None:
    raise ModelError(
        f"{name}: the weight {weight} is stored as {dtype}, and its configuration does not say how integers become weights "
        "(quantization_config). Use the checkpoint in float32, bfloat16 or float16.",
        code="integer-weights", model=name, weight=weight, dtype=dtype,
    )  # fmt: skip


def _stored_dtypes(path: Path) -> Iterator[tuple[str, str]]:
    """Names and dtypes of the tensors of a file, without reading the tensors."""
    if path.suffix == ".safetensors":
        yield from ((key, str(value["dtype"])) for key, value in read_header(path)[0].items())
    elif path.suffix == ".bin":
        import torch

        for key, value in torch.load(path, map_location="meta", weights_only=True).items():
            if isinstance(value, torch.Tensor):
                yield key, str(value.dtype).removeprefix("torch.")


def _in_layers(module: Any, keys: Iterable[str]) -> Iterable[str]:
    """Yield the weights of a layer (a number in a list of modules) in a list that the model has too."""
    prefix = f"{getattr(module, 'base_model_prefix', '') or ''}."
    lists = {list_of for key in module.state_dict() if (list_of := _list_of(key, prefix))}
    return (key for key in keys if _list_of(key, prefix) in lists)


def _list_of(key: str, prefix: str) -> str | None:
    numbered = NUMBERED.match(key.removeprefix(prefix))
    return numbered[1] if numbered else None


def _some(keys: list[str]) -> str:
    return ", ".join(keys[:4]) + (" …" if len(keys) > 4 else "")


def count_embeddings(module: Any) -> int:
    """Number of tokens that a model has embeddings for."""
    return int(module.get_input_embeddings().weight.shape[0])


def check_tokenizer(name: str, module: Any, tokenizer: Any) -> dict[str, str]:
    """Raise an error if the numbers of tokens show that a tokenizer is another model's; return how they differ.

    Special tokens that the model has no embedding for (a padding token that somebody added) do no harm while no sentence
    contains one, which is checked when sentences are read; spare embeddings are padding.
    """
    rows = count_embeddings(module)
    ids = set(tokenizer.get_vocab().values())
    words = ids - set(tokenizer.all_special_ids) - set(getattr(tokenizer, "added_tokens_decoder", {}))
    largest = max(words, default=-1)
    if largest >= rows:
        raise ModelError(
            f"{name}: its tokenizer gives ids up to {largest:,}, and the model has {rows:,} embeddings: the tokenizer "
            "belongs to another model.",
            code="tokenizer-mismatch",
            model=name,
            tokens=largest + 1,
            embeddings=rows,
        )
    if rows - len(ids) > max(FEW_SPARE_ROWS, SPARE_SHARE * rows):
        raise ModelError(
            f"{name}: its tokenizer has {len(ids):,} tokens, and the model has {rows:,} embeddings: the tokenizer belongs "
            "to another model.",
            code="tokenizer-mismatch",
            model=name,
            tokens=len(ids),
            embeddings=rows,
        )
    return {} if len(ids) == rows else {"tokenizer_fit": TOKENIZER_FIT.format(len(ids), rows)}
