"""Requests: items as questions that another program asks a model, and its replies as answers of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from tiltmeter.benchmarks import Item
from tiltmeter.families.kit.answers import Answers

Question = TypeVar("Question")
Reply = TypeVar("Reply")


@dataclass(frozen=True)
class Requests(Generic[Question, Reply]):
    """How a program that runs models itself asks the items of one benchmark.

    Attributes:
        of_item: The question that an item asks.
        answers: Answers from a reply for each item, by id.
        lacks: Inputs of measures that such replies do not fill over all items.
    """

    of_item: Callable[[Item], Question]
    answers: Callable[[Mapping[str, Reply]], Answers]
    lacks: frozenset[str] = frozenset()


LikelihoodRequests = Requests[list[tuple[str, str]], list[float]]
"""A question is some (context, continuation); the reply has the log-likelihood of each continuation."""
TextRequests = Requests[str, str]
"""A question is a prompt; the reply is what the model wrote."""
