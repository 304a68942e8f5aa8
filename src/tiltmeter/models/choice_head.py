"""A model with a multiple-choice head: one score for each answer, loaded with it or put there to be trained."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import ModelError
from tiltmeter.models import loading
from tiltmeter.models.classifier import describe_head, load_head, put_head
from tiltmeter.models.forward_pass import OutOfMemoryError, passing
from tiltmeter.models.identity import CHOICE_HEAD, ModelIdentity
from tiltmeter.models.language_model import LanguageModel
from tiltmeter.models.text_batches import pieces
from tiltmeter.models.weighted import WeightedModel

if TYPE_CHECKING:
    import torch

LEARNED = "learned_categories"
"""The field of a configuration with the categories of questions that a head of ours learned from."""
CPU_TOKENS, GPU_TOKENS = 4096, 2**16
Row = Mapping[str, Sequence[int]]
"""The columns that a tokenizer makes of a pair of texts: `input_ids` and, for some models, `token_type_ids`."""


class ChoiceHead(WeightedModel):
    """Pairs of texts in (a context; a question with an answer), one score for each pair out."""

    @property
    def learned_categories(self) -> tuple[str, ...]:
        """The categories of questions that the head learned from, where it says so."""
        return tuple(getattr(self._module.config, LEARNED, None) or ())

    def scores(self, pairs: Sequence[tuple[str, str]], *, batch_tokens: int | str = "auto") -> list[float | None]:
        """The score of each pair; None for a pair that is longer than the model's window, which is never cut."""
        rows = encode_pairs(self.tokenizer, pairs)
        lengths = np.array([len(row["input_ids"]) for row in rows], dtype=np.int64)
        limit = self.tokens.max_length
        fitting = np.flatnonzero(lengths <= limit) if limit else np.arange(len(rows))
        values: list[float | None] = [None] * len(rows)
        order, at = fitting[np.argsort(-lengths[fitting], kind="stable")], 0
        budget = (CPU_TOKENS if self.device == "cpu" else GPU_TOKENS) if batch_tokens == "auto" else int(batch_tokens)
        while at < len(order):
            some = order[at:][next(pieces(lengths[order[at:]], budget))]
            try:
                with passing(self.precision, self._module):
                    logits = pair_logits(self._module, self.tokenizer, [rows[n] for n in some])
                for n, score in zip(some, logits.double().cpu().tolist(), strict=True):
                    values[n] = score
            except OutOfMemoryError:
                if len(some) == 1:
                    raise ModelError(
                        f"{self.name}: a text of {lengths[some[0]]} tokens does not fit into memory. Shorten it.",
                        code="out-of-memory", model=self.name, tokens=int(lengths[some[0]]),
                    ) from None  # fmt: skip
                budget = max(1, budget // 2)
                continue
            at += len(some)
        return values


def load_choice_head(
    name: str | Path, *, precision: str = "auto", device: str = "auto", trust_remote_code: bool = False
) -> ChoiceHead:
    """A model with a multiple-choice head from a folder or the hub. A head that was never trained is refused."""
    loaded = load_head(name, CHOICE_HEAD, precision=precision, device=device, trusts_code=trust_remote_code)
    return choice_head_of(*loaded)


def choice_head_of(
    name: str, module: Any, tokenizer: Any, facts: Mapping[str, Any], loaded_as: ModelIdentity | None = None
) -> ChoiceHead:
    """A model with a multiple-choice head of a module that is in memory; `facts` has its precision."""
    tokens, known = describe_head(CHOICE_HEAD, module, tokenizer, facts)
    return ChoiceHead(name, CHOICE_HEAD, module.eval(), tokens, known, loaded_as)


def with_choice_head(model: LanguageModel, learned: Sequence[str], *, seed: int) -> loading.Parts:
    """A language model's body in float32 with a new multiple-choice head, which begins at random: to be trained.

    Args:
        model: Gives the body and the tokenizer.
        learned: The categories of questions that it will learn from, written into its configuration.
        seed: Decides the head.
    """
    config = copy.deepcopy(model._module.config)
    setattr(config, LEARNED, list(learned))
    return put_head(model, CHOICE_HEAD, config, seed)


def encode_pairs(tokenizer: Any, pairs: Sequence[tuple[str, str]]) -> list[Row]:
    """Encode each pair as its tokenizer joins two texts; a pair whose first text is empty is the second alone."""
    if not pairs:
        return []
    firsts, seconds = (list(texts) for texts in zip(*pairs, strict=True))
    if any(firsts) and not all(firsts):
        return [encode_pairs(tokenizer, [pair])[0] for pair in pairs]
    texts = (firsts, seconds) if all(firsts) else (seconds,)
    encoded = tokenizer(*texts, truncation=False, verbose=False)
    columns = [name for name in ("input_ids", "token_type_ids") if name in encoded]
    return [{name: encoded[name][n] for name in columns} for n in range(len(pairs))]


def pair_logits(module: Any, tokenizer: Any, rows: Sequence[Row]) -> torch.Tensor:
    """One forward pass of a multiple-choice head over encoded pairs: one score each, padded as the tokenizer does."""
    import torch

    width, pad = max(len(row["input_ids"]) for row in rows), module.config.pad_token_id or 0
    filled = {"input_ids": pad, "token_type_ids": getattr(tokenizer, "pad_token_type_id", 0) or 0}
    left = tokenizer.padding_side == "left"
    columns: dict[str, NDArray[np.int64]] = {
        name: np.full((len(rows), width), filled[name], dtype=np.int64) for name in rows[0]
    }
    columns["attention_mask"] = np.zeros((len(rows), width), dtype=np.int64)
    for n, row in enumerate(rows):
        length = len(row["input_ids"])
        place = slice(width - length, width) if left else slice(length)
        columns["attention_mask"][n, place] = 1
        for name, values in row.items():
            columns[name][n, place] = values
    device = next(module.parameters()).device
    tensors = {name: torch.from_numpy(values).to(device)[:, None, :] for name, values in columns.items()}
    logits: torch.Tensor = module(**tensors).logits
    return logits[:, 0]
