"""Directions taken out of a model's last hidden state, at every position, before anything reads it.

The head's logits, the encoder's vectors and generated text all go through the same body, so the directions are removed
where the body ends. They are kept as an orthonormal basis U: h − (h Uᵀ) U is exact where a dense d × d matrix would round.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import ModelError
from tiltmeter.models.lm_head import BodyAndHead

if TYPE_CHECKING:
    import torch

BUFFER = "removed_directions"
KEY = "directions"


def project_out(module: Any, directions: NDArray[np.floating[Any]], *, causal: bool) -> Any:
    """Change a module in place: its body's last hidden state loses its components along these orthonormal rows.

    They become a buffer of the body: they move with it between devices and are part of its fingerprint.
    """
    import torch

    body = body_of(module, causal=causal)
    width = _width(body, module)
    basis = torch.from_numpy(np.array(directions, dtype=np.float32, copy=True))
    if basis.ndim != 2 or basis.shape[1] != width:
        raise ModelError(
            f"The directions have the shape {tuple(basis.shape)}, and the model has the width {width}.",
            code="wrong-shape",
            shape=tuple(basis.shape),
            width=width,
        )
    if not 0 < len(basis) < width:
        raise ModelError(
            f"A projection removes 1 to {width - 1} directions, not {len(basis)}; the file is damaged.",
            code="damaged-file",
            directions=len(basis),
            width=width,
        )
    if not torch.allclose(basis @ basis.T, torch.eye(len(basis)), atol=1e-4):
        raise ModelError(
            "The directions to remove are not orthonormal; the file is damaged.", code="damaged-file", directions=len(basis)
        )
    if hasattr(body, BUFFER):
        raise ModelError(
            "This model has a projection already; give the model that it was made from.",
            code="wrong-model-kind",
            kind="projection",
        )
    body.register_buffer(BUFFER, basis.to(next(module.parameters()).device))
    body.register_forward_hook(_remove)
    return module


def body_of(module: Any, *, causal: bool) -> Any:
    """The submodule whose last hidden state the head reads."""
    body = BodyAndHead(module, causal=causal).body_module
    if body is None:
        raise ModelError(
            f"The body of {type(module).__name__} was not found, so it cannot be projected. Use another model.",
            code="unsupported-model",
            model=type(module).__name__,
        )
    return body


def fold(module: Any, directions: NDArray[np.floating[Any]], *, causal: bool) -> bool:
    """Write the removal into the weights of a body that ends in a linear map (OPT's `project_out`). Else return False.

    Most bodies end in a normalisation with a weight for each dimension, and no such weights take out a direction. For a head
    alone its first layer would do, but then the body's vectors would still hold what the head no longer sees.
    """
    import torch

    body = body_of(module, causal=causal)
    last: Any = getattr(body, "project_out", None)
    if type(last) is not torch.nn.Linear or getattr(last, "bias", None) is not None:
        return False
    ids = torch.arange(5, 11, device=last.weight.device)[None] % int(module.config.vocab_size)
    basis = torch.from_numpy(np.array(directions, dtype=np.float32)).to(last.weight.device)
    before = last.weight.detach().clone()
    with torch.no_grad():
        wanted = without(body(input_ids=ids).last_hidden_state, basis)
        last.weight.copy_(before - basis.T @ (basis @ before))
        found = body(input_ids=ids).last_hidden_state
        same = bool(torch.allclose(found, wanted, rtol=1e-4, atol=1e-5))
        if not same:
            last.weight.copy_(before)
    return same


def _width(body: Any, module: Any) -> int:
    """Width of the body's output. A configuration may name another width (OPT's inner layers)."""
    import torch

    with torch.inference_mode():
        ids = torch.zeros((1, 2), dtype=torch.int64, device=next(module.parameters()).device)
        return int(body(input_ids=ids).last_hidden_state.shape[-1])


def without(states: torch.Tensor, basis: torch.Tensor) -> torch.Tensor:
    """States without their parts along an orthonormal basis, in float32 also where they are halves."""
    wide = states.float()
    return (wide - (wide @ basis.T) @ basis).to(states.dtype)


def _remove(body: Any, _: Any, output: Any) -> Any:
    """Project after the body. It is idempotent, so it may also run before the head."""
    basis = getattr(body, BUFFER).float()
    if isinstance(output, tuple):
        return (without(output[0], basis), *output[1:])
    last = without(output.last_hidden_state, basis)
    if getattr(output, "hidden_states", None):
        output.hidden_states = (*output.hidden_states[:-1], last)
    output.last_hidden_state = last
    return output


def write_directions(path: Path, directions: NDArray[np.floating[Any]]) -> None:
    """Write directions as float32 in safetensors, a format with a shape and without code."""
    from safetensors.numpy import save_file

    save_file({KEY: np.ascontiguousarray(directions, dtype=np.float32)}, path)


def read_directions(path: Path) -> NDArray[np.float32]:
    """Read a file of `write_directions`. Errors name the file."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        found = load_file(path)
        if set(found) != {KEY} or found[KEY].dtype.kind != "f":
            raise ValueError(f"it must hold '{KEY}' alone, as floating-point numbers")
        return np.asarray(found[KEY], dtype=np.float32)
    except (OSError, KeyError, ValueError, TypeError, AttributeError, SafetensorError) as error:
        raise ModelError(
            f"Cannot read the directions in {path}: {error}.", code="damaged-file", file=path, reason=str(error)
        ) from None
