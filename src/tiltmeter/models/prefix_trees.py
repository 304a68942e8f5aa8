"""Prefix trees: a causal model reads texts that begin alike in one row, and computes what they share once.

A causal model's state at a token depends on nothing that follows it. A row holds the tokens of a tree, each parent before
its children; a token attends to its ancestors, and its position is its depth. Several trees fit into one row. The tree is
given by `ends`: for each token, the column behind its last descendant. Whether an architecture takes positions and masks as
they are given is tried once, when it is loaded; where it does not, texts are read one by one.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import torch

    from tiltmeter.models.lm_head import BodyAndHead

ROW_TOKENS = {"cpu": 128, "gpu": 512}
"""Usual length of a row. Attention is computed between all tokens of a row, also where the tree hides them."""
ALIGNED = 8
"""A GPU's kernel copies a mask in every layer unless its rows begin at a multiple of so many values."""
LIMITS = (
    "max_position_embeddings", "n_positions", "n_ctx", "max_seq_len",
    "sliding_window", "window_size", "attention_window", "local_attention", "attention_chunk_size",
)  # fmt: skip
"""Settings of a model that bound a row: positions, and windows, which count columns and not depths."""
TEXTS = ((5, 6, 7, 8, 9, 10, 11, 12), (5, 6, 7, 8, 13), (5, 6, 7, 14, 15), (16, 17, 18))
TREE = (5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18)
ENDS = (11, 11, 11, 9, 8, 8, 8, 8, 9, 11, 11, 14, 14, 14)
COLUMNS = ((0, 1, 2, 3, 4, 5, 6, 7), (0, 1, 2, 3, 8), (0, 1, 2, 9, 10), (11, 12, 13))
"""A trial: four texts, the two trees that hold them, and the columns of each text."""
EXACT, ROUNDING, NOISES, FAR = 1e-4, 1e-2, 3, 4
"""A tree is right in float32 if its states agree to one part in ten thousand. In less precision, if behind each layer they
are within a hundredth, or so many times the noise of that layer, and so many times nearer than those of a wrong tree."""


NOT_FINITE = "its states are not finite"


class RowLength(NamedTuple):
    """Tokens of a row: usually, and at most."""

    usual: int
    most: int


