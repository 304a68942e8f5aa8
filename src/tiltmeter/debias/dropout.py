"""Dropout: continue training with a higher rate, so that the model relies less on any single correlation."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from tiltmeter.debias.kit.pretraining import Plan, continue_pretraining, text_of, with_training
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.finetune import Made, Watch, check_output, load_trainable
from tiltmeter.models import Parts

CITATION = (
    "Webster et al. (2020), Measuring and Reducing Gendered Correlations in Pre-trained Models; settings of Meade et al. "
    "(2022)."
)
NEEDS_TEXT = True
KINDS = ("masked", "causal")
CODE = "github.com/McGill-NLP/bias-bench"
REFERENCE: dict[str, Any] = {"steps": 2000, "rows": 512, "length": 512, "packed": True, "rate": 5e-5, "warmup": 0.0}
UNMATCHED = (("text", "yours, or a small one of ours", "a tenth of English Wikipedia"),)
HIDDEN = ("hidden_dropout_prob", "hidden_dropout", "dropout", "mlp_dropout", "resid_pdrop", "resid_dropout", "embd_pdrop",
          "embedding_dropout")  # fmt: skip
ATTENTION = ("attention_probs_dropout_prob", "attention_dropout", "attn_pdrop")
PUBLISHED = {"bert": (0.20, 0.15), "roberta": (0.20, 0.15), "causal": (0.15, 0.15), "masked": (0.05, 0.05)}
"""Hidden and attention, by the type of the model, else by its kind (bias-bench: GPT-2 0.15, ALBERT 0.05)."""


@with_training
def dropout(
    model: str | Path,
    *,
    output: Path,
    plan: Plan,
    hidden: Annotated[float | None, "Dropout of hidden states. Default: 0.20 (BERT, RoBERTa), 0.15 (causal), 0.05."] = None,
    attention: Annotated[float | None, "Dropout of attention. Default: 0.15 (BERT, RoBERTa, causal), 0.05."] = None,
    watch: Watch | None = None,
) -> Path:
    """Continued pre-training with raised dropout; the configuration that is saved has the dropout of before.

    Published: 2,000 steps of 512 packed rows of 512 tokens, rate 5e-5 (Meade et al., 2022): --reference-settings.
    """
    settled = plan.settled()
    folder, read = check_output(output), text_of(plan.text, plan.lines)
    parts = load_trainable(model, settled[0], method="dropout", kinds=KINDS, device=plan.device)
    shares = shares_of(parts, hidden, attention)
    before = {name: getattr(parts.module.config, name) for name in shares}
    raised = with_dropout(parts, shares)
    options = {"dropout": shares, "length": settled[1], "packed": plan.packed, "held_out": plan.held_out}
    made = Made("dropout", CITATION, options, read.facts(), config=before)
    return continue_pretraining(raised, read, plan, settled, folder, made, watch=watch)


def shares_of(parts: Parts, hidden: float | None = None, attention: float | None = None) -> dict[str, float]:
    """The settings of this model's configuration that are about dropout, and what they become."""
    config = parts.module.config
    published = PUBLISHED.get(config.model_type, PUBLISHED[parts.kind])
    wanted = [given if given is not None else usual for given, usual in zip((hidden, attention), published, strict=True)]
    if wrong := [share for share in wanted if not 0 <= share < 1]:
        raise UsageError(
            f"Dropout is a share from 0 to below 1, not {wrong[0]:g}.", code="out-of-range", name="dropout", value=wrong[0]
        )
    names = ((HIDDEN, wanted[0]), (ATTENTION, wanted[1]))
    shares = {name: share for some, share in names for name in some if isinstance(getattr(config, name, None), float | int)}
    if not shares:
        raise ModelError(
            f"{parts.facts['name']} ({config.model_type}) has no dropout that could be raised.",
            code="missing-capability", model=parts.facts["name"], capability="dropout",
        )  # fmt: skip
    return shares


def with_dropout(parts: Parts, shares: Mapping[str, float]) -> Parts:
    """Copy the weights into a module that was built with other shares: layers read them when they are made."""
    config: Any = copy.deepcopy(parts.module.config)
    for name, share in shares.items():
        setattr(config, name, share)
    first = next(parts.module.parameters())
    module = type(parts.module)._from_config(config, dtype=first.dtype)
    module.load_state_dict(parts.module.state_dict())
    module.tie_weights()
    return replace(parts, module=module.to(first.device))
