"""The words that drive a label: how much of the probability goes when a word is masked, or left out where nothing masks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiltmeter.benchmarks import Item
from tiltmeter.benchmarks.kit.labelled import TEXT, spread
from tiltmeter.families.labels.label_mapping import toxicity
from tiltmeter.models import Classifier

if TYPE_CHECKING:
    import pandas as pd

WORD = re.compile(r"\S+")
MOST_WORDS = 60
COLUMNS = ("model", "benchmark", "item", "seed", "place", "word", "drop")
"""One row per word of an explained text: its place, and what the probability of toxic loses without it."""


@dataclass(frozen=True)
class Explainer:
    """Inputs of an attribution: a classifier, which of its labels mean toxic, and how long a text may be."""

    classifier: Classifier
    columns: Sequence[int]
    longest: int
    batch_tokens: int | str


def explained(items: Sequence[Item], probability: NDArray[np.float64], most: int) -> list[int]:
    """Select texts: half of them those wrongly called toxic with most confidence, the others spread over all."""
    wrong = [n for n, item in enumerate(items) if not item.extra["toxic"] and probability[n] >= 0.5]
    first = sorted(wrong, key=lambda n: -probability[n])[: most // 2]
    rest = [n for n in range(len(items)) if n not in set(first) and np.isfinite(probability[n])]
    return sorted([*first, *spread(rest, most - len(first))]) if most else []


def drivers(items: Sequence[Item], probability: NDArray[np.float64], explainer: Explainer) -> pd.DataFrame:
    """One row for each word of these texts."""
    import pandas as pd

    mask = explainer.classifier.tokens.tokenizer.mask_token or ""
    rows, texts = [], []
    for item, whole in zip(items, probability, strict=True):
        text = item.texts[TEXT]
        for place, found in enumerate(list(WORD.finditer(text))[:MOST_WORDS]):
            rows.append((item.id, place, found.group(), whole))
            texts.append(f"{text[: found.start()]}{mask}{text[found.end() :]}".strip())
    said = explainer.classifier.label(texts, max_length=explainer.longest, batch_tokens=explainer.batch_tokens)
    without = toxicity(said.probability, explainer.columns, explainer.classifier.independent)
    frame = pd.DataFrame(rows, columns=["item", "place", "word", "whole"])
    frame["drop"] = frame.pop("whole").astype(float) - without
    return frame
