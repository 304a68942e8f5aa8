"""Held-out accuracy and perplexity: each held-out line alone, as a user would give it to the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.architectures import body_and_head
from training.recipe import Recipe

Array = NDArray[Any]
MASKED_ROWS, CAUSAL_ROWS = 256, 64  # a causal model is asked at every token, which takes more memory
SEED = 20_000  # the same tokens are asked of every model with the same tokenizer
KINDS = ("at_mask", "at_replaced", "at_kept")


def evaluate(model: Any, tokenizer: Any, recipe: Recipe, lines: Sequence[str]) -> dict[str, float]:
    """What the model makes of lines it has not seen; those longer than it can take are left out."""
    encoded, words = _encode(lines, tokenizer, recipe.length - 2)
    ask = _masked if recipe.objective == "masked" else _causal
    parts = body_and_head(model, recipe.architecture)
    device = next(model.parameters()).device
    rows = [_answer(*parts, batch, device) for batch in ask(encoded, tokenizer, recipe)]
    kind, loss, right = np.concatenate([np.empty((0, 3)), *rows]).T
    found: dict[str, float] = {"lines": len(encoded), "tokens": len(kind)}
    if not len(kind):  # a very short text may have nothing held out: no figure, rather than a wrong one
        return found
    found |= {"loss": float(loss.mean()), "accuracy": float(right.mean())}
    if recipe.objective == "causal":
        return found | {"perplexity": float(np.exp(loss.mean())), "perplexity_per_word": float(np.exp(loss.sum() / words))}
    return found | {f"accuracy_{name}": float(right[kind == n].mean()) for n, name in enumerate(KINDS) if (kind == n).any()}


@torch.no_grad()
def _answer(
    body: Callable[..., Tensor], head: Callable[[Tensor], Tensor], batch: dict[str, Array], device: torch.device
) -> Array:
    """A row for each asked token: its kind, its loss, whether the model's first guess is right."""
    sent = {name: torch.from_numpy(array).to(device) for name, array in batch.items() if name != "kind"}
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        hidden = body(sent["inputs"], sent["positions"], sent["allowed"][:, None])
        scores = head(hidden.flatten(0, 1)[sent["index"]]).float()
    loss = torch.nn.functional.cross_entropy(scores, sent["labels"], reduction="none")
    right = scores.argmax(-1) == sent["labels"]
    return np.stack([batch["kind"], loss.cpu().numpy(), right.cpu().numpy()], 1)


def _encode(lines: Sequence[str], tokenizer: Any, room: int) -> tuple[list[list[int]], int]:
    """The token ids of the lines that fit, shortest first, and how many words (between spaces) they have."""
    ids = [one.ids for one in tokenizer.backend_tokenizer.encode_batch_fast(list(lines), add_special_tokens=False)]
    fitting = [(one, len(line.split())) for one, line in zip(ids, lines, strict=True) if len(one) <= room]
    return sorted((one for one, _ in fitting), key=len), sum(words for _, words in fitting)


def _batches(lines: Sequence[list[int]], rows: int, begin: int, end: int | None, pad: int) -> Iterator[tuple[Array, Array]]:
    """Padded token ids, and which of them are not padding."""
    for first in range(0, len(lines), rows):
        whole = [[begin, *line, *([] if end is None else [end])] for line in lines[first : first + rows]]
        tokens = np.full((len(whole), max(map(len, whole))), pad)
        real = np.zeros(tokens.shape, bool)
        for n, line in enumerate(whole):
            tokens[n, : len(line)], real[n, : len(line)] = line, True
        yield tokens, real


def _shared(real: Array, causal: bool) -> dict[str, Array]:
    """Padding sees itself, since a row of the attention that is all forbidden is not a number."""
    allowed = np.broadcast_to(real[:, None, :], (*real.shape, real.shape[1])) | np.eye(real.shape[1], dtype=bool)
    positions = np.broadcast_to(np.arange(real.shape[1]), real.shape)
    return {"positions": positions.copy(), "allowed": np.tril(allowed) if causal else allowed.copy()}


def _masked(lines: Sequence[list[int]], tokenizer: Any, recipe: Recipe) -> Iterator[dict[str, Array]]:
    """15 % of each line's tokens, with the 80/10/10 treatment of the training; `kind` 0, 1, 2 tells which one it got."""
    random = np.random.default_rng(SEED)
    first = max(tokenizer.all_special_ids) + 1
    ends = tokenizer.cls_token_id, tokenizer.sep_token_id
    for tokens, real in _batches(lines, MASKED_ROWS, *ends, tokenizer.pad_token_id):
        askable = real & ~np.isin(tokens, ends)
        index = np.flatnonzero(askable & (random.random(tokens.shape) < recipe.masked_share))
        kind = random.choice(3, len(index), p=(0.8, 0.1, 0.1))
        labels = tokens.ravel()[index]
        word = random.integers(first, len(tokenizer), len(index))
        inputs = tokens.copy()
        inputs.ravel()[index] = np.select([kind == 0, kind == 1], [tokenizer.mask_token_id, word], labels)
        yield {"inputs": inputs, "index": index, "labels": labels, "kind": kind} | _shared(real, causal=False)


def _causal(lines: Sequence[list[int]], tokenizer: Any, _: Recipe) -> Iterator[dict[str, Array]]:
    """Every token of a line, the first one after the beginning-of-text token."""
    for tokens, real in _batches(lines, CAUSAL_ROWS, tokenizer.bos_token_id, None, tokenizer.eos_token_id):
        asked = np.zeros_like(real)
        asked[:, :-1] = real[:, 1:]
        index = np.flatnonzero(asked)
        labels = np.roll(tokens, -1, 1).ravel()[index]
        yield {"inputs": tokens, "index": index, "labels": labels, "kind": np.zeros(len(index))} | _shared(real, causal=True)
