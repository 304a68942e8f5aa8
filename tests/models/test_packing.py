"""Packed linear layers: a model that computed can be copied, and a change of its weights in place is seen."""

from __future__ import annotations

import copy

import pytest
import torch

from tiltmeter.models.packing import pack_linears


@pytest.fixture
def layer() -> torch.nn.Module:
    made = torch.nn.Linear(16, 8)
    if not pack_linears(made):
        pytest.skip("this processor has no packed layers")
    with torch.inference_mode():
        made(torch.ones(3, 16))
    return made


def test_a_model_that_computed_can_be_copied(layer: torch.nn.Module) -> None:
    copied = copy.deepcopy(layer)
    with torch.no_grad():
        for weight in copied.parameters():
            weight.mul_(2)
        assert torch.allclose(copied(torch.ones(3, 16)), 2 * layer(torch.ones(3, 16)), atol=1e-5)


def test_a_change_in_place_is_seen(layer: torch.nn.Module) -> None:
    with torch.no_grad():
        before = layer(torch.ones(3, 16))
        for weight in layer.parameters():
            weight.mul_(2)
        assert torch.allclose(layer(torch.ones(3, 16)), 2 * before, atol=1e-5)
