"""Context-Debias: stereotype words become orthogonal to the words of groups in every layer, and other words stay put."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from tiltmeter.builders.counterfactual import make_swaps
from tiltmeter.debias.kit.context_debias_objective import Objective
from tiltmeter.debias.kit.grouped_sentences import terms_facts
from tiltmeter.debias.kit.options import CheckpointEvery, Device, Lines, Lora, Patience, Seed, TextFile
from tiltmeter.debias.kit.pretraining import text_of
from tiltmeter.debias.kit.stereotypes import stereotype_words
from tiltmeter.debias.kit.word_positions import occurrences
from tiltmeter.errors import require_choice
from tiltmeter.finetune import Made, Recipe, Watch, check_output, device_of, load_trainable, train_and_save
from tiltmeter.models import Tokenization

CITATION = "Kaneko and Bollegala (2021), Debiasing Pre-trained Contextualised Embeddings, EACL"
NEEDS_TEXT = True
KINDS = ("masked",)
LOOK_EVERY = 50
CODE = "github.com/kanekomasahiro/context-debias"
REFERENCE: dict[str, Any] = {
    "loss": "square-of-mean", "average": "occurrences", "batches": "equal", "keep": "best", "scale": "raw", "alpha": 0.2,
    "beta": 0.8, "rate": 5e-5, "epochs": 3.0, "rows": 32, "length": 128, "level": "token", "layer": "all", "held_out": 1000,
}  # fmt: skip
UNMATCHED = (
    ("text", "yours, or a small one of ours", "News Commentary v15"),
    ("directions", "those of the model as it was", "taken anew every epoch"),
    ("held-out loss", "over all held-out sentences", "over equal numbers of batches"),
    ("decay of the rate", "to zero in the last step", "as if every sentence were read: it ends above zero"),
    ("padding", "is not attended to", "is attended to, since no attention mask is given"),
)
KEEPS = ("last", "best")
PUBLISHED: dict[str, Any] = {"scale": "raw", "alpha": 0.2, "beta": 0.8, "rate": 5e-5, "epochs": 3.0, "steps": 0}
SMALL: dict[str, Any] = {"scale": "unit", "alpha": 0.8, "beta": 0.2, "rate": 2e-4, "epochs": 1.0, "steps": 200}
"""For a CPU, or for the embedded text. With raw products, which are hundreds of times the distances that they are weighed
against, a few steps move everything, and only long training brings it back."""


def context_debias(
    model: str | Path,
    *,
    output: Path,
    text: TextFile = None,
    terms: Annotated[str, "gender, or a file of aligned terms with one column per group."] = "gender",
    words: Annotated[Path | None, "Stereotype words, one a line. Default: a list of ours."] = None,
    level: Annotated[str, "token: stereotype words alone; sentence: every token of their sentences."] = "token",
    layer: Annotated[str, "all, first (the input embeddings) or last."] = "all",
    loss: Annotated[str, "mean-of-squares, as in the paper; square-of-mean, as in the published code."] = "mean-of-squares",
    average: Annotated[
        str, "With square-of-mean: words (mean of their means) or occurrences, as in the published code."
    ] = "words",
    batches: Annotated[
        str,
        "natural: as the text has them; equal: steps of one group or of none, as many of each, as in the published code.",
    ] = "natural",
    keep: Annotated[
        str, "last: the weights of the last step; best: of the lowest held-out loss, as in the published code."
    ] = "last",
    scale: Annotated[
        str | None,
        "raw: inner products and mean squares, as published; unit: directions of length 1 and squared distances, so that "
        "alpha and beta mean the same for every model. Default: raw on a GPU with --text, else unit.",
    ] = None,
    alpha: Annotated[float | None, "Weight of the orthogonality loss. Default: 0.2 as published (unit: 0.8)."] = None,
    beta: Annotated[float | None, "Weight of the regularisation loss. Default: 0.8 as published (unit: 0.2)."] = None,
    rate: Annotated[float | None, "The highest learning rate. Default: 5e-5 as published, 2e-4 for few steps."] = None,
    epochs: Annotated[float | None, "Number of epochs. Default: 3 as published; else 200 steps."] = None,
    steps: Annotated[int | None, "Steps, instead of epochs."] = None,
    rows: Annotated[int, "Batch size of a step, in sentences."] = 32,
    length: Annotated[int, "Largest number of tokens in a sentence; longer ones are left out."] = 128,
    held_out: Annotated[int, "Number of held-out sentences; a tenth of a small text."] = 1000,
    patience: Patience = 0,
    lines: Lines = None,
    lora: Lora = 0,
    seed: Seed = 0,
    device: Device = "auto",
    checkpoint_every: CheckpointEvery = 60.0,
    watch: Watch | None = None,
) -> Path:
    """min α · (v · e)² + β · |e − e before|²: e are stereotype words, v the mean embeddings of attribute words.

    The paper has one v for each attribute word and a mean of squares. The published code has one for each group and the
    square of a mean, in which words on either side cancel out.
    """
    folder = check_output(output)
    wanted = {"scale": scale, "alpha": alpha, "beta": beta, "rate": rate, "epochs": epochs, "steps": steps}
    how = settled(wanted, published=text is not None and device_of(device) != "cpu")
    require_choice("--keep", keep, KEEPS)
    aim = Objective(level, layer, loss, how["scale"], how["alpha"], how["beta"], average, batches)
    recipe = Recipe(
        steps=how["steps"], epochs=how["epochs"], rows=rows, peak_rate=how["rate"], seed=seed, lora_rank=lora,
        evaluate_every=LOOK_EVERY if patience or keep == "best" else 0, patience=patience, keep_best=keep == "best",
    )  # fmt: skip
    (swap,), listed, read = make_swaps([terms], repeats=True), stereotype_words(words), text_of(text, lines)
    parts = load_trainable(model, recipe, method="Context-Debias", kinds=KINDS, device=device)
    tokens = Tokenization(parts.tokenizer)
    found = occurrences(tokens, read.lines, swap.lists[0], listed, length)
    found.check(swap.lists[0].groups, read.source)
    task, looked = aim.tasks(parts.module, tokens.pad_id, *found.split(held_out, seed))
    options = asdict(aim) | {"terms": terms_facts(swap), "words": list(listed), "length": length, "held_out": held_out}
    options |= {"keep": keep}
    data = read.facts() | {"attributes": len(found.attributes), "stereotypes": len(found.stereotypes)}
    made = Made("context_debias", CITATION, options, data)
    return train_and_save(
        parts, task, recipe, folder, made, held_out=looked, watch=watch, checkpoint_seconds=checkpoint_every
    )


def settled(wanted: Mapping[str, Any], *, published: bool) -> dict[str, Any]:
    """Every setting. The weights go with the scale; whoever names epochs wants no other number of steps."""
    usual = PUBLISHED if published else SMALL
    scale = wanted.get("scale") or usual["scale"]
    weights = PUBLISHED if scale == "raw" else SMALL
    found = usual | {name: weights[name] for name in ("alpha", "beta")}
    if wanted.get("epochs") is not None:
        found |= {"steps": 0}
    return found | {name: value for name, value in wanted.items() if value is not None}
