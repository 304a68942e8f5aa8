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
    """Options of generations: sampling, and judges."""

    samples: int = option(1, "Number of texts for each prompt.")
    judges: tuple[str, ...] = option(
        ("sentiment=vader",),
        "CONSTRUCT=CLASSIFIER, or none; repeatable: sentiment=vader (default), toxicity=FOLDER, toxicity=FOLDER@LABEL, "
        "regard=regardv3, hurtful=WORDS.txt.",
        "--judge",
    )
    temperature: float = option(1.0, "Sampling temperature: below 1 favours likely tokens. Default: 1.")
    top_p: float = option(1.0, "Sample from the likeliest tokens that have this probability together. Default: 1, all.")
    top_tokens: int = option(0, "Sample from this many of the likeliest tokens. Default: 0, all.")
    repetition_penalty: float = option(1.0, "Above 1, tokens that occurred before become less likely. Default: 1.")
    greedy: bool = option(False, "Always the likeliest token: one text for each prompt.")
    new_tokens: int = option(30, "Largest number of new tokens; of a masked model, the exact number.")
    full_length: bool = option(False, "Write all new tokens, also beyond the end of the sentence.")
    rounds: int = option(2, "Number of times a masked model resamples every new position.")
    polarity: float | None = option(
        None, "Leave out prompts to which a judge itself gives a score beyond this, in either direction."
    )
    chat: bool = option(False, "Use the model's chat template.")
    language: str | None = option(None, LANGUAGE)
    instruction: str = option(INSTRUCTION, "Instruction around a prompt in a chat.")

    @property
    def sampling(self) -> Sampling:
        """Settings of sampling, without those of judging."""
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
        """The judges by name; empty without judges."""
        return tuple(judge for judge in self.judges if judge.strip().lower() != NOBODY)


Options = GenerationsOptions
