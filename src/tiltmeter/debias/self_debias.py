"""Self-Debias: lowers, while decoding, the probability of words that a description of the bias makes likelier."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from tiltmeter.debias.kit.options import Device
from tiltmeter.debias.kit.wrapper_export import load_base, save_wrapped
from tiltmeter.finetune.export import check_output
from tiltmeter.finetune.folder_training import Made
from tiltmeter.models.wrappers import refuse_without_effect

CITATION = (
    "Schick, Udupa and Schütze (2021), Self-Diagnosis and Self-Debiasing: A Proposal for Reducing Corpus-Based Bias in NLP, "
    "TACL 9"
)
NEEDS_TEXT = False
KINDS = ("masked", "causal")
CODE = "github.com/McGill-NLP/bias-bench"
REFERENCE: dict[str, Any] = {
    "template": "The following text discriminates against people because of their {}: ", "decay": 50.0, "epsilon": 0.01,
}  # fmt: skip
UNMATCHED: tuple[tuple[str, str, str], ...] = ()


def self_debias(
    model: str | Path,
    *,
    output: Path,
    bias: Annotated[list[str] | None, "Attribute of discrimination; repeatable. Default: gender."] = None,
    template: Annotated[str | None, "The sentence put in front, with {} for the bias."] = None,
    decay: Annotated[float, "λ: strength of the penalty for words that the description makes likelier."] = 50.0,
    epsilon: Annotated[float, "ε: smallest share of its probability that a word keeps."] = 0.01,
    device: Device = "auto",
) -> Path:
    """p(w) · max(exp(−λ · max(0, p_biased(w) − p(w))), ε), renormalised, with p_biased from the text behind a description.

    Nothing is trained and no text is needed. The vectors of the model's body stay what they were: SEAT and CEAT, which read
    nothing else, see no change. Every question costs one more pass for each bias.
    """
    from tiltmeter.models.self_debiasing import TEMPLATE, SelfDebiasing

    check_output(Path(output))
    refuse_without_effect(decay, epsilon)
    parts = load_base(model, "Self-Debias", KINDS, device)
    settings: dict[str, Any] = {
        "descriptions": list(bias or ["gender"]),
        "template": template or TEMPLATE,
        "decay": decay,
        "epsilon": epsilon,
    }
    SelfDebiasing(parts.module.eval(), parts.tokenizer, causal=parts.kind == "causal", **settings)  # or says what is wrong
    made = Made("self_debias", CITATION, options=settings)
    return save_wrapped(parts.folder, Path(output), "self_debias", made.manifest(parts), settings=settings)
