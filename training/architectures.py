"""The four architectures, built by transformers, cut into body and head so that the head sees only what is predicted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from training.recipe import Recipe


def make_model(recipe: Recipe, tokenizer: Any) -> Any:
    """A model with fresh weights from the recipe's seed. It trains without dropout: it is too small to overfit."""
    import transformers

    torch.manual_seed(recipe.seed)
    name, configure = MODELS[recipe.architecture]
    return getattr(transformers, name)._from_config(configure(recipe, tokenizer), attn_implementation="sdpa")


def _bert(recipe: Recipe, tokenizer: Any, **changes: Any) -> Any:
    from transformers import BertConfig, RobertaConfig

    make = RobertaConfig if recipe.architecture == "roberta" else BertConfig
    options = {
        "vocab_size": len(tokenizer),
        "hidden_size": recipe.width,
        "num_hidden_layers": recipe.layers,
        "num_attention_heads": recipe.heads,
        "intermediate_size": 4 * recipe.width,
        "max_position_embeddings": recipe.length,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "pad_token_id": tokenizer.pad_token_id,
    }
    return make(**options | changes)


def _roberta(recipe: Recipe, tokenizer: Any) -> Any:
    offset = tokenizer.pad_token_id + 1  # RoBERTa counts positions from here
    return _bert(
        recipe,
        tokenizer,
        max_position_embeddings=recipe.length + offset,
        type_vocab_size=1,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )


def _distilbert(recipe: Recipe, tokenizer: Any) -> Any:
    from transformers import DistilBertConfig

    return DistilBertConfig(
        vocab_size=len(tokenizer),
        dim=recipe.width,
        n_layers=recipe.layers,
        n_heads=recipe.heads,
        hidden_dim=4 * recipe.width,
        max_position_embeddings=recipe.length,
        dropout=0.0,
        attention_dropout=0.0,
        pad_token_id=tokenizer.pad_token_id,
    )


def _gpt2(recipe: Recipe, tokenizer: Any) -> Any:
    from transformers import GPT2Config

    return GPT2Config(
        vocab_size=len(tokenizer),
        n_embd=recipe.width,
        n_layer=recipe.layers,
        n_head=recipe.heads,
        n_positions=recipe.length,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        resid_pdrop=0.0,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )


MODELS: dict[str, tuple[str, Callable[[Recipe, Any], Any]]] = {
    "bert": ("BertForMaskedLM", _bert),
    "roberta": ("RobertaForMaskedLM", _roberta),
    "distilbert": ("DistilBertForMaskedLM", _distilbert),
    "gpt2": ("GPT2LMHeadModel", _gpt2),
}
DROPOUTS = {
    "bert": ("hidden_dropout_prob", "attention_probs_dropout_prob"),
    "roberta": ("hidden_dropout_prob", "attention_probs_dropout_prob"),
    "distilbert": ("dropout", "attention_dropout"),
    "gpt2": ("embd_pdrop", "attn_pdrop", "resid_pdrop"),
}


def body_and_head(model: Any, architecture: str) -> tuple[Callable[..., Tensor], Callable[[Tensor], Tensor]]:
    """(inputs, positions, allowed) → hidden states, and hidden states → scores over the vocabulary."""
    extra = {"use_cache": False} if architecture == "gpt2" else {}

    def body(inputs: Tensor, positions: Tensor, allowed: Tensor) -> Tensor:
        if architecture == "roberta":
            positions = positions + model.config.pad_token_id + 1
        given = {"input_ids": inputs, "position_ids": positions, "attention_mask": allowed}
        hidden: Tensor = model.base_model(**given, **extra).last_hidden_state
        return hidden

    if architecture == "distilbert":
        return body, nn.Sequential(model.vocab_transform, model.activation, model.vocab_layer_norm, model.vocab_projector)
    return body, model.cls if architecture == "bert" else model.lm_head


def loss_function(model: Any, architecture: str) -> Callable[[dict[str, Tensor]], Tensor]:
    """The mean cross-entropy of one batch; the head is asked only where something is predicted."""
    body, head = body_and_head(model, architecture)

    def loss(batch: dict[str, Tensor]) -> Tensor:
        hidden = body(batch["inputs"], batch["positions"], batch["allowed"]).flatten(0, 1)
        if "index" in batch:
            hidden = hidden[batch["index"]]
        return nn.functional.cross_entropy(head(hidden).float(), batch["labels"])

    return loss
