"""RMS norms by one kernel instead of six: in half precision a twelfth of a GPU's time for eight billion parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from tiltmeter.models.forward_pass import forwarding

EPSILONS = ("variance_epsilon", "eps")


def find_norms(module: Any) -> list[Any]:
    """The RMS norms in half precision whose values torch's own kernel gives, too.

    Architectures define norms of this name differently (Gemma scales by one more than the weight), so one of each class
    is tried. A norm whose `forward` somebody replaced stays as it is.
    """
    import torch

    halves = (torch.bfloat16, torch.float16)
    norms = [
        part
        for part in module.modules()
        if type(part).__name__.endswith("RMSNorm")
        and _epsilon(part) is not None
        and not _is_replaced(part)
        and [name for name, _ in part.named_parameters()] == ["weight"]
        and part.weight.dtype in halves
    ]
    first = {type(norm): norm for norm in reversed(norms)}
    same = {kind for kind, norm in first.items() if _is_same(norm)}
    return [norm for norm in norms if type(norm) in same]


@contextmanager
def fused(norms: Sequence[Any]) -> Iterator[None]:
    """Compute these norms by torch's kernel. It rounds once, where transformers rounds before the weight and after it."""
    with ExitStack() as replacing:
        for norm in (norm for norm in norms if not _is_replaced(norm)):
            replacing.enter_context(forwarding(norm, _kernel(norm)))
        yield


def _kernel(norm: Any) -> Any:
    import torch

    shape = tuple(norm.weight.shape)

    def forward(states: Any) -> Any:
        if states.dtype != norm.weight.dtype:  # some architectures add up states in full precision
            return type(norm).forward(norm, states)
        return torch.nn.functional.rms_norm(states, shape, norm.weight, _epsilon(norm))

    return forward


def _is_replaced(norm: Any) -> bool:
    return "forward" in vars(norm)


def _epsilon(norm: Any) -> float | None:
    found = (getattr(norm, name, None) for name in EPSILONS)
    return next((value for value in found if isinstance(value, float)), None)


def _is_same(norm: Any) -> bool:
    """Return True if both ways agree up to the rounding that they do not share, for states and weights of any size."""
    import torch

    weight = norm.weight
    draws = torch.Generator().manual_seed(0)
    states = torch.randn((4, weight.shape[-1]), generator=draws).to(weight)
    drawn = torch.nn.Parameter(torch.randn(weight.shape, generator=draws).to(weight), requires_grad=False)
    norm.weight = drawn
    try:
        with torch.inference_mode():
            plain, ours = norm(states), _kernel(norm)(states)
    except (AttributeError, TypeError, RuntimeError, ValueError):
        return False
    finally:
        norm.weight = weight
    return plain.dtype == ours.dtype and torch.allclose(plain, ours, rtol=4 * torch.finfo(weight.dtype).eps, atol=0)
