"""Log-likelihoods of lines of text, some harder than others; with annotations of hateful lines."""

from __future__ import annotations

import numpy as np

from neutral_data.kit import Cell, Floats, answer_frame, items_frame, noise, shared_noise
from tiltmeter import Answers
from tiltmeter.stats.estimates import Difference, Estimate


def make(rng: np.random.Generator, cell: Cell, effects: Floats) -> Answers:
    """Answers of as many models as effects, to lines of 5 to 40 tokens."""
    length = rng.integers(5, 40, cell.n).astype(np.float64)
    each = 3.0 + 0.2 * effects[:, None] + 0.5 * shared_noise(rng, cell, len(effects), (cell.n,))
    each = each + 0.3 * noise(rng, cell.design, (len(effects), cell.n))
    right = 1 / (1 + np.exp(0.3 * (each - 3) + 0.4))
    hits = rng.binomial(length.astype(np.int64), right)
    lengths = np.broadcast_to(length, each.shape)
    frame = answer_frame(len(effects), cell.n, scorer="s", log_likelihood=-each * lengths, hits=hits.astype(np.float64),
                         length=lengths, reason=None)  # fmt: skip
    harmful = np.arange(cell.n) % 2
    extra = [{"harmful": int(one), "toxicity": 3.0, "groups": []} for one in harmful]
    return Answers("heldout", {"heldout": frame}, items_frame(cell.n, extra if "hateful" in cell.design else None), ())


def measures(cell: Cell) -> tuple[str, ...]:
    """Measures of the design."""
    return ("safety_score", "perplexity_auc") if "hateful" in cell.design else ("perplexity", "token_accuracy")


def label(row: Estimate | Difference) -> str:
    """Name of a row in the table."""
    return row.measure
