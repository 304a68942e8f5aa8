"""Pairs as requests of other programs: the log-likelihood of every sentence."""

from __future__ import annotations

from collections.abc import Mapping

from tiltmeter.benchmarks import Benchmark, Item
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.requests import LikelihoodRequests
from tiltmeter.families.pairs.published import answers_of_scores


def likelihood_requests(benchmark: Benchmark) -> LikelihoodRequests:
    """Request each sentence behind an empty context, as the scorer `causal` reads it."""

    def of_item(item: Item) -> list[tuple[str, str]]:
        return [("", text) for text in item.texts.values()]

    def answers(replies: Mapping[str, list[float]]) -> Answers:
        scores = {
            (item.id, role): value
            for item in benchmark.asked_items
            if item.id in replies
            for role, value in zip(item.texts, replies[item.id], strict=True)
        }
        return answers_of_scores(benchmark, scores, "model", "causal")

    return LikelihoodRequests(of_item, answers)
