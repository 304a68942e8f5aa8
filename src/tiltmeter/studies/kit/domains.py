"""Domain of an estimate: gender, race or religion, by the names that benchmarks give to domains, tests and groups."""

from __future__ import annotations

import re
from functools import cache

from tiltmeter.benchmarks.kit.domain_names import domain_named
from tiltmeter.benchmarks.kit.word_sets import WordFile
from tiltmeter.benchmarks.seat import domain_of as domain_of_test

DOMAINS = ("gender", "race", "religion")
GROUPS = {"female": "gender", "male": "gender", "women": "gender", "men": "gender"}
WHOLE = ("bias_type", "domain", "family")
"""Groupings by domain."""


def domain_of(scorer: str, by: str, group: str) -> str:
    """One of the domains; empty where a number is about none of them, or about several.

    >>> domain_of("aul", "bias_type", "race-color"), domain_of("slots", "gap × about", "male − female, female")
    ('race', 'gender')
    >>> domain_of("mean", "test", "sent-weat6b"), domain_of("x", "group", "Muslim"), domain_of("aul", "all", "all")
    ('gender', 'religion', '')
    """
    if by in WHOLE:
        name = domain_named(group)
    elif by == "test":
        name = next((one for one in DOMAINS if one in group), domain_of_test(group))
    else:
        words = re.findall(r"[\w-]+", group if by != "attributes" else scorer.replace("-", " "))
        found = {domain for word in words if (domain := groups().get(word.lower()))}
        name = found.pop() if len(found) == 1 else ""
    return name if name in DOMAINS else ""


@cache
def groups() -> dict[str, str]:
    """The domain of every group that our word sets name."""
    return GROUPS | {group.name.lower(): group.domain for group in WordFile().groups()}
