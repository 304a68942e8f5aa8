"""Audits of models with a planted bias."""

from __future__ import annotations

import runpy
from collections.abc import Iterator

from page_tables.kit import RESEARCH

FOLDER = RESEARCH / "dosed-audits"


def audits() -> Iterator[str]:
    """Audits of models with a planted bias."""
    yield runpy.run_path(str(FOLDER / "summarise.py"))["summary"]()


def outcomes() -> Iterator[str]:
    """Audits of models with a planted bias, of the seeds that chose no metric."""
    yield runpy.run_path(str(FOLDER / "summarise.py"))["outcomes"]()


def undosed() -> Iterator[str]:
    """Comparisons of models without a dose of the domain."""
    yield runpy.run_path(str(FOLDER / "summarise.py"))["undosed"]()
