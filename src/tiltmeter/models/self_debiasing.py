"""Self-Debias (Schick et al. 2021): logits corrected by a second pass with a description of bias.

Beside the text itself it reads the text behind a description of the bias ("The following text … because of their gender:").
Words that the description makes likelier are made less likely. Nothing is trained: the change is in the decoding, for
masked and causal models alike. Imported where it is used, since a module of torch must know torch when it is defined.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from tiltmeter.errors import UsageError
from tiltmeter.models.kinds import usable_length
from tiltmeter.models.lm_head import BodyAndHead

TEMPLATE = "The following text discriminates against people because of their {}:\n"
"""The line break parts it from the text for tokenizers that know spaces; others drop it."""


SPECIAL = ("mask", "pad", "cls", "sep", "bos", "eos")
"""Kinds of special tokens that no description may hold: a mask there is one more place to fill."""
FEWEST_POSITIONS = 16
"""Positions that a description must leave for a text."""


class SelfDebiasing(nn.Module):
    """Looks like the language model that it wraps: ids in, logits out; `base_model` is its body."""

    def __init__(
        self,
        base: Any,
        tokenizer: Any,
        *,
        causal: bool,
        descriptions: Sequence[str],
        template: str = TEMPLATE,
        decay: float = 50.0,
        epsilon: float = 0.01,
    ) -> None:
        super().__init__()
        check_settings(descriptions, template, decay, epsilon)
        prefixes = [_ids_of(tokenizer, template.replace("{}", one)) for one in descriptions]
        self.body = _Asking(base, prefixes, _leading_ids(tokenizer), causal=causal)
        self.config = base.config
        self.decay, self.floor = decay, math.log(epsilon)
        self.extra_positions = max(map(len, prefixes))
        _check_room(usable_length(base, tokenizer), self.extra_positions)

    @property
    def base_model(self) -> nn.Module:
        """Body that gives the hidden states of the text and of the text after each description, concatenated."""
        return self.body

    @property
    def unwrapped(self) -> Any:
        """The model inside, whose vectors are what they were."""
        return self.body.base

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **options: Any) -> Any:
        """Logits whose softmax is the debiased distribution, at every position."""
        from transformers.modeling_outputs import MaskedLMOutput

        answer = self.body(input_ids=input_ids, attention_mask=attention_mask, **options)
        states = answer.last_hidden_state
        logits = self._debiased(states.flatten(0, 1)).view(*states.shape[:2], -1)
        return MaskedLMOutput(logits=logits, attentions=answer.attentions)

    def _debiased(self, states: Tensor) -> Tensor:
        """log p − λ · max(0, p_biased − p), no lower than log p + log ε; several descriptions: the worst counts."""
        plain, *biased = states.chunk(1 + len(self.body.prefixes), dim=-1)
        known = self.body.parts.head(plain).log_softmax(-1)
        likely = torch.stack([self.body.parts.head(one).softmax(-1) for one in biased]).amax(0)
        invited = (likely - known.exp()).clamp_(min=0)
        return known + (-self.decay * invited).clamp_(min=self.floor)

    def generate(self, input_ids: Tensor, attention_mask: Tensor | None = None, **options: Any) -> Any:
        """Generate as the base does, from the debiased distribution at every step."""

        def steer(ids: Tensor, _: Tensor) -> Tensor:
            return self._next(ids, attention_mask)

        return self.unwrapped.generate(input_ids, attention_mask=attention_mask, logits_processor=[steer], **options)

    def _next(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Logits of the next token after sequences whose mask covers only the beginning; beams repeat its rows."""
        if mask is not None:
            mask = mask.repeat_interleave(len(ids) // len(mask), 0)
            mask = torch.cat([mask, mask.new_ones(len(ids), ids.shape[1] - mask.shape[1])], 1)
        states = self.body(input_ids=ids, attention_mask=mask).last_hidden_state
        return self._debiased(states[:, -1])

    def get_input_embeddings(self) -> Any:
        """Input embeddings of the base."""
        return self.unwrapped.get_input_embeddings()

    def set_attn_implementation(self, implementation: str) -> None:
        """Set the attention implementation of the base."""
        self.unwrapped.set_attn_implementation(implementation)


class _Asking(nn.Module):
    """A body that is run on the text, and again on the text behind each description."""

    def __init__(self, base: Any, prefixes: Sequence[Sequence[int]], leading: Sequence[int], *, causal: bool) -> None:
        super().__init__()
        self.base = base
        self.parts = BodyAndHead(base, causal=causal)
        self.prefixes = [list(one) for one in prefixes]
        self.leading = list(leading)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **options: Any) -> Any:
        """Concatenate hidden states, so that only the positions that are read pass the head."""
        from transformers.modeling_outputs import BaseModelOutput

        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        if mask.shape != input_ids.shape:
            raise ValueError("a mask of one truth value per token is needed to know where a text begins")
        answer = self._run(input_ids, mask, options)
        states = [self._states(answer)]
        options = {key: value for key, value in options.items() if key == "use_cache"}
        for prefix in self.prefixes:
            ids, longer, places = behind(prefix, input_ids, mask, self.leading)
            found = self._states(self._run(ids, longer, options))
            states.append(found.gather(1, places[:, :, None].expand(-1, -1, found.shape[2])))
        return BaseModelOutput(last_hidden_state=torch.cat(states, -1), attentions=getattr(answer, "attentions", None))

    def _run(self, ids: Tensor, mask: Tensor, options: dict[str, Any]) -> Any:
        target = self.base if self.parts.body_module is None else self.parts.body_module
        masks = {} if bool(mask.all()) else {"attention_mask": mask} | self._positions(mask)
        return target(input_ids=ids, **masks, **{**self.parts.options, **options})

    def _positions(self, mask: Tensor) -> dict[str, Tensor]:
        """Position ids from the mask, since padding in front would shift a text; masked models are padded behind."""
        target = self.base if self.parts.body_module is None else self.parts.body_module
        if bool(mask[:, 0].all()) or "position_ids" not in inspect.signature(target.forward).parameters:
            return {}
        return {"position_ids": (mask.long().cumsum(1) - 1).clamp(min=0)}

    def _states(self, answer: Any) -> Tensor:
        states: Tensor = answer.logits if self.parts.body_module is None else answer.last_hidden_state
        return states


