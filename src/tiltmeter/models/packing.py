"""Faster matrix products on a CPU: weights of linear layers laid out once for oneDNN.

PyTorch gives float32 products to MKL, which leaves a fifth of the speed unused on some processors. oneDNN computes the same
sums in another order (differences of some 1e-6). Only for models that tiltmeter loads itself: packed weights do not follow
a training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

TYPICAL_ROWS = 4096
MOST_BYTES = 2**30
"""A packed layer exists twice; for large models memory is worth more."""


def pack_linears(module: Any) -> int:
    """Pack every plain float32 linear layer on the CPU. Return their number; 0 where the CPU has no such layers.

    A layer whose forward pass another library has replaced (to quantise it, or to place it on a device) is not plain.
    """
    import torch

    plain = [layer for layer in module.modules() if type(layer) is torch.nn.Linear and "forward" not in vars(layer)]
    layers = [layer for layer in plain if layer.weight.dtype == torch.float32]
    size = sum(layer.weight.numel() * 4 for layer in layers)
    if not layers or size > MOST_BYTES or layers[0].weight.device.type != "cpu" or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return 0
    try:
        if not _Packed(layers[0]).agrees():
            return 0
    except (AttributeError, RuntimeError):
        return 0
    for layer in layers:
        layer.forward = _Packed(layer)  # type: ignore[method-assign, assignment]
    return len(layers)


class _Packed:
    """A layer's product by its packed weight, which is laid out when it is first used.

    It knows the layer's parameters and not the layer: a circle would keep the model until garbage is collected.
    """

    def __init__(self, layer: Any) -> None:
        self.weight, self.bias = layer.weight, layer.bias
        self.packed: torch.Tensor | None = None
        self.version = -1

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the packed weight, which can be neither copied nor pickled: a copy packs its own."""
        return vars(self) | {"packed": None}

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        import torch

        if x.numel() == 0 or x.dtype != torch.float32 or torch.is_grad_enabled():
            return self.plain(x)
        version = 0 if self.weight.is_inference() else self.weight._version
        if self.packed is None or self.version != version:  # the weight was changed in place since
            self.version = version
            self.packed = torch.ops.mkldnn._reorder_linear_weight(self.weight.detach(), TYPICAL_ROWS)
        return torch.ops.mkldnn._linear_pointwise(x, self.packed, self.bias, "none", [], "")  # type: ignore[no-any-return]

    def plain(self, x: torch.Tensor) -> torch.Tensor:
        """Compute the product as torch does."""
        import torch

        return torch.nn.functional.linear(x, self.weight, self.bias)

    def agrees(self) -> bool:
        """One product by both ways, before the fast one is trusted."""
        import torch

        with torch.inference_mode():
            n_inputs = self.weight.shape[1]
            x = torch.linspace(-1, 1, 3 * n_inputs).view(3, n_inputs)
            return bool(torch.allclose(self(x), self.plain(x), rtol=1e-4, atol=1e-4))
