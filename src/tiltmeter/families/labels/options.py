"""Options of labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tiltmeter.families.kit.options import named, option


@named
@dataclass(frozen=True)
class LabelsOptions:
    """Options of labels: fine-tuning, the meaning of labels, counterfactuals and attributions."""

    seeds: int = option(3, "Number of times a model is fine-tuned, because these estimates are noisy.")
    recipe: str = option("auto", "Recipe of fine-tuning: hate, toxicity (Cao et al.), small, or auto.")
    epochs: float | None = option(None, "Passes over the training texts, instead of the recipe's.")
    rate: float | None = option(None, "Highest learning rate, instead of the recipe's.")
    max_length: int = option(128, "Largest number of tokens of a text; longer ones are truncated, and counted.")
    train_on: str | None = option(None, "Train on the training texts of another benchmark: a name or a file.")
    toxic_labels: tuple[str, ...] = option((), "Labels that mean toxic, in your file or in your classifier.")
    group_rule: str = option("two-annotators", "hatexplain names a group: two-annotators, one-annotator, or term.")
    evaluate: str = option("test", "The split that is judged: test, or validation+test.")
    group_terms: Path | None = option(None, "Your terms that are swapped: a table, one column per group.")
    swaps: int = option(500, "Largest number of texts that are also labelled with other groups swapped in; 0: none.")
    explained: int = option(
        40, "Number of texts for which word attributions are computed, for the explorer; 0: none.", "--attribution-texts"
    )


Options = LabelsOptions