def behind(prefix: Sequence[int], ids: Tensor, mask: Tensor, leading: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Every row with a prefix where its text begins: ids, mask, and the place where each old column now stands.

    A leading special token stays in front, padding on either side stays padding.
    """
    n, width = ids.shape
    first = mask.long().argmax(1)
    specials = torch.tensor(list(leading), dtype=ids.dtype, device=ids.device)
    first = first + torch.isin(ids.gather(1, first[:, None])[:, 0], specials).long()
    columns = torch.arange(width, device=ids.device).expand(n, width)
    places = columns + len(prefix) * (columns >= first[:, None]).long()
    longer = ids.new_zeros(n, width + len(prefix)).scatter_(1, places, ids)
    valid = mask.new_ones(n, width + len(prefix)).scatter_(1, places, mask)
    own = first[:, None] + torch.arange(len(prefix), device=ids.device)
    longer.scatter_(1, own, torch.tensor(list(prefix), dtype=ids.dtype, device=ids.device).expand(n, -1))
    return longer, valid, places


def check_settings(descriptions: Sequence[str], template: str, decay: float, epsilon: float) -> None:
    """Raise an error for invalid settings."""
    if not descriptions or not all(one.strip() for one in descriptions):
        raise UsageError(
            "Self-Debias needs a description of the bias, such as 'gender' or 'race or colour'.",
            code="missing-value",
            name="descriptions",
        )
    if template.count("{}") != 1:
        raise UsageError(
            f"The template of Self-Debias must contain {{}} once, for the description: {template!r}.",
            code="wrong-format",
            name="template",
            value=template,
        )
    if not all(_is_text(one) for one in (template, *descriptions)):
        raise UsageError(
            "The template or a description of Self-Debias holds half a character (a surrogate).",
            code="wrong-format",
            name="template",
        )
    if not (decay >= 0 and math.isfinite(decay) and 0 < epsilon <= 1):
        raise UsageError(
            f"Self-Debias needs a decay of 0 or more and an epsilon in (0, 1], not {decay} and {epsilon}.",
            code="out-of-range",
            decay=decay,
            epsilon=epsilon,
        )


def _is_text(text: str) -> bool:
    """Return True if a text can be encoded."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def _ids_of(tokenizer: Any, text: str) -> list[int]:
    ids = [int(one) for one in tokenizer(text, add_special_tokens=False)["input_ids"]]
    if not ids:
        raise UsageError(
            f"The tokenizer gives no tokens for {text!r}. Use another text.",
            code="empty-selection",
            kind="tokens",
            text=text,
        )
    names = {getattr(tokenizer, f"{name}_token", None): getattr(tokenizer, f"{name}_token_id", None) for name in SPECIAL}
    special = [name for name, one in names.items() if name is not None and one in ids]
    if special:
        raise UsageError(
            f"The tokenizer reads {special[0]!r} in {text!r} as a special token. Use another text.",
            code="wrong-format", name="template", value=special[0],
        )  # fmt: skip
    return ids


def _check_room(positions: int | None, taken: int) -> None:
    """Raise an error if a description leaves too few positions for a text."""
    if positions is not None and positions - taken < FEWEST_POSITIONS:
        raise UsageError(
            f"A description of Self-Debias takes {taken:,} tokens, and the model reads {positions:,}. Use a shorter one.",
            code="out-of-range", name="descriptions", value=taken, high=positions - FEWEST_POSITIONS,
        )  # fmt: skip


def _leading_ids(tokenizer: Any) -> list[int]:
    """Special tokens that may stand in front of a text."""
    ids = (tokenizer.cls_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id)
    return [int(one) for one in ids if one is not None]
