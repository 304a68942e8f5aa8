"""Questions with choices as requests of other programs: log-likelihoods of answers, or a prompt whose reply is parsed."""

from __future__ import annotations

from collections.abc import Mapping

from tiltmeter.benchmarks import Item
from tiltmeter.benchmarks.kit.choices import ChoiceBenchmark
from tiltmeter.benchmarks.kit.decisions import DECISION
from tiltmeter.families.choices.ask import decide
from tiltmeter.families.choices.decisions import COMPARED, REFUSAL_GAP_READS
from tiltmeter.families.choices.generated_protocol import parsed_reply
from tiltmeter.families.choices.logprob_protocols import make_reading
from tiltmeter.families.choices.prompts import find_prompt, orders_of
from tiltmeter.families.choices.published import answers_of_replies
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.requests import LikelihoodRequests, TextRequests

ONE_ORDER = frozenset({"reordered", *COMPARED, *REFUSAL_GAP_READS})
"""Inputs that stay empty: those of several orders of the options, and those of a group and the others."""


def likelihood_requests(benchmark: ChoiceBenchmark) -> LikelihoodRequests:
    """Request each answer behind the question, as the protocol `answers` reads it."""
    prompt = find_prompt(None, benchmark.language)

    def of_item(item: Item) -> list[tuple[str, str]]:
        return [(prompt.open(item), f" {answer}") for answer in prompt.answers(item)]

    def answers(replies: Mapping[str, list[float]]) -> Answers:
        decisions = {item.id for item in benchmark.asked_items if item.extra["condition"] == DECISION}
        chosen = {
            name: decide("answers", [make_reading(name, tuple(range(len(values))), values)], scored=name in decisions)
            for name, values in replies.items()
        }
        return answers_of_replies(benchmark, chosen, "model", "answers")

    return LikelihoodRequests(of_item, answers, ONE_ORDER)


def text_requests(benchmark: ChoiceBenchmark) -> TextRequests:
    """Request an answer to the question with lettered options, parsed as by the protocol `generated`."""
    prompt = find_prompt(None, benchmark.language)

    def of_item(item: Item) -> str:
        return prompt.lettered(item, orders_of(len(prompt.answers(item)), "given")[0])

    def answers(replies: Mapping[str, str]) -> Answers:
        items = {item.id: item for item in benchmark.asked_items}
        parsed = {name: parsed_reply(prompt, items[name], text) for name, text in replies.items()}
        return answers_of_replies(benchmark, parsed, "model", "generated")

    return TextRequests(of_item, answers, ONE_ORDER | {"scored"})
