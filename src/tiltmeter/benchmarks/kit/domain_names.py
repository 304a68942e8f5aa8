"""Names of domains that differ between benchmarks."""

from __future__ import annotations

DOMAINS = (
    "gender", "race", "religion", "age", "disability", "nationality", "physical-appearance", "sexual-orientation",
    "socioeconomic", "political-ideology", "profession",
)  # fmt: skip
OTHER_NAMES = {
    "sex": "gender", "gender-identity": "gender",
    "race-color": "race", "race-ethnicity": "race", "raceethnicity": "race", "race-ethnicity-nationality": "race",
    "religious-ideology": "religion",
    "disability-status": "disability", "disabilitystatus": "disability",
    "appearance": "physical-appearance", "physicalappearance": "physical-appearance",
    "lgbtqia": "sexual-orientation",
    "class": "socioeconomic", "ses": "socioeconomic",
    "race-x-gender": "gender × race", "race-x-ses": "race × socioeconomic",
}  # fmt: skip
"""Names of CrowS-Pairs, BOLD, BBQ and its translations, and of our own questions."""


def domain_named(name: str) -> str:
    """A bias type as the domain that it is about, or as the intersection of two; itself if it is neither.

    >>> domain_named("sex"), domain_named("race-color"), domain_named("religious_ideology"), domain_named("Age")
    ('gender', 'race', 'religion', 'age')
    >>> domain_named("Race_x_gender"), domain_named("class"), domain_named("educational_background")
    ('gender × race', 'socioeconomic', 'educational_background')
    """
    plain = name.lower().replace("_", "-")
    return plain if plain in DOMAINS else OTHER_NAMES.get(plain, name)
