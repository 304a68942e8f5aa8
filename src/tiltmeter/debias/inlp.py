"""INLP: remove from the last hidden state the directions by which linear classifiers distinguish the groups."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.builders.aligned import Aligned
from tiltmeter.builders.counterfactual import make_swaps
from tiltmeter.debias.kit.grouped_sentences import any_or_none, by_group, clipped, terms_facts
from tiltmeter.debias.kit.options import Device, Lines, TextFile
from tiltmeter.debias.kit.pretraining import text_of
from tiltmeter.debias.kit.vectors import Rows, check_count, orthonormal, sentence_vectors, usable, without
from tiltmeter.debias.kit.wrapper_export import load_base, save_projected
from tiltmeter.errors import UsageError, require_choice
from tiltmeter.finetune.export import check_output
from tiltmeter.finetune.folder_training import Made

CITATION = (
    "Ravfogel, Elazar, Gonen, Twiton and Goldberg (2020), Null It Out: Guarding Protected Attributes by Iterative Nullspace "
    "Projection, ACL"
)
NEEDS_TEXT = True
KINDS = ("masked", "causal")
CODE = "github.com/McGill-NLP/bias-bench"
REFERENCE: dict[str, Any] = {
    "iterations": 80, "until_chance": False, "classes": "published", "clip": True, "sentences": 10_000, "neutral": True,
}  # fmt: skip
UNMATCHED = (
    ("text", "yours, or a small one of ours", "2.5 % of English Wikipedia"),
    ("iterations of GPT-2", "80 unless `--iterations 10` is given", "10"),
)
CLASSES = ("groups", "any", "published")
FEWEST = 20
HELD_OUT = 0.2
Labels = NDArray[np.int64]


def inlp(
    model: str | Path,
    *,
    output: Path,
    text: TextFile = None,
    terms: Annotated[str, "gender, or a file of aligned terms with one column per group."] = "gender",
    iterations: Annotated[int, "Classifiers at most; published: 80, for GPT-2 10."] = 80,
    classes: Annotated[
        str, "groups: one for each; any: sentences that name any group; published: groups for gender, any for other lists."
    ] = "groups",
    clip: Annotated[
        bool, "Cut sentences at a random word behind the term, in lower case, as published; else whole."
    ] = False,
    neutral: Annotated[bool, "A class of sentences that name no group, as published."] = True,
    until_chance: Annotated[bool, "End when a classifier no longer beats chance on held-out sentences."] = True,
    sentences: Annotated[int, "Sentences per class at most."] = 10_000,
    lines: Lines = None,
    seed: Annotated[int, "Seed of the draw of sentences."] = 0,
    device: Device = "auto",
) -> Path:
    """Train a linear classifier of mean-pooled sentence vectors, project its weights away, and train the next.

    A classifier of three classes takes up to three directions, so a narrow model is soon empty: the manifest says how many
    classifiers there were, their accuracies, and how many directions were taken from how many.
    """
    check_output(Path(output))
    if iterations < 1:
        raise UsageError(
            f"INLP needs at least one iteration, not {iterations}.", code="out-of-range", name="iterations", value=iterations
        )
    parts = load_base(model, "INLP", KINDS, device)
    read = text_of(text, lines)
    (swap,) = make_swaps([terms], repeats=True)
    found_classes = sentence_classes(read.lines, swap.lists[0], sentences, seed, classes=classes, clip=clip)
    kept = dict(list(found_classes.items())[: None if neutral else -1])
    for name, some in kept.items():
        check_count(len(some), FEWEST, f"sentences that name {name}", read.source)
    names = list(kept)
    rows, labels = labelled([sentence_vectors(parts, some) for some in kept.values()], seed)
    removed = remove(rows, labels, iterations, until_chance=until_chance)
    options: dict[str, Any] = {
        "terms": terms_facts(swap),
        "iterations": iterations,
        "classes": classes,
        "clip": clip,
        "neutral": neutral,
        "until_chance": until_chance,
    }
    options |= {"sentences": sentences, "seed": seed}
    found = {"classes": names, "sentences_per_class": len(labels) // len(names)} | removed.facts()
    made = Made("inlp", CITATION, options, read.facts(), more={"found": found})
    return save_projected(parts, Path(output), removed.directions, made)


def sentence_classes(
    lines: Sequence[str], terms: Aligned, most: int, seed: int, *, classes: str = "groups", clip: bool = False
) -> dict[str, list[str]]:
    """Sentences by class, those that name no group last."""
    require_choice("--classes", classes, CLASSES)
    any_group = classes == "any" or (classes == "published" and not terms.pronouns)
    found = any_or_none(lines, terms, most, seed) if any_group else by_group(lines, terms, most, seed)
    names = ["any group", "no group"] if any_group else [*terms.groups, "no group"]
    if clip:
        found = [clipped(some, terms, seed) for some in found]
    return dict(zip(names, found, strict=True))


@dataclass
class Removed:
    """The directions, and the accuracy of each classifier on its training sentences and on others."""

    directions: Rows
    learned: list[float] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)

    def facts(self) -> dict[str, Any]:
        """Describe the object for the manifest."""
        return {
            "iterations": len(self.learned),
            "directions": len(self.directions),
            "width": self.directions.shape[1],
            "accuracy": [round(one, 4) for one in self.learned],
            "accuracy_held_out": [round(one, 4) for one in self.held_out],
        }


def labelled(classes: Sequence[Rows], seed: int) -> tuple[Rows, Labels]:
    """Sample equally many of each class, mixed, so that chance is 1 / the number of classes."""
    whole = [rows[usable(rows)] for rows in classes]
    n = min(map(len, whole))
    rows, labels = np.concatenate([some[:n] for some in whole]), np.repeat(np.arange(len(whole)), n)
    order = np.random.default_rng(seed).permutation(len(rows))
    return rows[order], labels[order]


def remove(rows: Rows, labels: Labels, iterations: int, *, until_chance: bool = True) -> Removed:
    """Classifier after classifier. The last one, which showed that there is nothing left, takes nothing with it."""
    cut = len(rows) - max(1, int(HELD_OUT * len(rows)))
    chance, n_held = 1 / len(np.unique(labels)), len(rows) - cut
    at_chance = chance + 1.645 * np.sqrt(chance * (1 - chance) / n_held)  # a one-sided test at 5 %
    removed = Removed(np.zeros((0, rows.shape[1])))
    for _ in range(iterations):
        left = without(rows, removed.directions)
        classifier = fitted(left[:cut], labels[:cut])
        removed.learned.append(float(classifier.score(left[:cut], labels[:cut])))
        removed.held_out.append(float(classifier.score(left[cut:], labels[cut:])))
        if until_chance and removed.held_out[-1] <= at_chance:
            break
        removed.directions = orthonormal(np.concatenate([removed.directions, classifier.coef_]))
        if len(removed.directions) >= rows.shape[1]:
            raise UsageError(
                f"After {len(removed.learned)} classifiers none of {rows.shape[1]} dimensions is left; use fewer "
                "(--iterations) or more text.",
                code="out-of-range", name="iterations", value=len(removed.learned), dimensions=rows.shape[1],
            )  # fmt: skip
    return removed


def fitted(rows: Rows, labels: Labels) -> Any:
    """A support-vector classifier without intercept, as published."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a direction that is nearly the best will do
        return LinearSVC(fit_intercept=False, dual=False, random_state=0, max_iter=5000).fit(rows, labels)
