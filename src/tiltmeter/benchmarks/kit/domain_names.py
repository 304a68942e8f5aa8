"""Names of domains that differ between benchmarks."""

from __future__ import annotations

NAMED = {
    "race-color": "race",
    "sex": "gender",
    "religious_ideology": "religion",
    "religious-ideology": "religion",
    "political_ideology": "political-ideology",
}


def domain_named(name: str) -> str:
    """A bias type as the domain that it is about.

    >>> domain_named("sex"), domain_named("race-color"), domain_named("religious_ideology"), domain_named("age")
    ('gender', 'race', 'religion', 'age')
    """
    return NAMED.get(name, name)
