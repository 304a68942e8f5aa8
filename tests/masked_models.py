"""Masked models of each make: the golden ones, and a DistilBERT with random weights and the golden BERT's tokenizer."""

from __future__ import annotations

from pathlib import Path

import torch

from conftest import GOLDEN, MASKED

HEADS = (*MASKED, "tiny-distilbert")


def masked_model(name: str, folder: Path) -> Path:
    """A model folder; the DistilBERT is made in `folder`."""
    if name in MASKED:
        return GOLDEN / "models" / name
    from transformers import AutoTokenizer, DistilBertConfig, DistilBertForMaskedLM

    place = folder / name
    tokenizer = AutoTokenizer.from_pretrained(GOLDEN / "models" / "tiny-bert-cased")
    config = DistilBertConfig(
        vocab_size=len(tokenizer), dim=32, n_heads=2, n_layers=2, hidden_dim=64, max_position_embeddings=64,
        pad_token_id=tokenizer.pad_token_id, initializer_range=0.3,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        DistilBertForMaskedLM(config).save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place
