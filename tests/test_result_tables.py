"""Research reports: tables come from stored results, or the page says that their runs are not stored."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GENERATED = {"gest", "honesty"}
"""Pages that a script writes as a whole."""
REPORTS = [
    path
    for path in sorted((ROOT / "docs").glob("*.md"))
    if "\n*Research report" in path.read_text("utf-8")[:400] and path.stem not in GENERATED
]


@pytest.mark.parametrize("page", REPORTS, ids=lambda page: page.stem)
def test_a_report_names_its_data(page: Path) -> None:
    (data,) = re.findall(r"<!-- data: (.+) -->", page.read_text("utf-8"))
    if data == "not stored":
        assert "not stored" in page.read_text("utf-8").replace("<!-- data: not stored -->", "")
    else:
        assert all((ROOT / name).is_file() for name in data.split())
