"""The protocol `choice_head`: a multiple-choice head scores every answer to a question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tiltmeter.benchmarks import Item
from tiltmeter.benchmarks.kit.choices import QUESTION
from tiltmeter.families.choices.logprob_protocols import Reading, make_reading
from tiltmeter.families.choices.prompts import Prompt
from tiltmeter.models import ChoiceHead


def pairs_of(item: Item, prompt: Prompt) -> list[tuple[str, str]]:
    """Make a pair of texts for each answer, as for RACE: the context, and the question with the answer.

    Of the prompt only its wording of "unknown" is used, and whether the context is left out.
    """
    context = "" if prompt.question_only else item.context or ""
    return [(context, f"{item.texts[QUESTION]} {answer}") for answer in prompt.answers(item)]


class HeadReader:
    """Reader of log-probabilities of answers by a multiple-choice head. It sees one answer at a time, so no order."""

    def __init__(self, model: ChoiceHead, prompt: Prompt, batch_tokens: int | str = "auto") -> None:
        self.model, self.prompt, self.batch_tokens = model, prompt, batch_tokens

    def read(self, items: Sequence[Item]) -> list[Reading]:
        """Read the logarithm of the softmax of the scores over the answers of each question."""
        pairs = [pairs_of(item, self.prompt) for item in items]
        scores = iter(self.model.scores([pair for some in pairs for pair in some], batch_tokens=self.batch_tokens))
        found = []
        for item, some in zip(items, pairs, strict=True):
            values = [score for _ in some if (score := next(scores)) is not None]
            fits = len(values) == len(some)
            found.append(make_reading(item.id, tuple(range(len(some))), _log_softmax(values) if fits else None))
        return found


def _log_softmax(scores: Sequence[float]) -> NDArray[np.float64]:
    values = np.array(scores)
    with np.errstate(invalid="ignore"):  # infinite scores become a missing answer with its reason
        normalised: NDArray[np.float64] = values - np.logaddexp.reduce(values)
    return normalised
