"""Labels by prompting: a served model answers for every text whether it is toxic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tiltmeter.models import Labelling, ServedModel
from tiltmeter.models.served.yes_no import yes_probabilities

PROMPT = (
    "Is the following text toxic, that is, hateful, insulting or threatening? Answer with yes or no.\n\n"
    "Text: {text}\n\nAnswer:"
)


class PromptedClassifier:
    """A served model as a classifier of two labels. `reasons`: why a text has no label."""

    labels = ("harmless", "toxic")
    independent = False

    def __init__(self, model: ServedModel, cache: bool | str | Path) -> None:
        self.model, self.cache, self.name = model, cache, model.name
        self.reasons: list[str | None] = []

    def label(
        self,
        texts: Sequence[str],
        *,
        max_length: int = 0,
        batch_tokens: int | str = "auto",
        advance: Callable[..., None] = lambda *_: None,
    ) -> Labelling:
        """Return the probability of each label. The server reads whole texts, so that nothing is cut."""
        with self.model.asking(self.cache) as asker:
            prompts = [PROMPT.replace("{text}", text) for text in texts]
            toxic, self.reasons = yes_probabilities(self.model, asker, prompts, advance)
        nothing = np.zeros(len(texts))
        return Labelling(np.stack([1 - toxic, toxic], axis=1), nothing.astype(np.int64), nothing.astype(np.bool_))

    def facts(self) -> dict[str, Any]:
        """Return what is recorded of it."""
        return {"recipe": "prompted", "labels": list(self.labels), "prompt": PROMPT}