def tree_options(ends: torch.Tensor, dtype: torch.dtype) -> dict[str, Any]:
    """Positions, and an additive mask (row × 1 × query × key). `ends`: row × column, 0 for padding."""
    import torch

    rows, width = ends.shape
    here = torch.arange(width, device=ends.device)
    allowed = (here[:, None] >= here) & (here[:, None] < ends[:, None, :])
    positions = (allowed.sum(-1) - 1).clamp_(min=0)
    mask = torch.zeros((rows, width, -(-width // ALIGNED) * ALIGNED), dtype=dtype, device=ends.device)[..., :width]
    mask.masked_fill_(~allowed, torch.finfo(dtype).min)
    return {"attention_mask": mask[:, None], "position_ids": positions}


def row_length(config: Any, device: str) -> RowLength:
    """Length of a row for a model. No sliding window may end inside a row."""
    values = [getattr(config.get_text_config(), name, None) for name in LIMITS]
    limits = [value for value in values if isinstance(value, int) and not isinstance(value, bool) and value > 0]
    most = min(limits, default=2**15)
    return RowLength(min(most, ROW_TOKENS["cpu" if device == "cpu" else "gpu"]), most)


def reason_against(parts: BodyAndHead) -> str | None:
    """Reason why a model cannot read prefix trees; None if they give the states of each text alone."""
    import torch

    target = parts.module if parts.body_module is None else parts.body_module
    if type(parts.module).__module__.startswith("transformers_modules"):
        return "its code is not part of transformers"
    if "position_ids" not in inspect.signature(target.forward).parameters:
        return "it takes no positions"
    try:
        with torch.inference_mode():
            return _difference(parts, tried(parts, noise=not _is_exact(parts)))
    except (AttributeError, TypeError, RuntimeError, ValueError, IndexError):
        return "it does not take a mask for each pair of tokens"


class Trial(NamedTuple):
    """States of the trial's texts behind each layer (layers × tokens × width), read in several ways.

    Two of them are right beyond doubt, `alone` (padded) and `singly` (each in a pass of its own), so their distance is the
    precision's own noise. `tree` is to be judged. `counted` is a tree whose positions are columns, `unmasked` one
    without its mask. `singly` is `alone` where the noise is not needed: it takes one pass per text.
    """

    alone: torch.Tensor
    singly: torch.Tensor
    tree: torch.Tensor
    counted: torch.Tensor
    unmasked: torch.Tensor


def _is_exact(parts: BodyAndHead) -> bool:
    """Return True if states are so exact that no noise hides an error."""
    import torch

    return parts.dtype == torch.float32 and not getattr(parts.module, "is_quantized", False)


def _difference(parts: BodyAndHead, trial: Trial) -> str | None:
    import torch

    alone, tree = trial.alone[-1], trial.tree[-1]
    if not bool(alone.isfinite().all()):
        return NOT_FINITE  # broken weights, which are reported later
    if torch.equal(tree, trial.counted[-1]):
        return "it ignores positions"
    if torch.equal(tree, trial.unmasked[-1]):
        return "it ignores masks"
    if _is_exact(parts):
        same = torch.allclose(tree, alone, rtol=EXACT, atol=EXACT * float(alone.abs().max()))
    else:
        same = within_noise(trial)
    return None if same else "its states depend on other texts of the row"


def within_noise(trial: Trial) -> bool:
    """Return True if a tree equals the texts alone up to rounding behind every layer, and is far from a wrong tree.

    Rounding grows with depth: behind the last of many layers it hides what one does wrong, behind that one it does not.
    """
    noise, tree, counted, unmasked = (distances(one, trial.alone) for one in trial[1:])
    near = tree <= (NOISES * noise).clamp(min=ROUNDING)
    far = FAR * tree[-1] <= counted[-1].minimum(unmasked[-1])
    return bool(near.all() and far)


def distances(states: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """Distance behind each layer, in parts of the size of the others."""
    import torch

    norm = torch.linalg.vector_norm
    apart: torch.Tensor = norm(states - others, dim=(1, 2)) / norm(others, dim=(1, 2))
    return apart


def tried(parts: BodyAndHead, *, noise: bool = True) -> Trial:
    """Read the trial's texts in each way. All passes but those of single texts have the same shape: it decides rounding."""
    import torch

    size, device = int(parts.module.config.vocab_size), parts.device
    width = len(TREE)
    padded = torch.tensor([[*text, *[0] * (width - len(text))] for text in TEXTS], device=device) % size
    valid = torch.tensor([[n < len(text) for n in range(width)] for text in TEXTS], device=device)
    short = [0] * (width - 3)
    row = torch.tensor([TREE, [*TREE[:3], *short]] * 2, device=device) % size
    ends = torch.tensor([ENDS, [3, 3, 3, *short]] * 2, device=device)
    given, plain = tree_options(ends, parts.dtype), tree_options(torch.full_like(ends, width), parts.dtype)
    columns = torch.tensor([column for text in COLUMNS for column in text], device=device)
    variants = (
        given,
        {**given, "position_ids": plain["position_ids"]},
        {**given, "attention_mask": plain["attention_mask"]},
    )
    alone = parts.layers_of(padded, {"attention_mask": valid.long()})[:, valid]
    texts = [torch.tensor([text], device=device) % size for text in TEXTS] if noise else []
    return Trial(
        alone,
        torch.cat([parts.layers_of(text, {})[:, 0] for text in texts], 1) if noise else alone,
        *(parts.layers_of(row, options)[:, 0, columns] for options in variants),
    )
