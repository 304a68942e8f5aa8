"""Reference settings: each method at those of its authors' code, by name, on tiny models; and each variant on its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from conftest import GOLDEN
from test_cli import tiltmeter as command
from tiltmeter import catalog
from tiltmeter.builders.counterfactual import make_swaps
from tiltmeter.debias import make, reference_of
from tiltmeter.debias.inlp import sentence_classes
from tiltmeter.debias.kit.grouped_sentences import single_swaps
from tiltmeter.debias.kit.layers import Layers, occurrence_means
from tiltmeter.debias.kit.pretraining import text_of
from tiltmeter.debias.kit.prompt_sentences import single_tokens
from tiltmeter.debias.kit.word_positions import Occurrence
from tiltmeter.errors import UsageError
from tiltmeter.finetune.best_checkpoint import Best
from tiltmeter.finetune.optimizers import learning_rate
from tiltmeter.finetune.recipe import Recipe
from tiltmeter.finetune.row_order import Order
from tiltmeter.finetune.text import encode
from tiltmeter.models import Tokenization, load_model, load_parts

ROOT = Path(__file__).parents[2]
MODEL = GOLDEN / "models" / "tiny-bert-cased"
METHODS = ("auto_debias", "cda", "context_debias", "dropout", "inlp", "self_debias", "sentence_debias")
SMALL: dict[str, dict[str, Any]] = {
    "auto_debias": {"beam": 2, "candidates": 20, "lengths": 1},
    "cda": {"steps": 2, "rows": 4, "length": 32},
    "context_debias": {"epochs": 1.0, "lines": 300, "rows": 8, "held_out": 20},
    "dropout": {"steps": 2, "rows": 4, "length": 32},
    "inlp": {"iterations": 3},
    "self_debias": {},
    "sentence_debias": {"lines": 300},
}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_at_reference_settings(method: str, tmp_path: Path) -> None:
    out = make(method, MODEL, output=tmp_path / "out", device="cpu", reference_settings=True, **SMALL[method])
    stored = json.loads((out / "manifest.json").read_text())
    options = stored["options"] | stored.get("recipe", {})
    known = reference_of(catalog.find("debias", method))
    assert known is not None
    for name, value in {**known.options, **SMALL[method]}.items():
        if name in options:
            assert options[name] == value, name
    assert load_model(out).kind == "masked"


def test_reference_settings_are_options_with_values_of_their_own() -> None:
    for name in METHODS:
        entry = catalog.find("debias", name)
        known = reference_of(entry)
        assert known is not None and known.code.startswith("github.com/")
        assert set(known.options) <= set(entry.parameters), name


def test_the_command_line_lets_options_go_before_the_reference(tmp_path: Path) -> None:
    words = ["debias", "self-debias", "-m", str(MODEL), "-o", str(tmp_path / "out"), "--reference-settings", "--decay", "10"]
    assert command(*words) == 0
    settings = json.loads((tmp_path / "out" / "manifest.json").read_text())["options"]
    assert settings["template"].endswith(": ") and settings["decay"] == 10


def test_packed_rows_are_full_and_hold_the_text_in_order() -> None:
    parts = load_parts(MODEL)
    lines = text_of(None).lines[:60]
    rows = encode(lines, parts.module, parts.tokenizer, causal=False, length=32, packed=True)
    assert {len(row) for row in rows} == {32}
    flow = [token for line in lines for token in parts.tokenizer(line)["input_ids"]]
    assert [token for row in rows for token in row] == flow[: 32 * (len(flow) // 32)]


def test_a_constant_rate_does_not_fall() -> None:
    rates = [learning_rate(Recipe(schedule="constant", peak_rate=1.0), step, 10) for step in range(10)]
    assert rates == [1.0] * 10
    assert learning_rate(Recipe(peak_rate=1.0), 9, 10) < 0.2
    assert Recipe().digest() != Recipe(schedule="constant").digest()


def test_equal_batches_have_one_kind_each_and_as_many_of_each() -> None:
    kinds = np.repeat([-1, 0, 1], [100, 40, 24])
    order = Order(np.full(164, 5), 8, 0, kinds)
    assert order.steps_per_epoch == 9
    seen = [np.unique(kinds[order(step)]).tolist() for step in range(9)]
    assert sorted(seen) == sorted([[-1]] * 3 + [[0]] * 3 + [[1]] * 3)
    rows = np.concatenate([order(step) for step in range(9)])
    assert len(set(rows.tolist())) == len(rows) == 72


def test_a_direction_may_be_the_mean_over_occurrences() -> None:
    parts = load_parts(MODEL, precision="fp32", device="cpu")
    layers = Layers(parts.module.eval(), 0)
    ids = [tuple(parts.tokenizer(text)["input_ids"]) for text in ("a woman", "the woman", "her")]
    some = [Occurrence(ids[0], (2,), "woman", 0), Occurrence(ids[1], (2,), "woman", 0), Occurrence(ids[2], (1,), "her", 0)]
    with torch.no_grad():
        each = torch.stack([layers.of_words([one])[0] for one in some])
    torch.testing.assert_close(occurrence_means(layers, some)[0], each.mean(0))


def test_one_pair_is_swapped_at_a_time() -> None:
    (swap,) = make_swaps()
    sentence = "woman, brother, queen"
    pairs = single_swaps([sentence], swap, 0, 0)
    assert {first for first, _ in pairs} == {sentence}
    swaps = {"woman": "man", "brother": "sister", "queen": "king"}
    assert {second for _, second in pairs} >= {sentence.replace(word, other) for word, other in swaps.items()}


def test_classes_of_inlp() -> None:
    (swap,) = make_swaps()
    lines = [
        "The woman slept well here.",
        "The man slept well here.",
        "The woman saw the man there.",
        "It rained all day long.",
    ]
    terms = swap.lists[0]
    assert [len(some) for some in sentence_classes(lines, terms, 10, 0).values()] == [1, 1, 1]
    assert [len(some) for some in sentence_classes(lines, terms, 10, 0, classes="any").values()] == [3, 1]
    assert len(sentence_classes(lines, terms, 10, 0, classes="published")) == 3
    for some in sentence_classes(lines, terms, 10, 0, classes="any", clip=True).values():
        assert all(text == text.lower() for text in some)
    assert any("woman" in text for text in sentence_classes(lines, terms, 10, 0, clip=True)[terms.groups[0]])
    with pytest.raises(UsageError) as caught:
        sentence_classes(lines, terms, 10, 0, classes="all")
    assert caught.value.code == "unknown-name"


def test_candidates_of_prompts_may_be_listed(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("was\nis\nthe\nnotawordatall\n")
    options: dict[str, Any] = {"beam": 3, "lengths": 1, "candidate_words": tmp_path / "words.txt", "device": "cpu"}
    out = make("auto-debias", MODEL, output=tmp_path / "out", **options)
    found = {row["text"] for row in json.loads((out / "prompts.json").read_text())["prompts"]}
    assert found and found <= {"was", "is", "the"}
    assert len(single_tokens(Tokenization(load_parts(MODEL).tokenizer), ["was", "notawordatall"])) == 1


def test_the_best_weights_are_kept(tmp_path: Path) -> None:
    options: dict[str, Any] = {"steps": 120, "rate": 5e-2, "keep": "best", "rows": 4, "device": "cpu", "lines": 300}
    out = make("context-debias", MODEL, output=tmp_path / "out", held_out=20, **options)
    training = json.loads((out / "manifest.json").read_text())["training"]
    looks = {look["step"]: look["loss"] for look in training["held_out"] if look["step"]}
    assert looks[training["weights_of_step"]] == min(looks.values())


@pytest.mark.parametrize(("options", "expected"), [({"keep_best": True}, 20), ({"patience": 9}, 20), ({}, 0)])
def test_weights_of_the_lowest_loss_are_restored(options: dict[str, Any], expected: int) -> None:
    weight = torch.zeros(1)
    best = Best(Recipe(steps=30, evaluate_every=10, **options), 30, {"weight": weight}, None)
    for step, loss in [(0, 0.1), (10, 1.0), (20, 0.5), (30, 0.9)]:
        weight.fill_(step)
        best.look(step, loss)
    assert best.restore() == expected and weight.item() == (expected or 30)


def test_context_debias_ends_with_the_best_weights_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss is made to rise, so that the first look is the best and only the option decides which weights are left."""
    real = Best.look
    monkeypatch.setattr(Best, "look", lambda self, step, loss: real(self, step, float(step)))
    for keep, expected in (("best", 50), ("last", 120)):
        options: dict[str, Any] = {"steps": 120, "keep": keep, "rows": 4, "device": "cpu", "lines": 300}
        out = make("context-debias", MODEL, output=tmp_path / keep, held_out=20, **options)
        assert json.loads((out / "manifest.json").read_text())["training"]["weights_of_step"] == expected
