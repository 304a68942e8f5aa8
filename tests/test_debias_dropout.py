"""Dropout: the published shares, in layers that use them, and a configuration that is as before."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import tiltmeter
from conftest import GOLDEN
from support.raising import raises
from tiltmeter.debias import make
from tiltmeter.debias.dropout import shares_of, with_dropout
from tiltmeter.finetune import Recipe, load_trainable
from tiltmeter.models import Parts

MODELS = GOLDEN / "models"


def parts_of(name: str) -> Parts:
    return load_trainable(MODELS / name, Recipe(), method="dropout", device="cpu")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("tiny-bert-cased", {"hidden_dropout_prob": 0.20, "attention_probs_dropout_prob": 0.15}),
        ("tiny-roberta", {"hidden_dropout_prob": 0.20, "attention_probs_dropout_prob": 0.15}),
        ("tiny-albert", {"hidden_dropout_prob": 0.05, "attention_probs_dropout_prob": 0.05}),
        ("tiny-gpt2", {"resid_pdrop": 0.15, "embd_pdrop": 0.15, "attn_pdrop": 0.15}),
    ],
)
def test_the_published_shares_reach_the_layers(name: str, wanted: dict[str, float]) -> None:
    parts = parts_of(name)
    assert shares_of(parts) == wanted
    raised = with_dropout(parts, wanted)
    assert {layer.p for layer in raised.module.modules() if isinstance(layer, torch.nn.Dropout)} == set(wanted.values())
    ids = torch.tensor([[5, 6, 7, 8, 9]])
    with torch.no_grad():
        assert torch.equal(raised.module.eval()(input_ids=ids).logits, parts.module.eval()(input_ids=ids).logits)
        spread = []
        for some in (with_dropout(parts, dict.fromkeys(wanted, 0.01)), raised):
            torch.manual_seed(0)
            spread.append(torch.stack([some.module.train()(input_ids=ids).logits for _ in range(20)]).std(0).mean())
    assert spread[1] > 1.5 * spread[0]
    assert raised.module.get_output_embeddings().weight is raised.module.get_input_embeddings().weight


def test_shares_of_ones_own_and_those_that_are_refused() -> None:
    parts = parts_of("tiny-bert-cased")
    assert shares_of(parts, 0.3, 0.0) == {"hidden_dropout_prob": 0.3, "attention_probs_dropout_prob": 0.0}
    for hidden in (1.0, -0.1):
        with raises("out-of-range", name="dropout", value=hidden):
            shares_of(parts, hidden)
    without = SimpleNamespace(config=SimpleNamespace(model_type="other", dropout=None))
    with raises("missing-capability", capability="dropout"):
        shares_of(replace(parts, module=without))


@pytest.mark.parametrize("name", ["tiny-bert-cased", "tiny-gpt2"])
def test_the_folder_has_the_dropout_of_before(name: str, tmp_path: Path) -> None:
    out = make("dropout", MODELS / name, output=tmp_path / "out", steps=3, rows=8, device="cpu", hidden=0.4)
    before, after = (json.loads((folder / "config.json").read_text()) for folder in (MODELS / name, out))
    assert {key: value for key, value in before.items() if "drop" in key} == {
        key: value for key, value in after.items() if "drop" in key
    }
    told = json.loads((out / "manifest.json").read_text())["options"]["dropout"]
    assert set(told.values()) == {0.4, 0.15}
    parent, model = tiltmeter.load_model(MODELS / name), tiltmeter.load_model(out)
    assert model.kind == parent.kind and model.identity.model != parent.identity.model
