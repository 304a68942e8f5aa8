"""SentenceDebias: removes the direction in which sentences of two groups differ from the last hidden state."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np

from tiltmeter.builders.counterfactual import make_swaps
from tiltmeter.debias.kit.grouped_sentences import single_swaps, terms_facts, variants
from tiltmeter.debias.kit.options import Device, Lines, TextFile
from tiltmeter.debias.kit.pretraining import text_of
from tiltmeter.debias.kit.vectors import Rows, check_count, sentence_vectors, unit, usable
from tiltmeter.debias.kit.wrapper_export import load_base, save_projected
from tiltmeter.errors import InputError, UsageError, require_choice
from tiltmeter.finetune.export import check_output
from tiltmeter.finetune.folder_training import Made

CITATION = "Liang, Li, Zheng, Lim, Salakhutdinov and Morency (2020), Towards Debiasing Sentence Representations, ACL"
NEEDS_TEXT = True
KINDS = ("masked", "causal")
CODE = "github.com/McGill-NLP/bias-bench"
REFERENCE: dict[str, Any] = {"swap": "one", "sentences": 0, "components": 1}
UNMATCHED = (
    ("text", "yours, or a small one of ours", "2.5 % of English Wikipedia, in lower case"),
    ("words", "punctuation is no part of a word", "words are what stands between spaces"),
)
SWAPS = ("all", "one")


def sentence_debias(
    model: str | Path,
    *,
    output: Path,
    text: TextFile = None,
    terms: Annotated[str, "gender, or a file of aligned terms with one column per group."] = "gender",
    components: Annotated[int, "Number of principal components to remove."] = 1,
    swap: Annotated[str, "all: every term of a sentence at once; one: one pair of terms at a time, as published."] = "all",
    sentences: Annotated[int, "Sentences to use at most; 0: all."] = 10_000,
    lines: Lines = None,
    seed: Annotated[int, "Seed of the draw of sentences."] = 0,
    device: Device = "auto",
) -> Path:
    """Remove the first principal component of pair-centred sentence vectors from the last hidden state at every position.

    Every sentence that names a group is written for the other group, too. The vectors of both (mean over positions, length
    1) minus their mean hold nothing but the difference. What is learned is one direction; no weight changes.
    """
    check_output(Path(output))
    parts = load_base(model, "SentenceDebias", KINDS, device)
    read = text_of(text, lines)
    require_choice("--swap", swap, SWAPS)
    (swaps,) = make_swaps([terms], repeats=True)
    pairs = (variants if swap == "all" else single_swaps)(read.lines, swaps, sentences, seed)
    check_count(len(pairs), components + 1, f"sentences with a term of {' or '.join(swaps.lists[0].groups)}", read.source)
    every = sentence_vectors(parts, [one for some in pairs for one in some])
    centred = pair_centred(every.reshape(len(pairs), swaps.ways + 1, -1))
    directions, share = principal(centred, components)
    options = {"terms": terms_facts(swaps), "components": components, "swap": swap, "sentences": sentences, "seed": seed}
    found = {"sentences": len(centred) // (swaps.ways + 1), "share_of_variance": [round(float(one), 6) for one in share]}
    made = Made("sentence_debias", CITATION, options, read.facts(), more={"found": found})
    return save_projected(parts, Path(output), directions, made)


def pair_centred(vectors: Rows) -> Rows:
    """Pairs × variants × width to rows: of length 1, minus the mean of their pair. Pairs with a gap are left out."""
    whole = unit(vectors[usable(vectors).all(1)])
    if not len(whole):
        raise InputError("All sentences are longer than the model's limit.", code="empty-selection", kind="sentences")
    return np.asarray((whole - whole.mean(1, keepdims=True)).reshape(-1, vectors.shape[2]))


def principal(centred: Rows, n: int) -> tuple[Rows, Rows]:
    """The first directions, and the share of the variance that lies along each."""
    if not 1 <= n < centred.shape[1]:
        raise UsageError(
            f"--components must be from 1 to {centred.shape[1] - 1}, not {n}.",
            code="out-of-range", name="components", value=n, most=centred.shape[1] - 1,
        )  # fmt: skip
    _, lengths, directions = np.linalg.svd(centred, full_matrices=False)
    if len(lengths) < n or lengths[n - 1] <= 1e-9 * lengths[0] or not lengths[0]:
        raise InputError(
            f"The sentences of the groups differ in fewer than {n} directions. Use more text (--text).",
            code="too-few", kind="directions", least=n,
        )  # fmt: skip
    return directions[:n], (lengths**2 / (lengths**2).sum())[:n]
