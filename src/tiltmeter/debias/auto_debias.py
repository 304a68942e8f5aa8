"""Auto-Debias: finds prompts after which predictions for two groups differ most, and trains the model to equalise them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from tiltmeter.builders.counterfactual import make_swaps
from tiltmeter.debias.kit.auto_debias_objective import OVER, Aligning
from tiltmeter.debias.kit.grouped_sentences import terms_facts
from tiltmeter.debias.kit.options import CheckpointEvery, Device, Lora, Seed
from tiltmeter.debias.kit.prompt_file import PROMPTS, prompts_content
from tiltmeter.debias.kit.prompt_plan import PromptPlan, material_for, prompts_for
from tiltmeter.debias.kit.stereotypes import stereotype_words
from tiltmeter.errors import require_choice
from tiltmeter.finetune import Made, Recipe, Watch, check_output, load_trainable, train_and_save, unfinished
from tiltmeter.models import Parts, Tokenization

CITATION = "Guo, Yang and Abbasi (2022), Auto-Debias: Debiasing Masked Language Models with Automated Biased Prompts, ACL"
NEEDS_TEXT = False
KINDS = ("masked",)
CODE = "github.com/Irenehere/Auto-Debias"
REFERENCE: dict[str, Any] = {
    "lengths": 5, "beam": 100, "candidates": 5000, "screen": 0, "divergence": "reversed", "over": "vocabulary",
    "full_stop": "training", "dropout": True, "schedule": "constant", "clip": 0.0, "rate": 1e-5, "epochs": 1.0, "rows": 32,
}  # fmt: skip
UNMATCHED = (
    (
        "candidates",
        "words that the model expects, or yours (`--candidate-words`)",
        "the 5,000 most frequent words of Wikipedia",
    ),
    ("pooled vectors", "no part of the loss", "0.1 · (1 − cosine) between the groups is added"),
    ("the last step of an epoch", "may be smaller", "is left out if it is"),
)
STOPS = ("training", "both", "never")
BASE_SIZE = 50_000_000
RATE, SMALL_RATE = 5e-6, 1e-5
LOOKS = "divergence behind the prompts, without dropout"
"""Meaning of the held-out loss here: it is of the very prompts that are trained on, since there are no others."""


def auto_debias(
    model: str | Path,
    *,
    output: Path,
    terms: Annotated[str, "gender, or a file of aligned terms with one column per group."] = "gender",
    words: Annotated[Path | None, "Stereotype words, one a line. Default: a list of ours."] = None,
    prompts: Annotated[Path | None, "Use these prompts (a prompts.json, or one a line) instead of a search."] = None,
    lengths: Annotated[int, "Longest prompt of the search, in tokens."] = 5,
    beam: Annotated[int | None, "Prompts kept of each length. Default: 100 as published, 10 on a CPU."] = None,
    candidates: Annotated[int | None, "Candidate words for prompts. Default: 5,000 as published, 300 on a CPU."] = None,
    candidate_words: Annotated[
        Path | None, "Words that prompts are made of, one a line. Default: those the model expects."
    ] = None,
    screen: Annotated[int, "Pairs of terms that screen all prompts first; 0: all pairs, slower."] = 4,
    divergence: Annotated[str, "jensen-shannon, or reversed, as the published code has it."] = "jensen-shannon",
    over: Annotated[str, "Train on the whole vocabulary, as the published code does, or on the words."] = "vocabulary",
    full_stop: Annotated[
        str, "Sentences end in one in training (as published), in both (search too), or never."
    ] = "training",
    dropout: Annotated[bool, "Train with the model's dropout, which adds different noise for each group."] = False,
    rate: Annotated[float | None, "Learning rate. Default: 5e-6 as published; below 50 million parameters 1e-5."] = None,
    schedule: Annotated[str, "linear: the rate falls to zero; constant, as published."] = "linear",
    clip: Annotated[float, "Norm that gradients are clipped to; 0: no clipping, as published."] = 1.0,
    epochs: Annotated[float, "Number of times training sees every prompt behind every pair of terms."] = 1.0,
    rows: Annotated[int, "Batch size of a step: prompts, each behind one pair of terms."] = 32,
    lora: Lora = 0,
    seed: Seed = 0,
    device: Device = "auto",
    checkpoint_every: CheckpointEvery = 60.0,
    watch: Watch | None = None,
) -> Path:
    """No text is needed: a search in the model finds the prompts that show its bias, and it is trained on these.

    A search weighs "TERM PROMPT [MASK]" by the divergence between two groups' distributions over stereotype words; training
    lowers it. Nothing in this objective asks for good predictions, only for equal ones: look at what it costs. The prompts
    are in prompts.json of the folder, and can be given again with --prompts.
    """
    folder = check_output(output)
    for option, given, known in (("--over", over, OVER), ("--full-stop", full_stop, STOPS)):
        require_choice(option, given, known)
    wanted = stereotype_words(candidate_words) if candidate_words else ()
    plan = PromptPlan(lengths, beam, candidates, screen, divergence, full_stop == "both", wanted)
    (swap,), listed = make_swaps([terms], repeats=True), stereotype_words(words)
    parts = load_trainable(model, Recipe(lora_rank=lora), method="Auto-Debias", kinds=KINDS, device=device)
    peak = usual_rate(parts) if rate is None else rate
    recipe = Recipe(epochs=epochs, rows=rows, peak_rate=peak, seed=seed, lora_rank=lora, schedule=schedule, clip=clip)
    tokens = Tokenization(parts.tokenizer)
    material = material_for(tokens, swap.lists[0], listed, stop=full_stop != "never")
    found, about = prompts_for(
        model, plan, swap.lists[0], listed, prompts_file=prompts, work=unfinished(folder), device=device, watch=watch
    )
    task = Aligning(
        parts.module, material.frame, [one.ids for one in found], parts.tokenizer.pad_token_id or 0,
        over=over, kind=divergence, dropout=dropout,
    )  # fmt: skip
    options = {"terms": terms_facts(swap), "over": over, "full_stop": full_stop, "dropout": dropout} | about
    data = {"prompts": len(found), "mean_divergence": sum(one.divergence for one in found) / len(found)}
    beside = {PROMPTS: prompts_content(found, tokens, about)}
    made = Made("auto_debias", CITATION, options, data, {"looks": LOOKS}, files=beside)
    return train_and_save(parts, task, recipe, folder, made, held_out=task, watch=watch, checkpoint_seconds=checkpoint_every)


def usual_rate(parts: Parts) -> float:
    """Choose the learning rate: as published for models of the size of BERT base; higher for small ones."""
    size = sum(one.numel() for one in parts.module.parameters())
    return RATE if size >= BASE_SIZE else SMALL_RATE
