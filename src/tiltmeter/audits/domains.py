"""The domain that an estimate is about, by the names that benchmarks give to bias types, tests and groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiltmeter.benchmarks.kit.domain_names import domain_named
from tiltmeter.studies.kit.domains import WHOLE, domain_of

NO_DOMAIN = ("no group", "several", "other")
"""Bias types of labelled texts that are about no domain, or about several."""


def domain_of_row(row: Mapping[str, Any]) -> str:
    """Return the domain; empty for a number about none, or about several.

    >>> domain_of_row({"scorer": "pll", "by": "bias_type", "group": "race-color"})
    'race'
    >>> domain_of_row({"scorer": "pll", "by": "bias_type", "group": "age"})
    'age'
    >>> domain_of_row({"scorer": "s", "by": "bias_type", "group": "Race_x_gender"})
    'gender × race'
    >>> domain_of_row({"scorer": "pll", "by": "direction", "group": "advantaged"})
    ''
    """
    by, group = str(row["by"]), str(row["group"])
    if by in WHOLE:
        return "" if group in NO_DOMAIN else domain_named(group)
    return domain_of(str(row["scorer"]), by, group)
