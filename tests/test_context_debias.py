"""Context-Debias: stereotype words leave the gender direction, attribute words stay; the loss in both of its readings."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import tiltmeter
from conftest import GOLDEN
from masked_models import HEADS, masked_model
from support.raising import raises
from tiltmeter.builders.counterfactual import make_swaps
from tiltmeter.debias import make
from tiltmeter.debias.context_debias import settled
from tiltmeter.debias.kit.context_debias_objective import Objective, Orthogonal, directions
from tiltmeter.debias.kit.layers import Layers, kept, leaning
from tiltmeter.debias.kit.pretraining import text_of
from tiltmeter.debias.kit.stereotypes import stereotype_words
from tiltmeter.debias.kit.word_positions import Found, Occurrence, occurrences
from tiltmeter.models import Tokenization, load_parts

MODELS = GOLDEN / "models"
FRAMES = ("The {} sat in the garden.", "We saw the {} behind the shop.", "Nobody knew this {} well.", "A {} came late.")
WOMEN, MEN = ("woman", "girl", "mother", "queen"), ("man", "boy", "father", "king")
OTHERS = ("nurse", "doctor", "engineer", "teacher", "secretary", "scientist")
LINES = (
    "The woman sat in the garden.", "A man waited for the train.", "The nurse read a book.", "The old doctor was tired.",
    "The queen laughed at it.", "The king was asked to sing.", "Nobody knew the engineer.", "His uncle came by the river.",
    "Her aunt stayed at home.", "The teacher and the woman talked to the man.", "It rained.",
    "We saw the nurse behind the shop.",
)  # fmt: skip


def found_in(name: str | Path, lines: Any = LINES, length: int = 128) -> Found:
    (swap,) = make_swaps()
    tokens = Tokenization(load_parts(name).tokenizer)
    return occurrences(tokens, lines, swap.lists[0], stereotype_words(), length)


def layers_of(name: str | Path, layer: str = "all") -> Layers:
    parts = load_parts(name, precision="fp32", device="cpu")
    return Layers(parts.module.eval(), Tokenization(parts.tokenizer).pad_id, layer)


def test_stereotypes_leave_the_direction_and_attribute_words_stay(tmp_path: Path) -> None:
    """In sentences that were learned from; docs/debiasing.md has the figures of a larger model."""
    base, text = MODELS / "tiny-bert-cased", tmp_path / "text.txt"
    lines = [frame.format(word) for frame in FRAMES for word in (*WOMEN, *MEN, *OTHERS)]
    text.write_text("\n".join(lines), encoding="utf-8")
    how = {"steps": 150, "rate": 3e-3, "alpha": 0.8, "beta": 0.2}
    out = make("context-debias", base, output=tmp_path / "out", text=text, device="cpu", **how)
    found = found_in(base, lines)
    before, after = layers_of(base), layers_of(out)
    assert leaning(after, found) < 0.5 * leaning(before, found)
    assert kept(after, before, found.attributes) >= 0.95
    told = json.loads((out / "manifest.json").read_text())
    assert told["method"] == "context_debias" and told["data"]["stereotypes"] == len(found.stereotypes) == 24
    looks = told["training"]["held_out"]
    assert looks[-1]["loss"] < looks[0]["loss"]


@pytest.mark.parametrize("head", HEADS)
def test_it_works_on_every_kind_of_masked_model_and_can_be_repeated(head: str, tmp_path: Path) -> None:
    base = masked_model(head, tmp_path)
    text = tmp_path / "text.txt"
    text.write_text("\n".join(LINES * 2 + LINES), encoding="utf-8")
    folders = [
        make("context-debias", base, output=tmp_path / str(n), text=text, device="cpu", steps=2, rows=8, rate=1e-3)
        for n in range(2)
    ]
    models = [tiltmeter.load_model(folder) for folder in folders]
    assert models[0].identity.model == models[1].identity.model != tiltmeter.load_model(base).identity.model
    first, second = ((folder / "log.jsonl").read_text().splitlines() for folder in folders)
    assert [json.loads(line)["loss"] for line in first] == [json.loads(line)["loss"] for line in second]


def test_words_are_found_where_they_stand() -> None:
    found = found_in("plumb-mlm")
    parts = load_parts("plumb-mlm")
    spelt = [(one.word, parts.tokenizer.decode([one.ids[at] for at in one.positions]).lower()) for one in found.stereotypes]
    assert spelt and all(word == text for word, text in spelt)
    assert {word for word, _ in spelt} >= {"nurse", "doctor", "engineer"}
    assert {one.word for one in found.attributes if one.group == 0} >= {"woman", "queen", "aunt", "her"}
    assert {one.word for one in found.attributes if one.group == 1} >= {"man", "king", "uncle", "his"}
    assert "teacher" not in {word for word, _ in spelt}, "that sentence names both groups"
    assert not found_in("plumb-mlm", length=4).stereotypes


def test_what_is_only_looked_at_is_not_learned_from() -> None:
    found = found_in("plumb-mlm", text_of(None).lines)
    learned, held = found.split(1000, 0)
    texts = [{one.ids for one in (*some.attributes, *some.stereotypes)} for some in (learned, held)]
    assert not texts[0] & texts[1]
    assert len(texts[1]) == int(0.1 * (len(texts[0]) + len(texts[1])))
    assert found.split(1000, 1)[1] != held


class Fixed:
    """Layers that give the vectors they are told, as if a model had."""

    device = torch.device("cpu")

    def __init__(self, vectors: Any) -> None:
        self.vectors = torch.tensor(vectors, dtype=torch.float32)

    def states(self, some: Any) -> tuple[torch.Tensor, torch.Tensor]:
        return self.vectors[[one.ids[0] for one in some]][:, None], torch.ones(len(some), 1, dtype=torch.bool)

    def chosen(self, states: torch.Tensor) -> torch.Tensor:
        return states

    def at_words(self, states: torch.Tensor, some: Any) -> torch.Tensor:
        return states[:, 0]


def test_both_readings_of_the_loss_by_hand() -> None:
    """Two words on either side of a direction: their squares are 4 and 4, and the square of their mean is 0."""
    words = [Occurrence((n,), (0,), "w", -1) for n in range(2)]
    vectors = [[[2.0, 0.0]], [[-2.0, 1.0]]]  # word × layer × width
    along = torch.tensor([[[1.0, 0.0]], [[0.0, 3.0]]])  # direction × layer × width
    for loss, wanted in (("mean-of-squares", (4 + 4 + 0 + 9) / 4), ("square-of-mean", 0**2 + 1.5**2)):
        aim = Objective(loss=loss, alpha=0.5, beta=1.0)
        layers: Any = Fixed(vectors)
        task = Orthogonal(aim, layers, layers, along, Found([], words))
        assert float(task.loss(np.arange(2), {})) == pytest.approx(0.5 * wanted)


def test_directions_are_of_words_or_of_groups() -> None:
    layers, found = layers_of(MODELS / "tiny-bert-cased"), found_in(MODELS / "tiny-bert-cased")
    words = {(one.word, one.group) for one in found.attributes}
    many = directions(layers, found.attributes, "mean-of-squares", "raw")
    two = directions(layers, found.attributes, "square-of-mean", "raw")
    assert len(many) == len(words) and len(two) == 2
    of_group = [group for _, group in sorted(words)]
    for group in range(2):
        torch.testing.assert_close(two[group], many[[n for n, of in enumerate(of_group) if of == group]].mean(0))
    unit = directions(layers, found.attributes, "mean-of-squares", "unit")
    torch.testing.assert_close(unit.norm(dim=-1), torch.ones(unit.shape[:2]))


@pytest.mark.parametrize("layer", ["all", "first", "last"])
def test_layers_are_the_models_own(layer: str) -> None:
    layers, found = layers_of(MODELS / "tiny-bert-cased", layer), found_in(MODELS / "tiny-bert-cased")
    some = sorted(found.attributes, key=lambda one: len(one.ids))[:5]
    with torch.no_grad():
        padded = layers.of_words(some)
        for one, vectors in zip(some, padded, strict=True):
            states = layers.module.base_model(input_ids=torch.tensor([one.ids]), output_hidden_states=True).hidden_states
            wanted = torch.stack([state[0, list(one.positions)].mean(0) for state in states])
            wanted = {"all": wanted, "first": wanted[:1], "last": wanted[-1:]}[layer]
            torch.testing.assert_close(vectors, wanted, rtol=1e-4, atol=1e-5)


def test_the_level_of_sentences_reads_every_token_and_nothing_moved_costs_nothing() -> None:
    found = found_in(MODELS / "tiny-bert-cased")
    parts = load_parts(MODELS / "tiny-bert-cased", precision="fp32", device="cpu")
    module = parts.module.eval()
    pad = Tokenization(parts.tokenizer).pad_id
    task, _ = Objective("sentence", alpha=1.0, beta=1.0).tasks(module, pad, found, Found([], []))
    stereotypes = np.arange(len(found.stereotypes))
    with torch.no_grad():
        states, valid = task.layers.states(found.stereotypes)
        wanted = torch.einsum("nlw,dlw->dnl", states[valid], task.along).square().mean()
        torch.testing.assert_close(task.loss(stereotypes, {}), wanted)
        others = np.arange(len(found.stereotypes), len(task.lengths))
        assert float(task.loss(others, {})) == 0
        for parameter in module.parameters():
            parameter.add_(0.01)
        assert float(task.loss(others, {})) > 0


def test_settings_go_together() -> None:
    """As published with a text and a GPU; else for few steps. Weights follow the scale, and epochs replace steps."""
    nothing = dict.fromkeys(("scale", "alpha", "beta", "rate", "epochs", "steps"))
    assert settled(nothing, published=True) == {
        "scale": "raw", "alpha": 0.2, "beta": 0.8, "rate": 5e-5, "epochs": 3.0, "steps": 0,
    }  # fmt: skip
    assert settled(nothing, published=False)["scale"] == "unit"
    assert settled(nothing | {"scale": "raw"}, published=False) | {"alpha": 0.2, "beta": 0.8} == settled(
        nothing | {"scale": "raw"}, published=False
    )
    assert settled(nothing | {"epochs": 2.0}, published=False)["steps"] == 0
    assert settled(nothing | {"alpha": 0.0}, published=True)["alpha"] == 0.0


@pytest.mark.parametrize(
    ("options", "code", "fields"),
    [
        ({"level": "word"}, "unknown-name", {"kind": "level", "name": "word"}),
        ({"layer": "second"}, "unknown-name", {"kind": "layer", "name": "second"}),
        ({"loss": "squares"}, "unknown-name", {"kind": "loss", "name": "squares"}),
        ({"scale": "large"}, "unknown-name", {"kind": "scale", "name": "large"}),
        ({"alpha": -1.0}, "out-of-range", {"name": "alpha, beta"}),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], code: str, fields: dict[str, Any], tmp_path: Path) -> None:
    with raises(code, **fields):
        make("context-debias", "plumb-mlm", output=tmp_path / "out", device="cpu", **options)
    assert not list(tmp_path.iterdir())


def test_text_that_says_too_little_and_models_of_other_kinds_are_refused(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    for lines, kind in (
        ("It rained all day.\nThe nurse slept well.", "sentences that name female"),
        ("\n".join(line for line in LINES * 4 if "nurse" not in line and "doctor" not in line and "engineer" not in line),
         "sentences with a stereotype word that name no group"),
    ):  # fmt: skip
        text.write_text(lines, encoding="utf-8")
        with raises("too-few", kind=kind, least=4):
            make("context-debias", MODELS / "tiny-bert-cased", output=tmp_path / "out", text=text, device="cpu")
    with raises("wrong-model-kind", kind="causal", kinds=["masked"]):
        make("context-debias", MODELS / "tiny-gpt2", output=tmp_path / "out", device="cpu")
    slow: Any = SimpleNamespace(tokenizer=SimpleNamespace(is_fast=False))
    with raises("missing-capability", capability="fast tokenizer"):
        occurrences(slow, LINES, make_swaps()[0].lists[0], ("nurse",), 128)
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]
