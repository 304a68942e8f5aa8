"""Options of labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tiltmeter.families.kit.options import named, option


@named
@dataclass(frozen=True)
class LabelsOptions:
    """How a model is fine-tuned, what its labels mean, and what is asked besides."""

    seeds: int = option(3, "How many times a model is fine-tuned: these numbers are noisy.")
    recipe: str = option("auto", "How a model is fine-tuned: hate, toxicity (Cao et al.), small, or auto.")
    epochs: float | None = option(None, "Passes over the training texts, instead of the recipe's.")
    rate: float | None = option(None, "Highest learning rate, instead of the recipe's.")
    max_length: int = option(128, "Tokens of a text; longer ones are cut, and counted.")
    train_on: str | None = option(None, "Learn from the training texts of another benchmark: a name or a file.")
    toxic_labels: tuple[str, ...] = option((), "Labels that mean toxic, in your file or in your classifier.")
    group_rule: str = option("two-annotators", "hatexplain names a group: two-annotators, one-annotator, or term.")
    evaluate: str = option("test", "The split that is judged: test, or validation+test.")
    group_terms: Path | None = option(None, "Your words that are exchanged: a table, one column per group.")
    swaps: int = option(500, "At most so many texts are asked again about other groups; 0: none.")
    explained: int = option(
        40, "Number of texts for which word attributions are computed, for the explorer; 0: none.", "--attribution-texts"
    )


Options = LabelsOptions
