"""Options of choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tiltmeter.families.kit.options import named, option


@named
@dataclass(frozen=True)
class ChoicesOptions:
    """Options of choices: how a question is presented, and how its answer is read."""

    protocols: Sequence[str] = option(
        (), "How an answer is read; repeatable: letters, answers, answers_mean, generated; masked, masked_mean for masked "
        "models; choice_head for such a head. Default: letters, masked or choice_head.", "--protocol", chooses=True,
    )  # fmt: skip
    prompt: str | None = option(None, "choices: name or TOML file of the prompt. Default: the plain one of the language.")
    orders: str = option("all", "choices: present the options in all orders, or only in that of the file.")
    question_only: bool = option(False, "choices: leave out the context, as a control.")
    category: Sequence[str] = option(
        (), "Category of bbq, esbbq, cabbq or plumb-choices; repeatable. Default: all.", "--category"
    )
    chat_prompt: bool = option(False, "choices: put the prompt into the model's chat template.")
    answer_tokens: int = option(24, "choices: tokens that `generated` may write.")
