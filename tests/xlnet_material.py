"""A tiny XLNet with random weights and a vocabulary of the test sentences, made anew for the tests."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast, XLNetConfig, XLNetLMHeadModel

import tiltmeter

SPECIAL = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>"]


def tokenizer_of(texts: list[str]) -> PreTrainedTokenizerFast:
    """Unigram pieces; a sentence ends with <sep> and <cls>, whose segment is 2."""
    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.train_from_iterator(texts, trainers.UnigramTrainer(vocab_size=700, special_tokens=SPECIAL, unk_token="<unk>"))
    made.model = models.Unigram(_in_order(json.loads(made.to_str())["model"]["vocab"]), unk_id=0)
    ids = [(token, made.token_to_id(token)) for token in ("<sep>", "<cls>")]
    made.post_processor = processors.TemplateProcessing(single="$A:0 <sep>:0 <cls>:2", special_tokens=ids)
    return PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", bos_token="<s>", eos_token="</s>", sep_token="<sep>", cls_token="<cls>",
        pad_token="<pad>", mask_token=AddedToken("<mask>", lstrip=True), padding_side="left",
    )  # fmt: skip


def _in_order(vocabulary: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """The same in every process: training leaves pieces in the order of a hash table, which decides ids and thereby
    weights, and its scores differ in late digits. The longer a piece, the likelier.
    """
    pieces = sorted(piece for piece, _ in vocabulary if piece not in SPECIAL)
    return [*((piece, 0.0) for piece in SPECIAL), *((piece, len(piece) - 20.0) for piece in pieces)]


@cache
def tiny_xlnet() -> Path:
    """Two layers of 32; weights wide enough that tokens differ in probability."""
    folder = Path(mkdtemp(prefix="tiltmeter-xlnet-")) / "tiny-xlnet"
    pairs = tiltmeter.load_benchmark("starter-pairs")
    tokenizer = tokenizer_of([text for item in pairs.items for text in item.texts.values()])
    config = XLNetConfig(
        vocab_size=len(tokenizer), d_model=32, n_layer=2, n_head=4, d_inner=64, initializer_range=0.3, dropout=0.0,
        architectures=["XLNetLMHeadModel"],
    )  # fmt: skip
    torch.manual_seed(5)
    model = XLNetLMHeadModel(config)
    with torch.no_grad():
        for layer in model.transformer.layer:  # these begin at zero or stay small
            for name in ("r_w_bias", "r_r_bias", "r_s_bias", "seg_embed"):
                getattr(layer.rel_attn, name).normal_(0, 0.3)
        model.transformer.mask_emb.normal_(0, 0.3)
        model.lm_loss.bias.normal_(0, 0.3)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
