"""What is known of a large model before it is read: the stored result of its trial, and its kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import tiltmeter
from tiltmeter.models import logits, placement, tree_trials
from tiltmeter.models.lm_head import BodyAndHead
from tiltmeter.models.prefix_trees import reason_against


def test_a_trial_is_stored_for_its_weights_and_libraries(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    """A second load does not try again; other weights, another version of a library or a damaged file do."""
    tried: list[int] = []

    def trial(parts: BodyAndHead) -> str | None:
        tried.append(1)
        return reason_against(parts)

    monkeypatch.setattr(tree_trials, "reason_against", trial)
    plain = tiltmeter.load_model("plumb-clm", device="cpu")
    assert len(tried) == 1 and not (own_cache / "trials").exists()  # a small model
    monkeypatch.setattr(tree_trials, "LARGE", 1)
    first, second = (tiltmeter.load_model("plumb-clm", device="cpu") for _ in range(2))
    assert len(tried) == 2 and first.facts == second.facts == plain.facts and second.facts["shared_prefixes"]
    before = tree_trials._surroundings(plain._parts)
    assert before["torch"] == torch.__version__ and before["device"] == "cpu"
    monkeypatch.setattr(tree_trials, "_surroundings", lambda parts: before | {"torch": "0.0"})
    tiltmeter.load_model("plumb-clm", device="cpu")
    assert len(tried) == 3
    for file in (own_cache / "trials").iterdir():
        file.write_text("{", "utf-8")
    tiltmeter.load_model("plumb-clm", device="cpu")
    assert len(tried) == 4
    other = tiltmeter.wrap_model(plain.module, plain.tokenizer, name="in memory")
    assert len(tried) == 5 and other.facts["shared_prefixes"]


def test_kernels_of_a_large_model_are_loaded_in_its_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: list[tuple[int, ...]] = []
    linear = torch.nn.functional.linear

    def seen(states: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        shapes.append((len(states), *weight.shape))
        return linear(states, weight)

    monkeypatch.setattr(torch.nn.functional, "linear", seen)
    monkeypatch.setattr(placement, "MANY_ROWS", (2, 64))
    monkeypatch.setattr(placement, "MOST_PRODUCTS", 64 * 40)
    placement._products(((16, 8), (8, 41)), (4, 4), "cpu", torch.float32)
    assert shapes == [(2, 8, 16), (64, 8, 16), (2, 41, 8)]


@pytest.mark.parametrize("shape", [(6, 4), (4, 6)])
def test_kernels_that_read_logits_are_loaded(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    monkeypatch.setattr(logits, "_larger", lambda rows, picked: counted.append(len(rows)) or torch.zeros_like(picked).long())
    placement._read_logits(torch.randn(shape))
    assert counted == [shape[0], 1, shape[0]]  # first reads of all rows, the second of one, and no second one
