"""CDA: continue training on text in which every gendered word also occurs as its counterpart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from tiltmeter.builders.counterfactual import SIDES, counterfactuals, make_swaps, no_terms
from tiltmeter.debias.kit.grouped_sentences import terms_facts
from tiltmeter.debias.kit.pretraining import Plan, continue_pretraining, text_of, with_training
from tiltmeter.errors import require_choice
from tiltmeter.finetune import Made, Watch, check_output, load_trainable

CITATION = (
    "Zmigrod et al. (2019), Counterfactual Data Augmentation for Mitigating Gender Stereotypes; Webster et al. (2020), "
    "Measuring and Reducing Gendered Correlations in Pre-trained Models; settings of Meade et al. (2022)."
)
NEEDS_TEXT = True
KINDS = ("masked", "causal")
CODE = "github.com/McGill-NLP/bias-bench"
REFERENCE: dict[str, Any] = {"steps": 2000, "rows": 512, "length": 512, "packed": True, "rate": 5e-5, "warmup": 0.0}
UNMATCHED = (
    ("text", "yours, or a small one of ours", "a tenth of English Wikipedia"),
    (
        "terms",
        "our list; the published one is yours to give (`--terms words.json#gender`)",
        "lists of gender, race, religion",
    ),
)


@with_training
def cda(
    model: str | Path,
    *,
    output: Path,
    plan: Plan,
    terms: Annotated[list[str] | None, "gender (ours, the default), or a file of aligned terms; repeatable."] = None,
    names: Annotated[str | None, "Swap first names too: ours, or a file of pairs."] = None,
    sides: Annotated[str, "two: train on lines and their counterfactuals; one: on counterfactuals alone."] = "two",
    neutral: Annotated[bool, "Train on lines without any such term, too."] = False,
    watch: Watch | None = None,
) -> Path:
    """Counterfactual data augmentation: continue training on lines with a group's word and their counterfactuals.

    Published: 2,000 steps of 512 packed rows of 512 tokens, rate 5e-5 (Meade et al., 2022): --reference-settings.
    """
    settled = plan.settled()
    require_choice("--sides", sides, SIDES)
    folder, swaps, read = check_output(output), make_swaps(terms, names, repeats=True), text_of(plan.text, plan.lines)
    if not any(swap.changes(line) for line in read.lines for swap in swaps):
        raise no_terms(read.source, swaps)
    parts = load_trainable(model, settled[0], method="cda", kinds=KINDS, device=plan.device)
    lists = [fact for swap in swaps for fact in terms_facts(swap)]
    options = {
        "terms": lists,
        "sides": sides,
        "neutral": neutral,
        "length": settled[1],
        "packed": plan.packed,
        "held_out": plan.held_out,
    }
    return continue_pretraining(
        parts,
        read,
        plan,
        settled,
        folder,
        Made("cda", CITATION, options, read.facts()),
        change=lambda some: list(counterfactuals(some, swaps, sides=sides, neutral=neutral)),
        watch=watch,
    )
