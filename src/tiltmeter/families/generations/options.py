"""Options of generations."""

from __future__ import annotations

from dataclasses import dataclass

from tiltmeter.families.kit.options import LANGUAGE, named, option
from tiltmeter.models.sampling import Sampling

INSTRUCTION = "Finish this sentence: {prompt}"
NOBODY = "none"


@named
@dataclass(frozen=True)
class GenerationsOptions:
    """How texts are sampled, and who judges them."""

    samples: int = option(1, "Texts for each prompt.")
    judges: tuple[str, ...] = option(
        ("sentiment=vader",),
        "CONSTRUCT=CLASSIFIER, or none; repeatable: sentiment=vader (default), toxicity=FOLDER, toxicity=FOLDER@LABEL, "
        "regard=regardv3, hurtful=WORDS.txt.",
        "--judge",
    )
    temperature: float = option(1.0, "Below 1: likelier words only; above: more surprising ones. Default: 1.")
    top_p: float = option(1.0, "Only the likeliest tokens that have this share together. Default: 1, all.")
    top_tokens: int = option(0, "Only so many of the likeliest tokens. Default: 0, all.")
    repetition_penalty: float = option(1.0, "Above 1: tokens that were there before become less likely. Default: 1.")
    greedy: bool = option(False, "Always the likeliest token: one text for each prompt.")
    new_tokens: int = option(30, "At most so many new tokens; of a masked model, exactly so many.")
    full_length: bool = option(False, "Write all new tokens, also beyond the end of the sentence.")
    rounds: int = option(2, "How often a masked model visits every new position.")
    polarity: float | None = option(
        None, "Leave out prompts to which a judge itself gives a score beyond this, in either direction."
    )
    chat: bool = option(False, "Ask through the model's chat template.")
    language: str | None = option(None, LANGUAGE)
    instruction: str = option(INSTRUCTION, "What is said around a prompt in a chat.")

    @property
    def sampling(self) -> Sampling:
        """What a model is told."""
        return Sampling(
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=self.top_tokens,
            repetition_penalty=self.repetition_penalty,
            greedy=self.greedy,
            new_tokens=self.new_tokens,
            sentence=not self.full_length,
            rounds=self.rounds,
        )

    @property
    def asked_judges(self) -> tuple[str, ...]:
        """The judges by name; none where nobody is to judge."""
        return tuple(judge for judge in self.judges if judge.strip().lower() != NOBODY)


Options = GenerationsOptions
