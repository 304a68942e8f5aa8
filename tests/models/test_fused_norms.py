"""RMS norms by torch's kernel: the same values up to rounding, and nothing that only looks like one."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
import transformers

from tiltmeter.models.fused_norms import find_norms, fused
from tiltmeter.models.lm_head import BodyAndHead

SIZE = {"vocab_size": 32, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "num_key_value_heads": 2, "head_dim": 8}  # fmt: skip
IDS = torch.tensor([[5, 6, 7, 8, 9]])


def module_of(name: str, dtype: torch.dtype = torch.bfloat16, **settings: Any) -> Any:
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**SIZE, **settings)
    module = getattr(transformers, f"{name}ForCausalLM")(config).eval()
    for part in module.modules():
        if type(part).__name__.endswith("RMSNorm"):  # all weights are 1, or 0 where 1 is added
            torch.nn.init.normal_(part.weight, 0.5)
    return module.to(dtype)


def states_of(module: Any) -> torch.Tensor:
    with torch.inference_mode():
        return module(IDS, output_hidden_states=True).hidden_states[-1].float()


@pytest.mark.parametrize("name", ["Llama", "Qwen2", "Qwen3", "Mistral"])
def test_states_are_the_same_up_to_rounding(name: str) -> None:
    module = module_of(name)
    norms = find_norms(module)
    plain = states_of(module)
    with fused(norms):
        ours = states_of(module)
    exact = states_of(module.float())
    assert len(norms) == sum(type(part).__name__.endswith("RMSNorm") for part in module.modules()) > 4
    assert not torch.equal(plain, ours)  # it was used
    assert (ours - exact).norm() < 1.2 * (plain - exact).norm() < 0.05 * exact.norm()


@pytest.mark.parametrize("name", ["Gemma", "Gemma2"])
def test_a_norm_with_another_formula_stays(name: str) -> None:
    assert find_norms(module_of(name)) == []


def test_full_precision_stays() -> None:
    assert find_norms(module_of("Llama", torch.float32)) == []


def test_a_replaced_forward_stays_and_hooks_still_run() -> None:
    module = module_of("Llama")
    early, late = module.model.norm, module.model.layers[0].input_layernorm
    early.forward = lambda states: states * 0
    norms = find_norms(module)
    assert late in norms and early not in norms
    late.forward = lambda states: states * 0
    seen = []
    norms[-1].register_forward_hook(lambda *_: seen.append(1))
    with fused(norms):
        assert not states_of(module).any()
        assert not late(torch.ones(16, dtype=torch.bfloat16)).any()
    assert seen == [1]
    assert [norm for norm in norms if "forward" in vars(norm)] == [late]


def test_the_weights_are_left_as_they_were() -> None:
    module = module_of("Llama")
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    find_norms(module)
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())


def test_states_in_full_precision_are_left_to_the_model() -> None:
    module = module_of("Llama")
    norm = find_norms(module)[0]
    states = torch.randn((2, 16), generator=torch.Generator().manual_seed(0))
    plain = norm(states)
    with fused([norm]), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(norm(states), plain)


def test_a_pass_computes_its_norms_so(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = BodyAndHead(module_of("Llama"), causal=True)
    seen, kernel = [], torch.nn.functional.rms_norm
    monkeypatch.setattr(torch.nn.functional, "rms_norm", lambda *given: seen.append(1) or kernel(*given))
    parts.hidden_of(IDS, {})
    before = len(seen)
    parts.norms = find_norms(parts.module)
    seen.clear()
    parts.hidden_of(IDS, {})
    assert len(seen) == before + len(parts.norms) > 4
