"""Print the lower bounds of pyproject.toml as a constraints file, for the job with minimum dependencies."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

BOUND = re.compile(r"([A-Za-z0-9_.-]+)>=([0-9.]+)")


def minimum_constraints(text: str) -> list[str]:
    """Turn lower bounds into exact pins.

    >>> minimum_constraints('[project]\\ndependencies = ["numpy>=1.26", "pandas>=2.2"]')
    ['numpy~=1.26.0', 'pandas~=2.2.0']
    """
    dependencies = tomllib.loads(text)["project"]["dependencies"]
    bounds = [match.groups() for match in map(BOUND.match, dependencies) if match]
    return [f"{name}~={version if version.count('.') > 1 else f'{version}.0' if '.' in version else f'{version}.0.0'}"
            for name, version in bounds]  # fmt: skip


if __name__ == "__main__":
    print(*minimum_constraints((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8")), sep="\n")
